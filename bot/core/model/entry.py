"""An entry: as a document gives it, and as the store keeps it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.core.model.feed import FeedId, Key


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEntry:
    """One item of a document, read as written: nothing resolved that identity depends on."""

    bytes_hash: bytes = b""  # 16 bytes, of the item's own bytes; empty where the document could not be cut
    guid: str | None = None  # trimmed of XML white space, otherwise byte for byte (N1)
    link: str | None = None  # absolute http(s), or None
    enclosure: str | None = None
    title: str = ""  # plain text, one line, not shortened below 1,000 characters
    summary_html: str = ""  # description or summary; plain text comes escaped, so this is always HTML
    content_html: str = ""
    text: str = ""  # plain text of the summary, else of the content
    categories: tuple[str, ...] = ()  # as written, document order, no duplicates
    author: str | None = None
    image: str | None = None  # absolute http(s)
    published: datetime | None = None  # aware
    updated: datetime | None = None
    raw_date: str = ""  # as written, for N2
    has_time: bool = True  # False: the date is a midnight in its own offset, or has no time at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An item known by its bytes: nothing in it has changed since it was parsed (performance.md, design 3)."""

    bytes_hash: bytes
    key: Key


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFeed:
    """A document that is a feed: what its head says, and its items in document order."""

    items: tuple[ParsedEntry | Listed, ...]
    title: str = ""
    site_url: str | None = None
    truncated: bool = False  # the root's end tag is missing; half entries are dropped (N14)
    total: int = 0  # items in the document before any limit
    ttl: timedelta | None = None
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[str, ...] = ()
    hub: str | None = None
    self_url: str | None = None
    next_page: str | None = None  # RFC 5005 prev-archive, else next (N18)
    items_hash: str | None = None  # see FeedMemory
    head_hash: str | None = None
    trim_ok: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The names of one entry: its key, and the aliases under which it may come again (N4)."""

    key: Key
    guid_alias: Key | None = None  # A2
    link_alias: Key | None = None  # A3
    fingerprint: Key | None = None  # A4
    moment: Key | None = None  # of its title and its instant: not kept, and asked for where a feed was made anew (N11)

    @property
    def hashes(self) -> tuple[Key, ...]:
        """All names that are kept, key first."""
        return (self.key, *(h for h in (self.guid_alias, self.link_alias, self.fingerprint) if h is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEntry:
    """What a poll needs of an entry that the store has already."""

    id: int
    key: Key
    published: datetime | None
    first_seen_at: datetime
    content_hash: str
    edits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The answer of the one look-up: which names are taken, and by which entries.

    `total` counts the feed's entries, so that a feed is known to have had some.
    """

    by_hash: dict[Key, int]
    entries: dict[int, KnownEntry]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry as stored: kept whole from the first poll on, also when it was never announced."""

    id: int = 0  # the store's own number; never part of an identity
    feed_id: FeedId
    feed_title: str = ""
    key: Key
    guid: str | None = None
    link: str | None = None
    title: str = ""
    summary_html: str = ""
    content_html: str = ""
    text: str = ""
    tags: tuple[str, ...] = ()  # as shown, section categories taken out, fixed tags added
    section: tuple[str, ...] = ()
    author: str | None = None
    image: str | None = None
    published: datetime | None = None  # as the feed says
    updated: datetime | None = None
    date_only: bool = False
    sort_at: datetime  # published, clamped to first_seen_at; else first_seen_at (N19)
    first_seen_at: datetime
    content_hash: str = ""  # of what an edit could change: title, link, texts, tags
    edits: int = 0
    withdrawn_at: datetime | None = None


__all__ = ["Entry", "FeedId", "Identity", "Key", "Known", "KnownEntry", "Listed", "ParsedEntry", "ParsedFeed"]
