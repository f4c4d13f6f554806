"""What a right configuration means: defaults, values, and the nouns made of them."""

from datetime import time, timedelta
from email.utils import parseaddr
from pathlib import Path

import pytest

from bot.config.load import load, missing_secrets
from bot.config.values import parse_digest, parse_duration, parse_quiet, show_duration
from bot.core.model.feed import FeedAuth
from bot.core.model.route import DigestRule, OnEdit, QuietHours
from tests.config.reading import read

WEEK = frozenset(range(7))


def test_an_empty_file_is_a_configuration() -> None:
    settings = read("")
    assert settings.sqlite_path == Path("/srv/bell/data/feedbell.db")
    assert settings.http.address == ("127.0.0.1", 8080)
    assert settings.timezone.key == "UTC"
    assert (settings.to_feeds(), settings.to_routes(), settings.admins, settings.ops) == ((), (), (), None)
    assert settings.delivery.grace == timedelta(seconds=30)
    assert settings.delivery.park_keep == timedelta(days=7)


def test_a_file_is_read_also_where_the_folder_we_were_started_in_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert read("").folder == Path("/srv/bell")


@pytest.mark.parametrize(
    ("state", "path"),
    [
        ("sqlite:///bell.db", Path("/srv/bell/bell.db")),
        ("sqlite:///../x/bell.db", Path("/srv/bell/../x/bell.db")),
        ("sqlite:////var/lib/bell.db", Path("/var/lib/bell.db")),
        ("postgresql://u@h/d", None),
    ],
)
def test_a_relative_state_lies_beside_the_configuration(state: str, path: Path | None) -> None:
    assert read(f'state = "{state}"').sqlite_path == path


@pytest.mark.parametrize(("security", "port"), [("starttls", 587), ("tls", 465), ("none", 25)])
def test_the_mail_port_follows_the_security(security: str, port: int) -> None:
    assert read(f'[email]\nsecurity = "{security}"').email.port == port
    assert read(f'[email]\nsecurity = "{security}"\nport = 26').email.port == 26


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("news@example.org", ""),
        ("<news@example.org>", ""),
        ("News <news@example.org>", "News"),
        ("Example, Inc. <news@example.org>", "Example, Inc."),
        ('"Example, Inc." <news@example.org>', "Example, Inc."),
        ('The "News" (daily): <news@example.org>', 'The "News" (daily):'),
        ("a@b.example <news@example.org>", "a@b.example"),
    ],
)
def test_a_senders_name_may_hold_what_mail_has_a_meaning_for(written: str, name: str) -> None:
    sender = read(f"[email]\nfrom = '{written}'").email.sender
    assert parseaddr(sender or "") == (name, "news@example.org")


def test_a_feed_becomes_the_noun_with_its_secrets() -> None:
    settings = read(
        """
        [[feeds]]
        id = "a"
        url = "https://example.org/a.xml"
        initial = "latest:3"
        tags = ["x"]
        allow_private = ["10.0.0.0/8", "192.168.1.7"]
        headers = { "X-A" = "b" }
        auth = { username = "u", password = "wiki" }
        """,
        {"FEEDBELL_SECRETS__WIKI": "canary"},
    )
    (feed,) = settings.to_feeds()
    assert (feed.id, feed.initial, feed.tags, feed.headers) == ("a", 3, ("x",), (("X-A", "b"),))
    assert feed.allow_private == ("10.0.0.0/8", "192.168.1.7/32")
    assert feed.auth == FeedAuth(username="u", password="canary")
    assert "canary" not in repr(feed)


def test_a_short_interval_is_raised_with_a_warning_unless_the_server_is_ones_own() -> None:
    feed = '[[feeds]]\nid = "{0}"\nurl = "https://example.org/{0}"\ninterval = "1m"\nown = {1}\n'
    settings = read(feed.format("a", "false") + feed.format("b", "true"))
    assert [f.interval for f in settings.to_feeds()] == [timedelta(minutes=5), timedelta(minutes=1)]
    (warning,) = settings.warnings
    assert warning.headline == (
        "/srv/bell/config.toml:4:12: warning: feeds[0].interval: 1m is below the floor and is raised to 5m; "
        "own = true, for a server of your own, has no floor"
    )
    lifted = read('[polling]\nfloor = "10s"\n' + feed.format("a", "false"))
    assert (lifted.warnings, lifted.to_feeds()[0].interval) == ((), timedelta(minutes=1))


