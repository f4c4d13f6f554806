"""Politeness towards a host: one request at a time, a second apart, and peace when it asks for it (P11)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from bot.core.model.feed import Feed, FeedId
from bot.ports import Clock

PUT_OFF = timedelta(seconds=30)  # a longer queue before one host is left in the store
HANGS = timedelta(minutes=5)  # for how long, where those in the queue take longer than was planned


@dataclass(slots=True)
class _Host:
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0  # by the monotonic clock: when the next one may start
    rests_until: float = 0.0  # a gap after the end of the last one
    paused_until: float = 0.0  # the host itself asked for peace
    line: int = 0  # feeds that ask it, or wait for their turn here


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Leave to ask, or the time until which the host's queue is full."""

    put_off_until: datetime | None = None


class HostGate:
    """Lets feeds of one host (name and port) through in turn; the operator's own feeds pass freely."""

    def __init__(self, clock: Clock, *, gap: timedelta) -> None:
        self._clock = clock
        self._gap = gap.total_seconds()
        self._hosts: dict[str, _Host] = {}
        self._hurried: set[FeedId] = set()

    def configure(self, *, gap: timedelta) -> None:
        """Go by another gap from now on; what hosts have asked for holds."""
        self._gap = gap.total_seconds()

    def hurry(self, feed_id: FeedId) -> None:
        """Let a feed's next turn come at once: its publisher asks for it, and another of its host may hang."""
        self._hurried.add(feed_id)

    @asynccontextmanager
    async def turn(self, feed: Feed, url: str, *, patient: bool) -> AsyncIterator[Turn]:
        """Wait for this feed's turn; a pause, or without `patient` a long queue, answers when to come again."""
        if feed.own or not self._gap:
            yield Turn()
            return
        host = self._hosts.setdefault(urlsplit(url).netloc.lower(), _Host())
        now = self._clock.monotonic()
        wait, pause = host.free_at - now, host.paused_until - now
        if feed.id in self._hurried and pause <= 0:
            self._hurried.discard(feed.id)
            yield Turn()
            return
        if pause > 0 or (not patient and (wait := self._queue(host, wait)) > PUT_OFF.total_seconds()):
            yield Turn(put_off_until=self._clock.now() + timedelta(seconds=max(wait, pause)))
            return
        host.free_at = max(host.free_at, now) + self._gap
        host.line += 1
        try:
            async with self._in_line(host, wait) as turn:
                yield turn
        finally:
            host.line -= 1

    def _queue(self, host: _Host, planned: float) -> float:
        """Return how long the queue is, in seconds; a host that hangs must not take the room of all others."""
        is_late = host.line * self._gap > max(planned, 0) + PUT_OFF.total_seconds()
        return HANGS.total_seconds() if is_late else planned

    @asynccontextmanager
    async def _in_line(self, host: _Host, wait: float) -> AsyncIterator[Turn]:
        if wait > 0:
            await self._clock.sleep(timedelta(seconds=wait))
        async with host.busy:
            # The one before may have begun later than planned: it waited for a free slot.
            rest = host.rests_until - self._clock.monotonic()
            if rest > 0:
                await self._clock.sleep(timedelta(seconds=rest))
            pause = host.paused_until - self._clock.monotonic()
            if pause > 0:  # asked for while this one waited for its turn
                yield Turn(put_off_until=self._clock.now() + timedelta(seconds=pause))
                return
            try:
                yield Turn()
            finally:  # the host was asked, whatever became of its answer
                host.rests_until = self._clock.monotonic() + self._gap
                host.free_at = max(host.free_at, host.rests_until)

    async def rest(self, feed: Feed) -> None:
        """Wait before one more request in the turn of this feed."""
        if not feed.own:
            await self._clock.sleep(timedelta(seconds=self._gap))

    def pause(self, url: str, asked: timedelta) -> None:
        """Leave a whole host alone after its 429 or 503."""
        host = self._hosts.setdefault(urlsplit(url).netloc.lower(), _Host())
        host.paused_until = max(host.paused_until, self._clock.monotonic() + asked.total_seconds())
