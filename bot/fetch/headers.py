"""Reads what answers say in their headers: when to come again, and what to ask with then."""

import re
from datetime import datetime, timedelta
from typing import Final, Protocol

from bot.core.model.feed import Validators
from bot.core.retry_after import http_date, parse_retry_after

LONGEST_WAIT: Final = timedelta(days=31)  # P9
LONGEST_VALIDATOR: Final = 4096  # characters; above it a server plays games

_LINK: Final = re.compile(r"<([^<>]*)>([^<]*)")
_REL: Final = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)
_UNSENDABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_AGE: Final = re.compile(r"[0-9]{1,9}")
_MAX_AGE: Final = re.compile(r"\s*max-age\s*=\s*\"?([0-9]{1,10})\"?\s*", re.IGNORECASE)


class Headers(Protocol):
    """Of an answer: case-insensitive, several values to a name, as aiohttp gives them."""

    def get(self, key: str, default: str, /) -> str: ...

    def getall(self, key: str, default: list[str]) -> list[str]: ...


def retry_after(headers: Headers, *, now: datetime) -> timedelta | None:
    """Return how long the server asks to wait, at most 31 days; None: nothing that can be read, or no time at all.

    A date counts from the answer's own Date (RFC 9110, 10.2.3), so that a wrong clock on either side does no harm.
    """
    text = headers.get("Retry-After", "")
    if not text:
        return None
    wait = parse_retry_after(text, now=http_date(headers.get("Date", "")) or now)
    return min(wait, LONGEST_WAIT) if wait else None


def max_age(headers: Headers, *, now: datetime) -> timedelta | None:
    """Return how long the answer stays fresh (RFC 9111, 4.2), at most 31 days; None: it says nothing, or not at all."""
    values, expiry = headers.getall("Cache-Control", []), headers.get("Expires", "")
    if not values and not expiry:
        return None
    directives = [part for value in values for part in value.split(",")]
    names = {part.partition("=")[0].strip().lower() for part in directives}
    if names & {"no-cache", "no-store"}:
        return None
    ages = [match for match in map(_MAX_AGE.fullmatch, directives) if match]
    if ages:
        fresh = timedelta(seconds=int(ages[0][1])) - _age(headers)
    else:
        expires = http_date(expiry)
        if expires is None:
            return None
        fresh = expires - (http_date(headers.get("Date", "")) or now)
    return min(fresh, LONGEST_WAIT) if fresh > timedelta(0) else None


def _age(headers: Headers) -> timedelta:
    """A cache on the way may have held the answer for a while."""
    text = headers.get("Age", "").strip()
    return timedelta(seconds=int(text)) if _AGE.fullmatch(text) else timedelta(0)


def validators(headers: Headers, *, url: str, before: Validators | None = None) -> Validators:
    """Return what to ask with next time: as received, byte for byte, and nothing where there was nothing (P1, P2).

    `before`: what a 304 confirmed; it stays where the answer does not change it (P3).
    """
    etag, modified = _to_sendable(headers.get("ETag", "")), _to_sendable(headers.get("Last-Modified", ""))
    if before is not None:
        etag, modified = etag or before.etag, modified or before.last_modified
    return Validators(etag=etag, last_modified=modified, url=url)


def _to_sendable(value: str) -> str | None:
    """Drop what could not go back as it came: control characters, and bytes that are no UTF-8."""
    if not value or len(value) > LONGEST_VALIDATOR or _UNSENDABLE.search(value):
        return None
    return value


def links(headers: Headers) -> dict[str, str]:
    """Return the first target of each relation in the Link headers (RFC 8288), as written."""
    found: dict[str, str] = {}
    for value in headers.getall("Link", []):
        for target, rest in _LINK.findall(value):
            for quoted, token in _REL.findall(rest):
                for relation in (quoted or token).lower().split():
                    found.setdefault(relation, target.strip())
    return found
