"""The forms of single values: each function returns the value or raises ValueError with what is allowed."""

import re
from datetime import time, timedelta
from difflib import get_close_matches
from email.utils import quote, unquote
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo, available_timezones

from bot.config.errors import mask, quoted
from bot.config.hints import meant_url
from bot.core.model.route import DigestRule, QuietHours

MAX_DURATION = timedelta(days=3650)  # longer ones overflow dates; ten years is "never"
MAX_INITIAL = 5  # entries that a first poll may announce (N16)
MAX_ID = 64  # characters of a feed's id: it is part of addresses and of log lines

_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(r"([0-9]{1,9})(ms|s|m|h|d)")
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAMED_DAYS = {"daily": frozenset(range(7)), "weekdays": frozenset(range(5))}
_ADDRESS = re.compile(r"[^\s@<>()\[\],;:\\\"]+@[^\s@<>()\[\],;:\\\"]+")
_FROM = re.compile(r"(?:(?P<name>[^<>]*)<(?P<address>[^<>]+)>|(?P<bare>[^<>\s]+))")
_NAME = re.compile(r"[a-z0-9_]+")
_FEED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HEADER = re.compile(r"[A-Za-z0-9_-]+")
# The bot sets these itself, or they carry credentials, which belong in [feeds.auth].
_OWN_HEADERS = frozenset(
    "host connection content-length transfer-encoding accept-encoding if-none-match if-modified-since range".split()
)
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
_INITIAL = re.compile(r"latest:([0-9]{1,2})")


def did_you_mean(word: str, known: list[str], *, prefix: str = "") -> str:
    """Return `; did you mean "x"?` for the nearest of the known words, or nothing; `prefix` goes before x."""
    near = get_close_matches(word, known, n=1, cutoff=0.6) or get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    return f'; did you mean "{prefix}{mask(near[0])}"?' if near else ""