def test_a_route_becomes_the_noun() -> None:
    settings = read(
        """
        timezone = "Europe/Berlin"
        [[routes]]
        to = "console"
        [[routes]]
        to = ["slack:#a", "discord:1", "slack:#a"]
        tags = ["BGP", "#evpn"]
        not_tags = ["RoCE"]
        match = 'rdma or "lossless ethernet"'
        mention = { BGP = "<!here>", "*" = ["<@&1>", "<@U1>"] }
        digest = "weekdays 09:00"
        quiet = "22:00-07:00"
        urgent = ["Outage"]
        timezone = "America/New_York"
        max_age = "30d"
        on_edit = "thread"
        template = "compact"
        image = true
        """
    )
    plain, full = settings.to_routes()
    assert (plain.name, plain.to, plain.feeds, plain.timezone.key) == ("routes[0]", ("console",), None, "Europe/Berlin")
    assert (plain.on_edit, plain.template, plain.digest, plain.quiet) == (None, None, (), None)
    assert full.to == ("slack:#a", "discord:1")
    assert full.tags == {"bgp", "evpn"}
    assert full.not_tags == {"roce"}
    assert full.mention == (("bgp", ("<!here>",)), ("*", ("<@&1>", "<@U1>")))
    assert full.digest == (DigestRule(at=time(9), weekdays=frozenset(range(5))),)
    assert full.quiet == QuietHours(start=time(22), end=time(7))
    assert full.urgent == {"outage"}
    assert (full.timezone.key, full.max_age) == ("America/New_York", timedelta(days=30))
    assert (full.on_edit, full.template, full.image) == (OnEdit.THREAD, "compact", True)


def test_a_template_is_found_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "short.j2").write_text("{{ title }}")
    path = tmp_path / "config.toml"
    path.write_text('[[routes]]\nto = "console"\ntemplate = "short.j2"\n')
    assert load(path, {}).to_routes()[0].template == str(tmp_path / "short.j2")


@pytest.mark.parametrize(
    "destination",
    ["console", "slack:#ai-networking", "slack:#продажи", "slack:C0123", "slack:U0123ABCD", "slack-webhook:team_1",
     "discord:123456789012345678", "discord-user:1", "discord-webhook:x", "email:team+a@example.org", "webhook:x"],
)  # fmt: skip
def test_every_kind_of_destination_is_taken_as_written(destination: str) -> None:
    text = f'[email]\nhost = "h"\nfrom = "a@example.org"\n[[routes]]\nto = "{destination}"'
    assert read(text).to_routes()[0].to == (destination,)


def test_an_installed_notifier_of_somebody_else_adds_its_scheme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "ntfy-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: ntfy\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[feedbell.notifiers]\nntfy = never.imported:Notifier\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert read('[[routes]]\nto = "ntfy:alerts"').to_routes()[0].to == ("ntfy:alerts",)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("hourly", [DigestRule(at=None)]),
        ("daily 09:00", [DigestRule(at=time(9))]),
        ("daily 9:05,17:30", [DigestRule(at=time(9, 5)), DigestRule(at=time(17, 30))]),
        ("mon,thu 08:00", [DigestRule(at=time(8), weekdays=frozenset({0, 3}))]),
        (
            "Mon, Thu 08:00, 18:00, weekdays 12:00",
            [
                DigestRule(at=time(8), weekdays=frozenset({0, 3})),
                DigestRule(at=time(18), weekdays=frozenset({0, 3})),
                DigestRule(at=time(12), weekdays=frozenset(range(5))),
            ],
        ),
    ],
)
def test_digest_times_are_read(text: str, rules: list[DigestRule]) -> None:
    assert parse_digest(text) == tuple(rules)


@pytest.mark.parametrize(
    "text",
    ["", ",", "09:00", "daily", "mon", "mon,thu", "mon 25:00", "monday 09:00", "daily 09:00,mon", "mon,daily 09:00",
     "mon,hourly", "mon,09:00", "daily 24:00", "daily at 09:00", "hourly 09:00", "hourly,09:00"],
)  # fmt: skip
def test_other_digest_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no digest time"):
        parse_digest(text)


def test_quiet_hours_may_span_midnight() -> None:
    assert parse_quiet("22:00 - 7:00") == QuietHours(start=time(22), end=time(7))


@pytest.mark.parametrize("text", ["90s", "15m", "2h", "7d", "250ms", "0s", "25h", "24h", "1d"])
def test_durations_are_read_and_written(text: str) -> None:
    shown = show_duration(parse_duration(text))
    assert shown == ("24h" if text == "1d" else text)


@pytest.mark.parametrize("text", ["", "15", "m", "-1s", "1.5h", "1h30m", "15 m", "15M", "１５m", "99999999999s"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration(text)


def test_the_example_is_a_right_configuration_with_made_up_secrets() -> None:
    example = Path(__file__).parents[2] / "config.example.toml"
    names = ("SLACK__BOT_TOKEN", "DISCORD__BOT_TOKEN", "EMAIL__PASSWORD", "SECRETS__WIKI")
    settings = load(example, {f"FEEDBELL_{name}": "made-up" for name in names})
    assert settings.warnings == ()
    assert missing_secrets(settings) == ()


def test_the_example_shows_the_defaults_of_every_timing() -> None:
    settings, defaults = load(Path(__file__).parents[2] / "config.example.toml", {}), read("")
    for section in ("delivery", "polling", "log", "slack"):
        assert getattr(settings, section) == getattr(defaults, section)
