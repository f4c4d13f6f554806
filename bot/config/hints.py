"""What was probably meant: beginners paste what they see, and are told what to write instead."""

import re

from bot.config.errors import has_secret_shape, mask

_WEBHOOKS = (
    ("slack-webhook", re.compile(r"https?://hooks\.slack(?:-gov)?\.com/.*")),
    ("discord-webhook", re.compile(r"https?://(?:[a-z]+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/.*")),
)
# A link that "Copy link" gives, a channel as people say it, a mailbox.
_DESTINATIONS = (
    (re.compile(r"https?://[\w.-]+\.slack\.com/archives/([CGD][A-Z0-9]+)(?:[/?].*)?"), "slack:"),
    (re.compile(r"https?://app\.slack\.com/client/[A-Z0-9]+/([CGD][A-Z0-9]+)(?:[/?].*)?"), "slack:"),
    (re.compile(r"https?://(?:[a-z]+\.)?discord(?:app)?\.com/channels/\d+/(\d{1,20})(?:[/?].*)?"), "discord:"),
    (re.compile(r"<#([CG][A-Z0-9]+)(?:\|[^>]*)?>"), "slack:"),
    (re.compile(r"(#[^\s#@<>&,:|]{1,80})"), "slack:"),
    (re.compile(r"(?:mail|mailto|e-mail)?:?([^\s@<>:/]+@[^\s@<>:/]+)"), "email:"),
)
_CURLY = re.compile("[\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb]")
_SWITCHES = frozenset("yes no on off True False TRUE FALSE".split())


def webhook_scheme(text: str) -> str | None:
    """Return the scheme of the destination that a pasted webhook's address is for."""
    return next((scheme for scheme, address in _WEBHOOKS if address.fullmatch(text)), None)


def meant_destination(text: str) -> str:
    """Return how something that is no destination would be written as one, as it is, or nothing."""
    for form, scheme in _DESTINATIONS:
        if (match := form.fullmatch(text.strip())) is not None:
            return f"{scheme}{match[1]}"
    scheme, _, address = text.partition(":")
    return f"{scheme.strip().lower()}:{address.strip()}"


def meant_url(text: str) -> str | None:
    """Return a pasted address as http knows it: with its scheme, without blanks; None where nothing is to be mended."""
    if has_secret_shape(text) or "@" in text:
        return None
    tidy = re.sub(r"\Afeed:(?://)?(?=https?://)", "", text.strip())
    tidy = re.sub(r"\Afeed://", "https://", tidy)
    if re.match(r"[\w-]+(\.[\w-]+)+(?:[:/?].*)?\Z", tidy):
        tidy = f"https://{tidy}"
    tidy = tidy.replace(" ", "%20")
    is_whole = re.match(r"https?://[^\s/?#%]+(?:[/?#].*)?\Z", tidy) is not None
    return mask(tidy) if is_whole and tidy != text else None


def toml_hint(message: str, line: str, column: int) -> str:
    """Return `; what to write` for the usual slips of whoever meets TOML for the first time."""
    rest = line[column - 1 :]
    if _CURLY.match(rest) or _CURLY.match(line.rstrip()[-1:]):
        return "; curly quotes are none here: write straight ones"
    if message == "Invalid value" and (word := rest.split("#")[0].strip()) in _SWITCHES:
        return f"; write {'true' if word.lower() in ('yes', 'on', 'true') else 'false'}"
    if message == "Invalid value" and re.match(r"[^\W\d]", rest):
        return '; text stands in quotes: "…"'
    if message.startswith("Illegal character '\\n'"):
        return "; the closing quote is missing"
    return "; a comment begins with #" if rest.startswith("//") else ""
