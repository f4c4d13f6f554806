"""What beginners paste, copy and mistype is answered with what to write instead."""

import pytest

from bot.core.errors import ConfigError
from tests.config.reading import headlines, read

HOOK = 'a webhook\'s address is a secret: write "{}:NAME" here, and put the address into FEEDBELL_WEBHOOKS__NAME'
FEED = '[[feeds]]\nid = "a"\nurl = {}\n'


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("#news", "slack:#news"),
        ("<#C0123|news>", "slack:C0123"),
        ("Slack:#news", "slack:#news"),
        ("slack: #news", "slack:#news"),
        ("https://team.slack.com/archives/C0123ABC", "slack:C0123ABC"),
        ("https://app.slack.com/client/T0TEAM/C0123ABC/p1", "slack:C0123ABC"),
        ("https://discord.com/channels/100/123456789012345678", "discord:123456789012345678"),
        ("https://ptb.discord.com/channels/100/123456789012345678/5", "discord:123456789012345678"),
        ("team@example.org", "email:team@example.org"),
        ("mailto:team@example.org", "email:team@example.org"),
    ],
)
def test_what_stands_for_a_destination_elsewhere_is_answered_with_the_destination(pasted: str, meant: str) -> None:
    assert headlines(f'ops = "{pasted}"') == [
        f'config.toml:1:7: error: ops: "{pasted}" is no destination; did you mean "{meant}"?'
    ]


@pytest.mark.parametrize(
    ("address", "scheme"),
    [
        ("https://hooks.slack.com/services/T0/B0/canary", "slack-webhook"),
        ("https://discord.com/api/webhooks/123/canary", "discord-webhook"),
        ("https://discordapp.com/api/v10/webhooks/123/canary", "discord-webhook"),
    ],
)
def test_a_webhooks_address_alone_is_told_where_it_belongs_and_is_not_repeated(address: str, scheme: str) -> None:
    told = headlines(f'[[routes]]\nto = "{address}"')
    assert told[0].endswith(HOOK.format(scheme))
    assert "canary" not in "".join(told)


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("example.org/feed.xml", "https://example.org/feed.xml"),
        ("feed://example.org/feed.xml", "https://example.org/feed.xml"),
        ("feed:https://example.org/feed.xml", "https://example.org/feed.xml"),
        (" https://example.org/feed.xml", "https://example.org/feed.xml"),
        ("https://example.org/my feed.xml", "https://example.org/my%20feed.xml"),
    ],
)
def test_an_address_that_lacks_little_is_shown_whole(pasted: str, meant: str) -> None:
    assert headlines(FEED.format(f'"{pasted}"'))[0].endswith(f'; did you mean "{meant}"?')


@pytest.mark.parametrize(
    "typed", ["the feed", "https://the feed", "mailto:a@example.org", "feedbell", "ftp://example.org/a.xml"]
)
def test_where_nothing_can_be_guessed_nothing_is(typed: str) -> None:
    assert headlines(FEED.format(f'"{typed}"'))[0].endswith('allowed: "https://…" or "http://…"')


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ops = “console”", "Invalid value; curly quotes are none here: write straight ones"),
        ('ops = "console”\n', "Illegal character '\\n'; curly quotes are none here: write straight ones"),
        ('ops = "it’s\n', "Illegal character '\\n'; the closing quote is missing"),
        ("ops = console", 'Invalid value; text stands in quotes: "…"'),
        ("own = yes", "Invalid value; write true"),
        ("own = False # no", "Invalid value; write false"),
        ('ops = "console\n', "Illegal character '\\n'; the closing quote is missing"),
        ('ops = "console" // here', "Expected newline or end of document after a statement; a comment begins with #"),
    ],
)
def test_the_usual_slips_of_toml_are_told_in_words(line: str, told: str) -> None:
    assert headlines(line)[0].endswith(f"not valid TOML: {told}")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("SLACK__BOT_TOKEN", "xapp-1-canary", 'begins with "xapp-"; wanted is the Bot User OAuth Token, "xoxb-…"'),
        ("SLACK__APP_TOKEN", "xoxb-1-canary", 'begins with "xox"; wanted is an app-level token, "xapp-…"'),
        ("DISCORD__BOT_TOKEN", "Bot canary", 'begins with "Bot "; leave that word out'),
        ("SLACK__BOT_TOKEN", '"xoxb-canary"', "stands in quotes that belong to it; leave them out"),
        ("SLACK__BOT_TOKEN", "xoxb-…", "has a blank or a letter that no token has; copy it anew, whole"),
        ("DISCORD__BOT_TOKEN", "canary ", "has a blank or a letter that no token has; copy it anew, whole"),
    ],
)
def test_a_token_that_was_copied_wrong_is_told_before_a_service_refuses_it(name: str, value: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read("", {f"FEEDBELL_{name}": value})
    assert str(caught.value) == f"environment: FEEDBELL_{name}: error: {told}"


def test_a_secret_in_the_file_is_shown_there_though_the_environment_has_it_too() -> None:
    told = headlines('[slack]\nbot_token = "xoxb-canary"', {"FEEDBELL_SLACK__BOT_TOKEN": "xoxb-other"})
    assert [line.partition(": error: ")[0] for line in told] == ["config.toml:2:1"]


@pytest.mark.parametrize(
    ("lines", "warnings"),
    [
        ("port = 465", ['port 465 mostly wants security = "tls"']),
        ('port = 587\nsecurity = "tls"', ['port 587 mostly wants security = "starttls"']),
        ('port = 465\nsecurity = "tls"', []),
        ('security = "tls"', []),
        ("port = 2525", []),
    ],
)
def test_a_port_that_does_not_fit_its_security_is_warned_of(lines: str, warnings: list[str]) -> None:
    assert [warning.message for warning in read(f"[email]\n{lines}").warnings] == warnings
