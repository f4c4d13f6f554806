"""Destinations, admins and mentions as the configuration writes them."""

import re
from importlib.metadata import entry_points

from bot.config.errors import has_secret_shape, quoted
from bot.config.hints import meant_destination, webhook_scheme
from bot.config.values import did_you_mean, parse_mail_address
from bot.core.mentions import fits

_COPY_ID = "a number: in Discord's Developer Mode, right-click and copy the id"
# What stands after the colon, and how to say it.
_FORMS: dict[str, tuple[re.Pattern[str], str]] = {
    "slack": (re.compile(r"#[^\s#@<>&,:]{1,80}|[CGDUW][A-Z0-9]+"), '"slack:#name", "slack:C0123" or "slack:U0123"'),
    "slack-webhook": (re.compile(r"[a-z0-9_]+"), '"slack-webhook:NAME", NAME of a-z, 0-9 and "_"'),
    "discord": (re.compile(r"[0-9]{1,20}"), f'"discord:CHANNEL_ID", {_COPY_ID}'),
    "discord-user": (re.compile(r"[0-9]{1,20}"), f'"discord-user:USER_ID", {_COPY_ID}'),
    "discord-webhook": (re.compile(r"[a-z0-9_]+"), '"discord-webhook:NAME", NAME of a-z, 0-9 and "_"'),
    "webhook": (re.compile(r"[a-z0-9_]+"), '"webhook:NAME", NAME of a-z, 0-9 and "_"'),
}
_SCHEMES = ["console", "email", *_FORMS]
WEBHOOKS = ("slack-webhook", "discord-webhook", "webhook")
PLUGIN_GROUP = "feedbell.notifiers"

_ADMINS = {"slack": re.compile(r"[UW][A-Z0-9]+"), "discord": re.compile(r"[0-9]{1,20}")}


def split_destination(uid: str) -> tuple[str, str]:
    """Return the scheme and the address of a destination that was checked before."""
    scheme, _, address = uid.partition(":")
    return scheme, address


def parse_destination(text: str) -> str:
    """Check a destination's form; return it as written, for it is the destination's identity."""
    try:
        return _parse(text)
    except ValueError:
        meant = meant_destination(text)
        if meant == text or not text.isprintable() or not _is_destination(meant):
            raise
    raise ValueError(f"{quoted(text)} is no destination; did you mean {quoted(meant)}?")


def _is_destination(text: str) -> bool:
    try:
        return bool(_parse(text))
    except ValueError:
        return False


def _parse(text: str) -> str:
    scheme, colon, address = text.partition(":")
    if not text.isprintable():
        raise ValueError(f"{quoted(text)} is no destination; it holds what can't be shown")
    if text == "console":
        return text
    if scheme == "email" and colon:
        parse_mail_address(address)
        return text
    hook = webhook_scheme(text.strip()) or (scheme if "/" in address or has_secret_shape(text) else "")
    if hook in WEBHOOKS:
        raise ValueError(
            f'a webhook\'s address is a secret: write "{hook}:NAME" here, '
            "and put the address into FEEDBELL_WEBHOOKS__NAME"
        )
    if scheme in _FORMS:
        return _checked(text, scheme, address)
    if colon and address and scheme in _plugin_names():
        return text
    if scheme == "email":
        raise ValueError(f'{quoted(text)} is no destination; allowed: "email:name@example.org"')
    hint = did_you_mean(scheme, _SCHEMES) or did_you_mean(text, ["console"])
    raise ValueError(f"{quoted(text)} is no destination; it begins with one of: {', '.join(_SCHEMES)}{hint}")


def _checked(text: str, scheme: str, address: str) -> str:
    pattern, allowed = _FORMS[scheme]
    if pattern.fullmatch(address) and not (scheme in WEBHOOKS and address.endswith("_file")):
        return text
    hint = ""
    if scheme == "slack" and pattern.fullmatch(f"#{address}") and not has_secret_shape(address):
        hint = f'; did you mean "slack:#{address}"?'
    elif scheme in WEBHOOKS and pattern.fullmatch(address.lower().replace("-", "_")):
        hint = f'; did you mean "{scheme}:{address.lower().replace("-", "_")}"?'
    raise ValueError(f"{quoted(text)} is no destination; allowed: {allowed}{hint}")


def _plugin_names() -> set[str]:
    """Return the schemes that installed third parties add; asked for only where a scheme is not ours."""
    return {point.name for point in entry_points(group=PLUGIN_GROUP)}


def parse_admin(text: str) -> str:
    """Read `slack:U0123` or `discord:USER_ID`: ids, for names can be taken by others (T19)."""
    scheme, _, address = text.partition(":")
    if scheme not in _ADMINS or not _ADMINS[scheme].fullmatch(address):
        raise ValueError(f'{quoted(text)} is nobody; allowed: "slack:U0123ABCD" or "discord:USER_ID", never a name')
    return text


def mention_platform(literal: str) -> str | None:
    """Return "Slack" or "Discord" for a mention in the platform's own form, else None (small print 19)."""
    if fits(literal, "slack"):
        return "Slack"
    return "Discord" if fits(literal, "discord") else None


def parse_mention(text: str) -> str:
    """Check that a mention has the form of some platform."""
    if mention_platform(text) is None:
        raise ValueError(
            f'{quoted(text)} is no mention; allowed: Slack "<@U…>", "<!subteam^S…>", "<!here>", "<!channel>", '
            'Discord "<@ID>", "<@&ID>", "@here", "@everyone"'
        )
    return text
