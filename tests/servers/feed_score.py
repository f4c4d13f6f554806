"""Judges a feed reader by the requests it made, as a strict site owner does who looks at the log."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from tests.servers.faults import Json

SLACK = 1.0  # seconds; a request so little early is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One answered request: what the reader sent, and what it was told."""

    at: float
    path: str
    status: int
    if_none_match: str | None
    if_modified_since: str | None
    agent: str | None
    etag: str | None
    last_modified: str | None
    max_age: int | None = None
    retry_after: str | None = None

    def to_json(self) -> Json:
        return {name: getattr(self, name) for name in self.__slots__}


def reader_complaints(rows: list[Served], *, floor: float = 0.0) -> list[str]:
    """Return what a site owner would hold against the reader of one address, in order.

    Invented validators, validators older than the last answer's, one of two left out, requests without any after some
    were given, and requests before `max-age`, Retry-After or `floor` seconds were over.
    """
    complaints = []
    last: Served | None = None  # the last answer that gave validators
    before: Served | None = None
    given_etags = {row.etag for row in rows if row.etag}
    given_dates = {row.last_modified for row in rows if row.last_modified}
    for number, row in enumerate(rows, 1):
        found = _agent(row) + _invented(row, given_etags, given_dates)
        found += [] if found else _stale(row, last)
        found += _early(row, before, floor)
        complaints += [f"request {number}: {text}" for text in found]
        before = row
        if row.status == 200:
            last = row
    return complaints


def _agent(row: Served) -> list[str]:
    return [] if row.agent and "+http" in row.agent else ["its user agent names no contact"]


def _invented(row: Served, etags: set[str], dates: set[str]) -> list[str]:
    found = []
    if row.if_none_match is not None and row.if_none_match not in etags:
        found.append(f"If-None-Match {row.if_none_match!r} was never given")
    if row.if_modified_since is not None and row.if_modified_since not in dates:
        found.append(f"If-Modified-Since {row.if_modified_since!r} was never given")
    return found


def _stale(row: Served, last: Served | None) -> list[str]:
    if last is None:
        return ["a validator before the first answer"] if row.if_none_match or row.if_modified_since else []
    if last.etag is None and last.last_modified is None:
        return []
    if row.if_none_match is None and row.if_modified_since is None:
        return ["unconditional, though validators were given"]
    found = []
    for name, sent, given in (
        ("ETag", row.if_none_match, last.etag),
        ("Last-Modified", row.if_modified_since, last.last_modified),
    ):
        if sent != given:
            found.append(f"{name} {sent!r} is not the last one given, {given!r}")
    return found


def _early(row: Served, before: Served | None, floor: float) -> list[str]:
    if before is None:
        return []
    waits = [("the floor", floor), ("max-age", float(before.max_age or 0)), ("Retry-After", _asked(before))]
    gap = row.at - before.at
    return [f"{name} asked for {wait:.0f} s, it came after {gap:.1f}" for name, wait in waits if gap < wait - SLACK]


def _asked(row: Served) -> float:
    """Return the seconds that a Retry-After of this answer asked for."""
    text = row.retry_after or ""
    if text.replace(".", "", 1).isdigit():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - row.at)
    except (ValueError, TypeError):
        return 0.0
