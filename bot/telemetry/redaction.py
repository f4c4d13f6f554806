"""Secrets are taken out of whatever is shown: by their known shapes, and by their very values (T16)."""

import base64
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

HIDDEN = "[redacted]"
SHORTEST = 6  # characters; a shorter value would tear holes into ordinary words

# The parts in front of `\K`-like group "keep" say what kind of secret it was; they stay.
_SHAPES = (
    # Slack: bot, user, app-level, refresh and legacy tokens.
    re.compile(r"(?P<keep>\b(?:xox[a-z]|xapp|xoxe\.xox[a-z])-)[\w.\-]{4,}"),
    # Slack's webhooks and response URLs.
    re.compile(
        r"(?P<keep>hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers|commands|actions|app)/)[^\s\"'<>)\]}]+"
    ),
    # Discord's and lookalike webhooks, and interaction callbacks.
    re.compile(r"(?P<keep>/api(?:/v\d+)?/webhooks/\d*/?)[^\s\"'<>)\]}?/]+"),
    re.compile(r"(?P<keep>/interactions/\d+/)[^\s\"'<>)\]}?/]+"),
    # Discord bot tokens: three base64url parts, the first of which is an id.
    re.compile(r"(?P<keep>)\b[MNO][\w\-]{22,30}\.[\w\-]{5,8}\.[\w\-]{25,110}"),
    # Any URL's user and password.
    re.compile(r"(?P<keep>\b[a-z][a-z0-9+.\-]{1,30}://)[^\s/@:\"'<>]*:[^\s/@\"'<>]*(?=@)", re.IGNORECASE),
    # Headers, also in the repr of a dict.
    re.compile(
        r"(?P<keep>\b(?:proxy-)?authorization\b['\"]?\s*[:=,]\s*['\"]?)"
        r"(?:(?:bearer|basic|bot|digest|negotiate)\s+)?[^\s'\",;]+",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<keep>\b(?:Bearer|Bot(?=\s+[\w\-]+\.)|Basic(?=\s+\S*[A-Z0-9=]))\s+)[\w\-.~+/=]{8,}"),
    # SMTP: AUTH LOGIN and PLAIN carry the password in base64.
    re.compile(r"(?P<keep>\bAUTH\s+(?:PLAIN|LOGIN|CRAM-MD5|XOAUTH2)\s+)[\w+/=]+", re.IGNORECASE),
    # Name and value, as in query strings, environment, DSNs and the repr of a dict. After ": " a password is one too,
    # but "token: revoked" is a reason that people need.
    re.compile(
        r"(?P<keep>(?:(?:passwor[dt]|passwd|secret|[a-z]_?key)['\"]?\s*[=:]|(?:token|signature)(?:=|['\"]\s*:|:(?=\S)))"
        r"\s*['\"]?)(?!None\b|null\b|true\b|false\b)[^\s&'\",;<>)\]}]{3,}",
        re.IGNORECASE,
    ),
    # Unsubscribe links act without any other proof.
    re.compile(r"(?P<keep>/unsubscribe/)[^\s\"'<>)\]}?]+"),
)


_NAMES = re.compile(
    r"passwor[dt]|passwd|secret|token|signature|authorization|cookie|api_?key|private_?key", re.IGNORECASE
)


class Redactor:
    """Hides the given values, in the forms in which they travel, and everything that is shaped like a secret."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: re.Pattern[str] | None = None
        self.know(values)

    def know(self, values: Iterable[str]) -> None:
        """Take these for the secrets in force, instead of those given before."""
        forms = {form for value in values if len(value) >= SHORTEST for form in _forms(value)}
        # Longest first: one secret may begin with another.
        ordered = sorted(map(re.escape, forms), key=len, reverse=True)
        self._values = re.compile("|".join(ordered)) if ordered else None

    def __call__(self, text: str) -> str:
        if self._values is not None:
            text = self._values.sub(HIDDEN, text)
        for shape in _SHAPES:
            text = shape.sub(rf"\g<keep>{HIDDEN}", text)
        return text

    def fact(self, name: str, value: object) -> str:
        """Return a named value as text; the name may give away what the shape does not."""
        return HIDDEN if value and _NAMES.search(name) else self(str(value))


def _forms(value: str) -> Iterable[str]:
    """A secret as it is, in a URL, in a repr or JSON, and as the whole of a base64 text."""
    yield value
    yield quote(value, safe="")
    yield quote_plus(value)
    yield repr(value)[1:-1]
    yield value.replace("\\", "\\\\").replace('"', '\\"')
    yield base64.b64encode(value.encode()).decode().rstrip("=")
