"""The one door to feedparser: hand it well-formed items, take back what only it reads well.

It gets a document made of the items alone, inside the start tags that stood open around them:
no DOCTYPE (so no entity and no external one), no bare ampersand, UTF-8 that says so, and a mark
in each item, so that what comes back is matched by number and never by place.
"""

import html
import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import feedparser

from bot.core.parse.scan import MAX_DEPTH, Item, Scan

MAX_BODY = 100_000  # characters of one text that are kept
_MARK = "feedbellno"
_REFERENCE = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?:#([0-9]{1,7});|#[xX]([0-9a-fA-F]{1,6});|([A-Za-z][A-Za-z0-9]{1,31});)?", re.DOTALL
)
_XML_NAMES = frozenset(["amp", "lt", "gt", "quot", "apos"])
_SETTINGS = {"sanitize_html": False, "resolve_relative_uris": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What feedparser read of one item."""

    summary_html: str = ""
    content_html: str = ""
    author: str | None = None
    enclosure: str | None = None
    image: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bodies:
    """What feedparser read of all items asked for, by their place in the scan."""

    by_number: Mapping[int, Body]
    well_formed: bool


def read_bodies(scan: Scan, numbers: Iterable[int]) -> Bodies:
    """Return the bodies of the items of `scan` with these numbers."""
    wanted = [number for number in numbers if scan.items[number].depth <= MAX_DEPTH]
    document = _document(scan, wanted)
    parsed = _parse(document)
    if parsed is None:
        return Bodies(by_number={}, well_formed=False)
    return Bodies(by_number=_by_number(parsed.get("entries", []), set(wanted)), well_formed=not parsed.get("bozo"))


def _parse(document: str) -> Any | None:
    stream = io.BytesIO(document.encode("utf-8", "replace"))
    headers = {"content-type": "application/xml; charset=utf-8"}
    try:
        return feedparser.parse(stream, response_headers=headers, **_SETTINGS)
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError):
        # It is known to raise on what it reads loosely; the entries stay, with the words we read ourselves.
        return None


def _document(scan: Scan, numbers: list[int]) -> str:
    openings = [_repaired(tag) for tag in scan.openings]
    names = [re.split(r"[\s/>]", tag[1:], maxsplit=1)[0] for tag in scan.openings]
    items = [_marked(scan, scan.items[number], number) for number in numbers]
    closings = [f"</{name}>" for name in reversed(names)]
    return "".join(['<?xml version="1.0" encoding="utf-8"?>', *openings, *items, *closings])


def _marked(scan: Scan, item: Item, number: int) -> str:
    if item.inner >= item.end:
        return ""
    source = scan.text[item.inner : item.end]
    for start, end in reversed(item.nested):
        source = source[: start - item.inner] + source[end - item.inner :]
    return f"{_repaired(scan.text[item.start : item.inner])}<{_MARK}>{number}</{_MARK}>{_repaired(source)}"


def _repaired(source: str) -> str:
    """Return `source` with each reference that XML does not know as its character, and bare ampersands escaped."""
    return _REFERENCE.sub(_reference, source) if "&" in source else source


def _reference(match: re.Match[str]) -> str:
    whole = match.group()
    if whole.startswith("<"):
        return whole
    decimal, hexadecimal, name = match.groups()
    if name:
        if name in _XML_NAMES:
            return whole
        char = html.unescape(whole)
        # html.unescape falls back to prefixes: a name that it does not know whole is no reference.
        return "&amp;" + whole[1:] if ";" in char or "&" in char else char
    if decimal or hexadecimal:
        return whole if _is_text(int(decimal) if decimal else int(hexadecimal, 16)) else "\ufffd"
    return "&amp;"


def _is_text(point: int) -> bool:
    return point in (9, 10, 13) or 0x20 <= point < 0xD800 or 0xE000 <= point < 0xFFFE or 0x10000 <= point < 0x110000


def _by_number(entries: Iterable[Mapping[str, Any]], wanted: set[int]) -> dict[int, Body]:
    bodies: dict[int, Body] = {}
    for entry in entries:
        mark = entry.get(_MARK, "")
        if isinstance(mark, str) and mark.isdecimal() and int(mark) in wanted:
            bodies.setdefault(int(mark), _body(entry))
    return bodies


def _body(entry: Mapping[str, Any]) -> Body:
    contents = [part for part in entry.get("content", []) if part.get("value")]
    content = "\n".join(_as_html(part) for part in contents if _is_readable(part))
    detail = entry.get("summary_detail") or {}
    summary = entry.get("summary", "") or ""
    return Body(
        summary_html=_as_html({"type": detail.get("type", "text/html"), "value": summary})[:MAX_BODY],
        content_html=content[:MAX_BODY],
        author=_author(entry),
        enclosure=_first(entry.get("enclosures", []), "href", lambda _: True),
        image=_image(entry),
    )


def _is_readable(part: Mapping[str, Any]) -> bool:
    kind = part.get("type") or "text/html"
    return kind.startswith("text/") or kind.endswith(("xml", "html"))


def _as_html(part: Mapping[str, Any]) -> str:
    value = str(part.get("value") or "")
    return html.escape(value, quote=False) if part.get("type") == "text/plain" else value


def _author(entry: Mapping[str, Any]) -> str | None:
    detail = entry.get("author_detail") or {}
    return detail.get("name") or entry.get("author") or None


def _image(entry: Mapping[str, Any]) -> str | None:
    def pictures(media: Mapping[str, Any]) -> bool:
        return media.get("medium") == "image" or str(media.get("type", "")).startswith("image/")

    image = entry.get("image") or {}
    return (
        _first(entry.get("media_thumbnail", []), "url", lambda _: True)
        or _first(entry.get("media_content", []), "url", pictures)
        or _first(entry.get("enclosures", []), "href", pictures)
        or image.get("href")
    )


def _first(parts: Any, key: str, fits: Callable[[Mapping[str, Any]], bool]) -> str | None:
    return next((str(part[key]) for part in parts if part.get(key) and fits(part)), None)
