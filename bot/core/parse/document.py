"""A feed's bytes -> ParsedFeed: decode, scan, let feedparser read the bodies, put it together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.core.errors import NotAFeed
from bot.core.model.entry import Key, Listed, ParsedEntry, ParsedFeed
from bot.core.parse.cut import Outline, kept, outline, stands_elsewhere, without
from bot.core.parse.dates import has_time, parse_date
from bot.core.parse.decode import Charset, charset_of, decode, unpacked
from bot.core.parse.fields import Written, read_item
from bot.core.parse.head import Head, name_of, read_head
from bot.core.parse.jsonfeed import read_json
from bot.core.parse.library import MAX_BODY, Bodies, Body, read_bodies
from bot.core.parse.limits import MAX_ENTRIES, pick
from bot.core.parse.pictures import first_picture
from bot.core.parse.scan import Scan, scan
from bot.core.text.links import http_url
from bot.core.text.markup import plain_text


def parse(body: bytes, *, url: str, content_type: str | None, listed: Mapping[bytes, Key] | None = None) -> ParsedFeed:
    """Return the feed in `body`, which was answered at `url` with `content_type`.

    Items whose bytes are in `listed` come back as Listed and are not parsed; the caller gives
    them only while `trim_ok` held and `head_hash` is unchanged. Where the trimmed document
    does not read as expected, the whole one is parsed. Raises NotAFeed.
    """
    body = unpacked(body)
    if not body.strip():
        raise NotAFeed("an empty body")
    charset = charset_of(body, content_type)
    shape = outline(body)
    if listed and shape is not None and any(item in listed for item in shape.hashes):
        trimmed = _parse_trimmed(body, charset, shape, url=url, listed=listed)
        if trimmed is not None:
            return trimmed
    text = decode(body, charset)
    if text.lstrip()[:1] in ("{", "["):
        return read_json(text, url=url)
    read = _read(text, url=url)
    return _with_outline(read, body, charset, shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A document as read, with what is needed to say whether it may be trimmed."""

    feed: ParsedFeed
    scan: Scan
    is_regular: bool  # each item reads the same whatever stands around it


def _read(text: str, *, url: str) -> _Read:
    found = scan(text)
    complete = [number for number, item in enumerate(found.items) if item.end]
    numbers = pick(complete)
    bodies = read_bodies(found, numbers) if numbers else Bodies(by_number={}, well_formed=True)
    head = read_head(found, url=url)
    items = tuple(
        _entry(read_item(found, found.items[n], url=url), bodies.by_number.get(n, Body()), head, url=url)
        for n in numbers
    )
    feed = ParsedFeed(
        items=items,
        title=head.title,
        site_url=head.site_url,
        truncated=not found.closed,
        total=len(complete),
        ttl=head.ttl,
        skip_hours=head.skip_hours,
        skip_days=head.skip_days,
        hub=head.hub,
        self_url=head.self_url,
        next_page=head.next_page,
    )
    return _Read(feed=feed, scan=found, is_regular=bodies.well_formed and found.closed and not found.has_odd_tags)


def _entry(written: Written, body: Body, head: Head, *, url: str) -> ParsedEntry:
    published, updated = parse_date(written.published), parse_date(written.updated)
    summary = (written.description or body.summary_html)[:MAX_BODY]
    page = written.link or url
    return ParsedEntry(
        guid=written.guid,
        link=written.link,
        enclosure=http_url(body.enclosure, url),
        title=written.title,
        summary_html=summary,
        content_html=body.content_html,
        text=plain_text(summary) or plain_text(body.content_html),
        categories=written.categories,
        author=name_of(body.author or "") or head.author,
        image=http_url(body.image, url) or first_picture(summary, page) or first_picture(body.content_html, page),
        published=published.at if published else None,
        updated=updated.at if updated else None,
        raw_date=written.published or written.updated,
        has_time=has_time(published, updated),
    )


def _with_outline(read: _Read, body: bytes, charset: Charset, shape: Outline | None) -> ParsedFeed:
    """Add the hashes; items get theirs only where the cut and the scan found the same ones."""
    if shape is None:
        return read.feed
    feed = replace(read.feed, items_hash=shape.items_hash, head_hash=shape.head_hash)
    if not _agrees(read, [body[start:end] for start, end in shape.spans], charset):
        return feed
    items = tuple(
        replace(item, bytes_hash=known) if isinstance(item, ParsedEntry) else item
        for item, known in zip(feed.items, shape.hashes, strict=True)
    )
    return replace(feed, items=items, trim_ok=True)


def _agrees(read: _Read, pieces: Sequence[bytes], charset: Charset) -> bool:
    """Whether the byte search found exactly the items that the scan found."""
    if not read.is_regular or len(read.scan.items) > MAX_ENTRIES or len(pieces) != len(read.scan.items):
        return False
    return all(
        decode(piece, replace(charset, bom=0)) == read.scan.text[item.start : item.end]
        for piece, item in zip(pieces, read.scan.items, strict=True)
    )


def _parse_trimmed(
    body: bytes, charset: Charset, shape: Outline, *, url: str, listed: Mapping[bytes, Key]
) -> ParsedFeed | None:
    """Read only the items whose bytes are new; None where the whole document must be read after all."""
    if len(shape.hashes) > MAX_ENTRIES:
        return None
    fresh = {
        item: body[start:end]
        for item, (start, end) in zip(shape.hashes, shape.spans, strict=True)
        if item not in listed
    }
    read = _read(decode(without(body, shape, listed), charset), url=url)
    if not _agrees(read, list(fresh.values()), charset):
        return None
    entries = [entry for entry in read.feed.items if isinstance(entry, ParsedEntry)]
    if stands_elsewhere(entries, kept(body, shape, listed)):
        return None
    hashed = iter([replace(entry, bytes_hash=item) for entry, item in zip(entries, fresh, strict=True)])
    items = tuple(
        Listed(bytes_hash=item, key=listed[item]) if item in listed else next(hashed) for item in shape.hashes
    )
    return replace(
        read.feed, items=items, total=len(items), items_hash=shape.items_hash, head_hash=shape.head_hash, trim_ok=True
    )