def parse_duration(text: str) -> timedelta:
    """Read `90s`, `15m`, `2h`, `7d` (and `250ms`)."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f'{quoted(text)} is no duration; allowed: a whole number and a unit, "90s", "15m", "2h", "7d"')
    length = timedelta(**{_UNITS[match[2]]: int(match[1])})
    if length > MAX_DURATION:
        raise ValueError(f"{quoted(text)} is too long; at most {MAX_DURATION.days}d")
    return length


def show_duration(length: timedelta) -> str:
    """Write a duration in the largest unit that divides it."""
    ms = length // timedelta(milliseconds=1)
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)):
        if ms and ms % size == 0 and not (unit == "d" and ms == size):
            return f"{ms // size}{unit}"
    return f"{ms}ms" if ms else "0s"


def parse_zone(text: str) -> ZoneInfo:
    """Read a name of the IANA time zone database."""
    try:
        return ZoneInfo(text)
    except (ValueError, OSError, LookupError):  # a path, a directory of the database, an unknown name
        hint = did_you_mean(text, sorted(available_timezones()))
        raise ValueError(
            f'{quoted(text)} is no time zone; allowed: a name such as "Europe/Berlin" or "UTC"{hint}'
        ) from None


def parse_clock(text: str) -> time | None:
    """Read HH:MM, or return None."""
    match = _CLOCK.fullmatch(text)
    return time(int(match[1]), int(match[2])) if match else None


def parse_digest(text: str) -> tuple[DigestRule, ...]:
    """Read `hourly`, `daily HH:MM`, `weekdays HH:MM`, `mon,thu HH:MM`, several times by comma (small print 20)."""
    rules: list[DigestRule] = []
    waiting: set[int] = set()  # weekdays that still want their time
    days: frozenset[int] | None = None  # of the last rule; further times are for the same days
    for piece in text.lower().split(","):
        words = piece.split()
        at = parse_clock(words[-1]) if words else None
        names = words if at is None else words[:-1]
        if len(names) > 1 or not words:
            raise _no_digest(text)
        if at is None:
            if names == ["hourly"] and not waiting:
                rules.append(DigestRule(at=None))
            elif names[0] in _DAYS:
                waiting.add(_DAYS.index(names[0]))
            else:
                raise _no_digest(text)
            continue
        days = _days_of(names, waiting, days)
        if days is None:
            raise _no_digest(text)
        waiting = set()
        rules.append(DigestRule(at=at, weekdays=days))
    if waiting:
        raise _no_digest(text)
    return tuple(rules)


def _days_of(names: list[str], waiting: set[int], before: frozenset[int] | None) -> frozenset[int] | None:
    if not names:
        return None if waiting else before
    if names[0] in _DAYS:
        return frozenset({*waiting, _DAYS.index(names[0])})
    return None if waiting else _NAMED_DAYS.get(names[0])


def _no_digest(text: str) -> ValueError:
    return ValueError(
        f'{quoted(text)} is no digest time; allowed: "hourly", "daily HH:MM", "weekdays HH:MM", "mon,thu HH:MM", '
        "several times by comma"
    )


def parse_quiet(text: str) -> QuietHours:
    """Read HH:MM-HH:MM; an end before the start is on the next day."""
    start, _, end = (part.strip() for part in text.partition("-"))
    first, last = parse_clock(start), parse_clock(end)
    if first is None or last is None:
        raise ValueError(f'{quoted(text)} are no quiet hours; allowed: "HH:MM-HH:MM", such as "22:00-07:00"')
    if first == last:
        raise ValueError(f"{quoted(text)} begins and ends at the same time; leave the key out for no quiet hours")
    return QuietHours(start=first, end=last)


def parse_initial(text: str) -> int:
    """Read `none` or `latest:N`; return how many entries the first poll announces."""
    match = _INITIAL.fullmatch(text)
    if text != "none" and (match is None or not 1 <= int(match[1]) <= MAX_INITIAL):
        raise ValueError(
            f'{quoted(text)} is not allowed; allowed: "none", or "latest:N" with N from 1 to {MAX_INITIAL}'
        )
    return int(match[1]) if match else 0


def parse_feed_id(text: str) -> str:
    """Read a feed's stable name, which is part of addresses (`/hooks/poke/FEED`) and commands."""
    if not _FEED_ID.fullmatch(text) or len(text) > MAX_ID:
        raise ValueError(
            f'{quoted(text)} is no id; allowed: letters, digits, ".", "_" and "-", at most {MAX_ID} of them, '
            "the first a letter or a digit"
        )
    return text


def parse_header_name(text: str) -> str:
    """Read the name of a request header that a feed may set."""
    if text.lower() in _SECRET_HEADERS:
        raise ValueError("carries a secret; use [feeds.auth] instead")
    if text.lower() in _OWN_HEADERS:
        raise ValueError("is set by feedbell itself")
    if not _HEADER.fullmatch(text):
        raise ValueError('is no name of a header; allowed: letters, digits, "-" and "_"')
    return text


def parse_header_value(text: str) -> str:
    """Read what a request header says."""
    if not text.isprintable() or not text.isascii():
        raise ValueError("must be printable ASCII")
    return text


def parse_secret_name(text: str) -> str:
    """Read a NAME that stands for a secret of the environment."""
    if not _NAME.fullmatch(text) or text.endswith("_file"):
        raise ValueError(
            "the NAME of a secret is wanted here, never the secret; "
            'allowed: a-z, 0-9 and "_", not ending in "_file"; its value goes into FEEDBELL_SECRETS__NAME'
        )
    return text


def parse_url(text: str, *, what: str = "address") -> str:
    """Read an absolute http or https address without credentials."""
    parts = split_url(text)
    if parts is None or parts.scheme not in ("http", "https"):
        meant = meant_url(text)
        hint = f'; did you mean "{meant}"?' if meant and split_url(meant) else ""
        raise ValueError(f'{quoted(text)} is no {what}; allowed: "https://…" or "http://…"{hint}')
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"a user name or password must not be part of this {what}")
    return text


