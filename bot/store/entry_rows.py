"""An entry's row, the words it is found by, and its tags."""

import json
import re
import unicodedata
from collections.abc import Iterable

from bot.core.identity import bare_url
from bot.core.model.entry import Entry, Key, KnownEntry
from bot.core.model.feed import FeedId
from bot.core.tags import fold
from bot.store.sql import Row, Value, storable, storable_or_none, to_ms, to_ms_or_none, to_time, to_time_or_none

MAX_SEARCHED = 20_000  # characters of an entry that can be searched for; the rest only costs disk
COLUMNS = (
    "feed_no, key, sort_at, first_seen_at, published, updated, date_only, content_hash, edits, guid, link, canonical,"
    " title, tags, section, author, image, text, search, summary_html, content_html"
)
SELECT = "SELECT e.*, f.id AS feed_id, f.title AS feed_title FROM entry e JOIN feed f ON f.no = e.feed_no"

_DASHES = re.compile(r"[\s_\u2010-\u2015\u2212-]+")


def to_columns(entry: Entry, feed_no: int) -> tuple[Value, ...]:
    return (
        feed_no,
        entry.key,
        to_ms(entry.sort_at),
        to_ms(entry.first_seen_at),
        to_ms_or_none(entry.published),
        to_ms_or_none(entry.updated),
        int(entry.date_only),
        entry.content_hash,
        entry.edits,
        storable_or_none(entry.guid),
        storable_or_none(entry.link),
        lookup_form(entry.link),
        storable(entry.title),
        json.dumps(entry.tags),
        json.dumps(entry.section),
        storable_or_none(entry.author),
        storable_or_none(entry.image),
        storable(entry.text),
        searchable(f"{entry.title}\n{' '.join(entry.tags)}\n{entry.text[:MAX_SEARCHED]}"),
        storable(entry.summary_html),
        storable(entry.content_html),
    )


def to_entry(row: Row) -> Entry:
    return Entry(
        id=row["id"],
        feed_id=FeedId(row["feed_id"]),
        feed_title=row["feed_title"],
        key=Key(bytes(row["key"])),
        guid=row["guid"],
        link=row["link"],
        title=row["title"],
        summary_html=row["summary_html"],
        content_html=row["content_html"],
        text=row["text"],
        tags=tuple(json.loads(row["tags"])),
        section=tuple(json.loads(row["section"])),
        author=row["author"],
        image=row["image"],
        published=to_time_or_none(row["published"]),
        updated=to_time_or_none(row["updated"]),
        date_only=bool(row["date_only"]),
        sort_at=to_time(row["sort_at"]),
        first_seen_at=to_time(row["first_seen_at"]),
        content_hash=row["content_hash"],
        edits=row["edits"],
        withdrawn_at=to_time_or_none(row["withdrawn_at"]),
    )


def to_known(row: Row) -> KnownEntry:
    return KnownEntry(
        id=row["entry_id"],
        key=Key(bytes(row["key"])),
        published=to_time_or_none(row["published"]),
        first_seen_at=to_time(row["first_seen_at"]),
        content_hash=row["content_hash"],
        edits=row["edits"],
    )


def searchable(text: str) -> str:
    """Case, width and the kind of dash or blank do not count when words are looked for."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _DASHES.sub("-", storable(text).lower()).strip("-")


def lookup_form(link: str | None) -> str | None:
    """What people may type for a link: in its one form, without scheme, www. and fragment."""
    if link is None:
        return None
    plain = storable(link).strip().partition("#")[0]
    return bare_url(f"https://{plain.partition('://')[2] or plain}")


def folded_tags(tags: Iterable[str], section: Iterable[str]) -> dict[str, str | None]:
    """Every folded name with the tag as shown; None for a name that is only a section's."""
    names: dict[str, str | None] = {}
    for tag in tags:
        names.setdefault(fold(storable(tag)), storable(tag))
    for name in section:
        names.setdefault(fold(storable(name)), None)
    names.pop("", None)
    return names
