"""Who works at destinations: so many at once, and so many for each service."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from datetime import timedelta

from bot.core.errors import StoreUnavailable
from bot.core.model.delivery import Lane
from bot.core.model.route import DestinationUid
from bot.services.pacing import service_of

log = logging.getLogger(__name__)


class Crew:
    """Claims lanes while there is room, and again when one has ended.

    `claim` is told what to leave out: services that have no room left, and destinations that are at work, for a clock
    that is set ahead ends their leases too. Claims that are made together share a commit.

    `fill` looks for what is due, as at each tick. Between two ticks whoever ends passes its room on, if something that
    the last look did not see may wait for it.
    """

    def __init__(
        self,
        claim: Callable[[frozenset[str]], Awaitable[Lane | None]],
        work: Callable[[Lane], Coroutine[None, None, None]],
        *,
        lanes: int,
        per_service: int,
    ) -> None:
        self._claim = claim
        self._work = work
        self._lanes = lanes
        self._per_service = per_service
        self._busy: dict[asyncio.Task[None], DestinationUid] = {}
        self._looking = asyncio.Lock()
        self._passing: asyncio.Task[None] | None = None
        # Where something may be due that the last look did not see: services that were full; None: anywhere, for it has
        # not come to its end, or had no room to.
        self._unseen: frozenset[str] | None = frozenset()
        self._stopping = False

    @property
    def is_busy(self) -> bool:
        """Whether somebody works, or is about to."""
        return bool(self._busy) or self._is_passing

    async def one_ended(self) -> None:
        """Wait until one of those at work has ended, if there are any."""
        if self._busy:
            await asyncio.wait(self._busy, return_when=asyncio.FIRST_COMPLETED)
        elif self._passing is not None:
            await self._passing

    @property
    def _is_passing(self) -> bool:
        return self._passing is not None and not self._passing.done()

    async def fill(self) -> int:
        """Start a worker for each lane that finds room; return how many were started. Raises StoreUnavailable."""
        started = 0
        async with self._looking:
            self._unseen = None
            while self._unseen is None and self._may_find():
                # First one: mostly there is none. To look beside a full service is slow, if many of it are due.
                started += await self._claim_many(1)
                if self._unseen is None and (room := self._room()) > 0 and not self._full_services():
                    started += await self._claim_many(room)
        return started

    async def stop(self, within: timedelta) -> None:
        """Claim nothing more; whoever does not end in time is given up."""
        self._stopping = True
        if self._passing is not None:
            await asyncio.wait([self._passing], timeout=within.total_seconds())  # what it claims is at work then
        if self._busy:
            _, late = await asyncio.wait(self._busy, timeout=within.total_seconds())
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _claim_many(self, count: int) -> int:
        full = self._full_services()
        left_out = full.union(self._busy.values())
        answers = await asyncio.gather(*(self._claim(left_out) for _ in range(count)), return_exceptions=True)
        lanes = [answer for answer in answers if isinstance(answer, Lane)]
        for lane in lanes:
            task = asyncio.create_task(self._work(lane), name=f"lane {lane.destination.uid}")
            self._busy[task] = lane.destination.uid
            task.add_done_callback(self._done)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        if not lanes:
            self._unseen = full
        return len(lanes)

    def _may_find(self) -> bool:
        """Whether there is room for something that the last look did not see."""
        has_room = self._room() > 0 and not self._stopping
        return has_room and (self._unseen is None or not self._unseen <= self._full_services())

    def _room(self) -> int:
        """How many lanes may be claimed at once, should all of them be of the service that is busiest."""
        counts = self._by_service().values()
        busiest = max((count for count in counts if count < self._per_service), default=0)
        return min(self._lanes - len(self._busy), self._per_service - busiest)

    def _full_services(self) -> frozenset[str]:
        counts = self._by_service()
        return frozenset(service for service, count in counts.items() if count >= self._per_service)

    def _by_service(self) -> Counter[str]:
        return Counter(service_of(uid) for uid in self._busy.values())

    def _done(self, task: asyncio.Task[None]) -> None:
        del self._busy[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("lane worker failed", extra={"lane": task.get_name()}, exc_info=error)
        if self._may_find() and not self._is_passing:
            self._passing = asyncio.create_task(self._pass_on(), name="next lanes")

    async def _pass_on(self) -> None:
        """Give freed room to the next ones; what is due beside a full service was looked for when it became full."""
        with suppress(StoreUnavailable):  # the next tick says so
            async with self._looking:
                while self._may_find():
                    await self._claim_many(self._room())
