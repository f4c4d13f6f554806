"""From an item as a document gives it to an entry as the store keeps it."""

import hashlib
from collections.abc import Sequence
from datetime import datetime

from bot.core.model.entry import Entry, Key, ParsedEntry
from bot.core.model.feed import Feed
from bot.core.tags import entry_tags, split_section


def entry_of(
    parsed: ParsedEntry,
    *,
    feed: Feed,
    feed_title: str,
    key: Key,
    sections: Sequence[str],
    date_only: bool,
    first_seen_at: datetime,
    entry_id: int = 0,
    edits: int = 0,
) -> Entry:
    """The entry that `parsed` is.

    `sort_at` is its own date (Atom may give only `updated`), but never later than the moment we first saw it: a date in
    the future sorts as now, and so does none (N19). An episode without a page leads to what there is to hear.
    """
    section, _ = split_section(parsed.categories, sections)
    dated = parsed.published or parsed.updated
    sort_at = min(dated, first_seen_at) if dated is not None else first_seen_at
    return Entry(
        id=entry_id,
        feed_id=feed.id,
        feed_title=feed_title,
        key=key,
        guid=parsed.guid,
        link=parsed.link or parsed.enclosure,
        title=parsed.title,
        summary_html=parsed.summary_html,
        content_html=parsed.content_html,
        text=parsed.text,
        tags=entry_tags(parsed.categories, sections, feed.tags),
        section=section,
        author=parsed.author,
        image=parsed.image,
        published=parsed.published,
        updated=parsed.updated,
        date_only=date_only and not parsed.has_time,
        sort_at=sort_at,
        first_seen_at=first_seen_at,
        content_hash=content_hash(parsed),
        edits=edits,
    )


def content_hash(parsed: ParsedEntry) -> str:
    """Of everything that readers see and an author may correct; dates move by themselves and do not count (N21)."""
    parts = (parsed.title, parsed.link or "", parsed.summary_html, parsed.content_html, *sorted(parsed.categories))
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
