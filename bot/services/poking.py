"""Pokes: "I have just published". Polled at once, and again with patience, for a CDN may serve the old feed a while."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from bot.core.errors import StoreUnavailable
from bot.core.model.feed import FeedId
from bot.ports import Clock, Store, WakeUp

PATIENCE = tuple(timedelta(seconds=wait) for wait in (5, 15, 40, 120, 300))  # each after the one before


class Pokes:
    """One round of patience for each feed; another poke begins it anew, and a new entry ends it."""

    def __init__(self, store: Store, clock: Clock, wake: WakeUp, *, hurry: Callable[[FeedId], None]) -> None:
        """`hurry` lets a feed pass before others of its host."""
        self._store = store
        self._clock = clock
        self._wake = wake
        self._hurry = hurry
        self._rounds: dict[FeedId, asyncio.Task[None]] = {}

    async def poke(self, feed_id: FeedId) -> bool:
        """Make the feed due now, in backoff or not; a server's own Retry-After still holds. False: no such feed."""
        known = await self._store.poke(feed_id, now=self._clock.now())
        if known:
            self._hurry(feed_id)
            self._end_round(feed_id)
            self._rounds[feed_id] = asyncio.create_task(self._poke_again(feed_id), name=f"poke {feed_id}")
            self._wake()
        return known

    def found(self, feed_id: FeedId) -> None:
        """A poll brought something new: what was announced has arrived."""
        self._end_round(feed_id)

    async def stop(self) -> None:
        rounds = list(self._rounds.values())
        for task in rounds:
            task.cancel()
        await asyncio.gather(*rounds, return_exceptions=True)

    async def _poke_again(self, feed_id: FeedId) -> None:
        for wait in PATIENCE:
            await self._clock.sleep(wait)
            self._hurry(feed_id)
            with suppress(StoreUnavailable):  # the next look may find it back
                await self._store.poke(feed_id, now=self._clock.now())
                self._wake()

    def _end_round(self, feed_id: FeedId) -> None:
        task = self._rounds.pop(feed_id, None)
        if task is not None:
            task.cancel()
