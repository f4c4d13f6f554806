"""The one door to feedparser: hand it well-formed items, take back what only it reads well.

It gets a document made of the items alone, inside the start tags that stood open around them:
no DOCTYPE (so no entity and no external one), no bare ampersand, UTF-8 that says so, and a mark
in each item, so that what comes back is matched by number and never by place.
"""

import html
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html.entities import html5
from typing import Any
from xml.parsers import expat

import feedparser

from bot.core.parse.fields import has_markup, inner, unwrapped
from bot.core.parse.scan import Item, Scan

MAX_BODY = 100_000  # characters of one text that are kept (T8)
MAX_LOOSE = 1_000_000  # characters that are read loosely, at about 500,000 a second
_MARK = "feedbellno"
_REFERENCE = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?:#([0-9]{1,7});|#[xX]([0-9a-fA-F]{1,6});|([A-Za-z][A-Za-z0-9]{1,31});)?", re.DOTALL
)
_OURS = frozenset("title link guid pubdate category dc:date dc:subject".split())
_WINDOWS = re.compile("[\x80-\x9f]")
_XML_NAMES = frozenset(["amp", "lt", "gt", "quot", "apos"])
_SETTINGS = {"sanitize_html": False, "resolve_relative_uris": False}


class _Text(str):
    """A text that feedparser is about to map from Windows-1252, character by character: a fifth of its time."""

    __slots__ = ()

    def translate(self, table: Any, /) -> str:
        return super().translate(table) if _WINDOWS.search(self) else str(self)


feedparser.api.PREFERRED_XML_PARSERS.clear()  # a driver of long ago, which each parse would look for on the disk
feedparser.api.StrictFeedParser.decode_entities = lambda _, element, data: _Text(data)  # called just before
# The words below a picture are no summary of the entry; feedparser lets the last one win over the author's own.
_CAPTION = "media_description"
feedparser.mixin._FeedParserMixin._start_media_description = lambda self, _: self.push(_CAPTION, True)
feedparser.mixin._FeedParserMixin._end_media_description = lambda self: self.pop(_CAPTION)


def _keep_first(self: Any, key: str = "author") -> None:
    """Of several authors the first one counts, and an empty element says nothing.

    In its stead feedparser looks for an address in the name, in time that grows with a word's length squared;
    `name_of` takes it out.
    """
    item = self._get_context()
    if item.get(key):
        item.setdefault(f"{key}_detail", {"name": item[key]})


feedparser.mixin._FeedParserMixin._sync_author_detail = _keep_first


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
    """Return the bodies of the items of `scan` with these numbers.

    Where the document is not well-formed the broken items are read loosely and apart, so that
    they spoil no other; loose reading is slow, so there is a limit to it.
    """
    items = {number: _marked(scan, number) for number in numbers if scan.items[number].is_readable}
    if not scan.is_readable:
        return Bodies(by_number={}, well_formed=False)
    if _is_well_formed(_document(scan, items.values())):
        return Bodies(by_number=_read(scan, items), well_formed=True)
    sound = {number: item for number, item in items.items() if _is_well_formed(_document(scan, [item]))}
    broken: dict[int, str] = {}
    room = MAX_LOOSE
    for number in sorted(items.keys() - sound.keys(), key=lambda number: len(items[number])):
        room -= len(items[number])
        if room >= 0:
            broken[number] = items[number]
    return Bodies(by_number=_read(scan, sound) | _read(scan, broken), well_formed=False)


def _read(scan: Scan, items: Mapping[int, str]) -> dict[int, Body]:
    """Let feedparser read these items together; one by one, should it choke on any of them."""
    entries = _parse(_document(scan, items.values()))
    if entries is not None:
        return _by_number(entries, set(items))
    alone = ((number, _parse(_document(scan, [item]))) for number, item in items.items() if len(items) > 1)
    return {at: body for number, found in alone for at, body in _by_number(found or (), {number}).items()}


def _is_well_formed(document: str) -> bool:
    parser = expat.ParserCreate("utf-8", " ")
    try:
        parser.Parse(document.encode("utf-8", "replace"), True)
    except expat.ExpatError:
        return False
    return True


def _parse(document: str) -> Sequence[Mapping[str, Any]] | None:
    stream = io.BytesIO(document.encode("utf-8", "replace"))
    headers = {"content-type": "application/xml; charset=utf-8"}
    try:
        parsed = feedparser.parse(stream, response_headers=headers, **_SETTINGS)
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError):
        # It is known to raise on odd elements; the entry stays, with the words that we read ourselves.
        return None
    entries: Sequence[Mapping[str, Any]] = parsed.get("entries", ())
    return entries


def _document(scan: Scan, items: Iterable[str]) -> str:
    openings = [_repaired(tag) for tag in scan.openings]
    names = [re.split(r"[\s/>]", tag[1:], maxsplit=1)[0] for tag in scan.openings]
    closings = [f"</{name}>" for name in reversed(names)]
    return "".join(['<?xml version="1.0" encoding="utf-8"?>', *openings, *items, *closings])


def _marked(scan: Scan, number: int) -> str:
    item = scan.items[number]
    if item.inner >= item.end:
        return ""
    pieces = [_repaired(scan.text[item.start : item.inner]), f"<{_MARK}>{number}</{_MARK}>"]
    at = item.inner
    for start, end in sorted([*item.nested, *_read_already(scan, item)]):
        pieces.append(_repaired(scan.text[at:start]))
        at = max(at, end)
    pieces.append(_repaired(scan.text[at : item.end]))
    return "".join(pieces)


def _read_already(scan: Scan, item: Item) -> list[tuple[int, int]]:
    """The places of what `fields` reads as written: it costs half of the time, and nobody would look at it."""
    rss = scan.kind != "atom"
    return [
        (child.start, child.end)
        for child in item.children
        if child.name == _MARK
        or (rss and child.name in _OURS)
        or (rss and child.name == "description" and not has_markup(inner(scan, child)))
    ]


def _repaired(source: str) -> str:
    """Return `source` with each reference that XML does not know as its character, and bare ampersands escaped."""
    return _REFERENCE.sub(_reference, source) if "&" in source else source


def _reference(match: re.Match[str]) -> str:
    whole = match.group()
    if whole.startswith("<"):
        return whole
    decimal, hexadecimal, name = match.groups()
    if name:
        char = html5.get(name + ";")
        return whole if name in _XML_NAMES else html.escape(char) if char else "&amp;" + whole[1:]
    if decimal or hexadecimal:
        return whole if _is_text(int(decimal) if decimal else int(hexadecimal, 16)) else "\ufffd"
    return "&amp;"


def _is_text(point: int) -> bool:
    return point in (9, 10, 13) or 0x20 <= point < 0xD800 or 0xE000 <= point < 0xFFFE or 0x10000 <= point < 0x110000


def _by_number(entries: Iterable[Mapping[str, Any]], wanted: set[int]) -> dict[int, Body]:
    marks = {str(number): number for number in wanted}
    return {marks[mark]: _body(entry) for entry in entries if (mark := entry.get(_MARK, "")) in marks}


def _body(entry: Mapping[str, Any]) -> Body:
    contents = [part for part in entry.get("content", []) if part.get("value")]
    content = "\n".join(_as_html(part) for part in contents if _is_readable(part))
    detail = entry.get("summary_detail") or {}
    summary = entry.get("summary", "") or ("" if contents else entry.get(_CAPTION, ""))
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
    # What feedparser makes of an XHTML `<br/>`; to a reader of HTML that is two of them.
    value = unwrapped(str(part.get("value") or "")).replace("<br></br>", "<br>")
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
