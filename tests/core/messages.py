"""Entries and messages for the tests of rendering and of every platform."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.core.model.delivery import Delivery, DeliveryKind, Options, Owed
from bot.core.model.entry import Entry, Key, ParsedEntry
from bot.core.model.feed import Feed, FeedId
from bot.core.model.message import Message
from bot.core.model.route import DestinationUid
from bot.core.parse.document import parse
from bot.core.recording import entry_of
from bot.core.render import render_owed
from bot.core.tags import decide_section

SEEN = datetime(2026, 9, 16, 9, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
GOLDEN = Path(__file__).parent.parent / "golden"
UID = DestinationUid("slack:#news")


def entry(**changes: object) -> Entry:
    """Return an entry with everything that a reader sees; `changes` replace fields."""
    whole = Entry(
        id=1,
        feed_id=FeedId("news"),
        feed_title="Example News",
        key=Key(b"k" * 16),
        guid="g1",
        link="https://www.example.org/posts/1",
        title="A title",
        summary_html="A short summary.",
        text="A short summary.",
        tags=("bgp",),
        published=datetime(2026, 9, 16, 8, 5, tzinfo=UTC),
        sort_at=datetime(2026, 9, 16, 8, 5, tzinfo=UTC),
        first_seen_at=SEEN,
    )
    return replace(whole, **changes)  # type: ignore[arg-type]  # the callers name real fields


def delivery(kind: DeliveryKind = DeliveryKind.ENTRY, **changes: object) -> Delivery:
    whole = Delivery(id=1, idem="0123456789abcdef" * 2, destination=UID, kind=kind, due_at=SEEN, created_at=SEEN)
    return replace(whole, **changes)  # type: ignore[arg-type]  # the callers name real fields


def message(shown: Entry | None = None, *, options: Options | None = None, **changes: object) -> Message:
    """Return the message that one entry makes."""
    owed = Owed(delivery=delivery(options=options or Options(), **changes), entries=(shown or entry(),))
    return render_owed(owed, timezone=BERLIN)


def digest(entries: tuple[Entry, ...], *, more_url: str | None = None, **changes: object) -> Message:
    owed = Owed(delivery=delivery(DeliveryKind.DIGEST, **changes), entries=entries)
    return render_owed(owed, timezone=BERLIN, more_url=more_url)


def read_entries(path: Path, *, feed_id: str = "ai-networking", first_seen_at: datetime = SEEN) -> list[Entry]:
    """Return a document's entries as the store would keep them, in document order."""
    feed = Feed(id=FeedId(feed_id), url="https://example.org/feed.xml")
    parsed = parse(path.read_bytes(), url=feed.url, content_type=None)
    items = [item for item in parsed.items if isinstance(item, ParsedEntry)]
    sections = decide_section([item.categories for item in items], title=parsed.title)
    return [
        entry_of(
            item,
            feed=feed,
            feed_title=parsed.title,
            key=Key(number.to_bytes(16, "big")),
            sections=sections.names,
            date_only=not any(one.has_time for one in items),
            first_seen_at=first_seen_at,
            entry_id=number,
        )
        for number, item in enumerate(items, 1)
    ]