def parse_base_url(text: str) -> str:
    """Read an address that paths are added to."""
    if "?" in text or "#" in text:
        raise ValueError(f'{quoted(text)} has paths added to it; leave out what begins with "?" or "#"')
    return parse_url(text)


def parse_feed_url(text: str) -> str:
    """Read a feed's address; credentials in it are refused with the way to give them (small print 11)."""
    parts = split_url(text)
    if parts is not None and (parts.username is not None or parts.password is not None):
        raise ValueError(
            "a user name or password must not be part of the address; "
            'write [feeds.auth] with username = "…" and password = "NAME", and set FEEDBELL_SECRETS__NAME'
        )
    return parse_url(text, what="feed address")


def split_url(text: str) -> SplitResult | None:
    """Return the parts of an address that has a host, or None; urlsplit alone lets nearly everything pass."""
    if not text.isprintable() or " " in text:
        return None
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.hostname else None


def parse_listen(text: str) -> str:
    """Read HOST:PORT; port 0 takes a free one."""
    host, _, port = text.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if not host or not text.isprintable() or " " in text or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        raise ValueError(f'{quoted(text)} is no listening address; allowed: "HOST:PORT", such as "127.0.0.1:8080"')
    if (":" in host) != is_bracketed or "/" in host:
        raise ValueError(f'{quoted(text)} is no listening address; an IPv6 host stands in brackets: "[::1]:8080"')
    return text


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address, which stands in no brackets, is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def parse_network(text: str) -> str:
    """Read a network in CIDR form, or one address."""
    try:
        return str(ip_network(text))
    except ValueError:
        pass
    try:
        hint = f'; did you mean "{ip_network(text, strict=False)}"?'
    except ValueError:
        hint = ""
    raise ValueError(f'{quoted(text)} is no network; allowed: CIDR form, such as "10.0.0.0/8"{hint}')


def parse_host(text: str) -> str:
    """Read a server's name or IP address, alone."""
    try:
        return str(ip_address(text.strip("[]")))
    except ValueError:
        pass
    if not text.isprintable() or re.search(r"[\s/:@\[\]]", text) or not text:
        raise ValueError(
            f'{quoted(text)} is no host; allowed: a name such as "smtp.example.org"; its port has its own key'
        )
    return text


def parse_mail_address(text: str) -> str:
    """Read a bare address."""
    if not _ADDRESS.fullmatch(text) or not text.isprintable():
        raise ValueError(f'{quoted(text)} is no mail address; allowed: "name@example.org"')
    local, _, domain = text.rpartition("@")
    if not local.isascii():
        raise ValueError(f"{quoted(text)}: many mail servers refuse such a mailbox; before the @ only ASCII is allowed")
    try:
        domain.encode("idna")
    except UnicodeError:
        raise ValueError(f"{quoted(text)} is no mail address; {quoted(domain)} is no domain") from None
    return text


def parse_mail_from(text: str) -> str:
    """Read `name@example.org` or `Display Name <name@example.org>`; return it so that every reader of mail agrees.

    People write names without the quotes that a comma or a dot in them needs.
    """
    match = _FROM.fullmatch(text.strip())
    if match is None or not text.isprintable():
        raise ValueError(f'{quoted(text)} is no sender; allowed: "name@example.org" or "Name <name@example.org>"')
    address = parse_mail_address((match["address"] or match["bare"]).strip())
    name = unquote((match["name"] or "").strip()).strip()
    return f'"{quote(name)}" <{address}>' if name else address


def parse_contact(text: str) -> str:
    """Read what goes into the User-Agent: it must survive inside a header's comment."""
    if not text.isascii() or not text.isprintable() or any(char in '()<>\\"' for char in text):
        raise ValueError(f"{quoted(text)} can't go into the User-Agent; allowed: an address of a page or a mailbox")
    return text
