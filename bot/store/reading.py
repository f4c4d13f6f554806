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

    def __init__(self, tx: Tx, configured: Mapping[FeedId, Feed]) -> None:
        self._tx = tx
        self._configured = configured

    def feeds(self) -> Sequence[FeedState]:
        """Every active feed, in the order of the configuration, then those added in chat; without their listings."""
        return [to_state(row, self._configured) for row in feeds.active(self._tx)]

    def latest(
        self,
        *,
        tag: str | None = None,
        feed: FeedId | None = None,
        limit: int = 1,
        feeds: frozenset[FeedId] | None = None,
    ) -> Sequence[Entry]:
        """The newest entries; `tag` is folded, `feeds` leaves out all others."""
        return entries.latest(self._tx, tag=tag, feed=feed, limit=limit, feeds=feeds)

    def search(self, words: Sequence[str], *, limit: int, feeds: frozenset[FeedId] | None = None) -> Sequence[Entry]:
        """The newest entries that hold every word in title, text or tags."""
        return entries.search(self._tx, words, limit=limit, feeds=feeds)

    def tags(self, *, feeds: frozenset[FeedId] | None = None) -> Sequence[tuple[str, int]]:
        """(name, entries), the most used first."""
        return entries.tags(self._tx, feeds=feeds)

    def follows_of(self, uid: DestinationUid) -> Sequence[str]:
        """The tags that somebody follows, as they typed them."""
        return chat.follows_of(self._tx, uid)

    def destinations(self) -> Sequence[Destination]:
        return [to_destination(row) for row in destinations.rows(self._tx)]

    def waiting(self, *, now: datetime) -> int:
        """Deliveries that are due, or were tried before, where something can be delivered."""
        return lanes.waiting(self._tx, now)
