"""A changed configuration is told in words, and no secret with it."""

import pytest

from bot.config.reload import diff, needs_restart
from tests.config.reading import read

BEFORE = """\
timezone = "UTC"
[delivery]
grace = "30s"
[[feeds]]
id = "a"
url = "https://example.org/a?token=canary"
[[routes]]
to = "console"
[[routes]]
to = "slack:#x"
tags = ["bgp"]
"""


def test_nothing_changed_is_no_line() -> None:
    assert diff(read(BEFORE), read(BEFORE + "\n# only a comment")) == ()


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ('"UTC"', '"Europe/Berlin"', ["timezone: UTC -> Europe/Berlin"]),
        ('"30s"', '"2h"', ["delivery.grace: 30s -> 2h"]),
        ("a?token", "b?token", ["feed a: url changed"]),
        ('id = "a"', 'id = "b"', ["feed a: removed", "feed b: added"]),
        ('id = "a"', 'id = "a"\ninterval = "1h"\nown = true', ["feed a: interval 15m -> 1h, own false -> true"]),
        ('["bgp"]', '["bgp", "evpn"]', ["route to slack:#x: tags bgp -> bgp, evpn"]),
        ('["bgp"]', '["bgp"]\nquiet = "22:00-07:00"', ["route to slack:#x: quiet changed"]),
        ('"console"', '"slack:#y"', ["route to slack:#y: added", "route to console: removed"]),
        ('"UTC"', '"UTC"\nops = "console"', ["ops: unset -> console"]),
    ],
)
def test_each_change_is_a_line(old: str, new: str, lines: list[str]) -> None:
    assert list(diff(read(BEFORE), read(BEFORE.replace(old, new)))) == lines


def test_routes_in_another_order_are_no_change() -> None:
    first, second = '[[routes]]\nto = "console"\n', '[[routes]]\nto = "slack:#x"\n'
    assert diff(read(first + second), read(second + first)) == ()


def test_secrets_are_told_by_name_only() -> None:
    old = read("", {"FEEDBELL_SLACK__BOT_TOKEN": "canary1", "FEEDBELL_WEBHOOKS__A": "https://canary/1"})
    new = read(
        "",
        {
            "FEEDBELL_SLACK__BOT_TOKEN": "canary2",
            "FEEDBELL_EMAIL__PASSWORD": "canary3",
            "FEEDBELL_SECRETS__B": "canary4",
            "FEEDBELL_STATE": "postgresql://u:canary@h/d",
        },
    )
    assert diff(old, new) == (
        "state: changed",
        "slack.bot_token: changed",
        "email.password: set",
        "webhook a: removed",
        "secret b: set",
    )


def test_store_and_port_wait_for_a_restart() -> None:
    assert needs_restart(read(""), read('state = "sqlite:///y.db"\n[http]\nlisten = "127.0.0.1:1"')) == (
        "state",
        "http.listen",
    )
    assert needs_restart(read(""), read('timezone = "Europe/Berlin"')) == ()


def test_chat_connections_keep_their_tokens_until_a_restart() -> None:
    old = read("", {"FEEDBELL_SLACK__APP_TOKEN": "xapp-1", "FEEDBELL_DISCORD__BOT_TOKEN": "a.b.c"})
    new = read("", {"FEEDBELL_SLACK__APP_TOKEN": "xapp-2", "FEEDBELL_DISCORD__BOT_TOKEN": "a.b.d"})
    assert needs_restart(old, new) == ("slack.app_token", "discord.bot_token")
