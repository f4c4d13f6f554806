"""What people ask: several questions, each of which depends on the answer before, in one go on a reader's thread."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.core.model.delivery import Destination
from bot.core.model.entry import Entry
from bot.core.model.feed import Feed, FeedId, FeedState
from bot.core.model.route import DestinationUid
from bot.store import chat, destinations, entries, feeds, lanes
from bot.store.delivery_rows import to_destination
from bot.store.feed_rows import to_state
from bot.store.sql import Tx


class Reading:
    """Blocks, and belongs to the thread that it is given to: see `Store.consult`."""

    def __init__(self, tx: Tx, configured: Mapping[FeedId, Feed], hidden: frozenset[FeedId] = frozenset()) -> None:
        self._tx = tx
        self._configured = configured
        self._hidden = hidden

    def without(self, hidden: frozenset[FeedId]) -> "Reading":
        """The same, with these feeds and their entries left out (T21)."""
        return Reading(self._tx, self._configured, self._hidden | hidden)

    def guarded(self) -> Sequence[Feed]:
        """The feeds of the configuration that are read with credentials."""
        return [feed for feed in self._configured.values() if feed.auth is not None]

    def feeds(self) -> Sequence[FeedState]:
        """Every active feed, in the order of the configuration, then those added in chat; without their listings."""
        return [to_state(row, self._configured) for row in feeds.active(self._tx) if row["id"] not in self._hidden]

    def feed_ids(self) -> Sequence[FeedId]:
        return [feed_id for feed_id in feeds.ids(self._tx) if feed_id not in self._hidden]

    def has_tag(self, tag: str) -> bool:
        """Whether an entry has that tag or section, folded."""
        return entries.has_tag(self._tx, tag, self._hidden)

    def tags(self) -> Sequence[tuple[str, int]]:
        """Every tag as shown, with its count, most used first; sections are none."""
        return entries.tags(self._tx, self._hidden)

    def latest(self, *, tag: str | None = None, feed: FeedId | None = None, limit: int = 1) -> Sequence[Entry]:
        """The newest entries; `tag` is folded and names a tag or a section."""
        return entries.latest(self._tx, tag=tag, feed=feed, limit=limit, hidden=self._hidden)

    def search(self, words: Sequence[str], *, limit: int) -> Sequence[Entry]:
        """The newest entries that hold every word, folded, in title, text or tags."""
        return entries.search(self._tx, words, limit=limit, hidden=self._hidden)

    def follows_of(self, uid: DestinationUid) -> Sequence[str]:
        """The tags that somebody follows, as they typed them."""
        return chat.follows_of(self._tx, uid)

    def destinations(self) -> Sequence[Destination]:
        return [to_destination(row) for row in destinations.rows(self._tx)]

    def waiting(self, *, now: datetime) -> int:
        """Deliveries that are due or will be retried: neither sent, dead, held nor parked, nor for a later time."""
        return lanes.waiting(self._tx, now)
