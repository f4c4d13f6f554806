"""Holding what is worked on, a feed or a destination, and giving a destination back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from bot.core.errors import StoreError
from bot.core.model.delivery import Lane
from bot.core.model.route import DestinationUid
from bot.ports import Clock, Store

K = TypeVar("K")


class Renewals(Generic[K]):
    """Renews the leases of all that is held, each third of their time; whose is lost, learns it at its next write.

    `renew` is told the name of what is held, its epoch, and until when it shall be ours.
    """

    def __init__(self, renew: Callable[[K, int, datetime], Awaitable[None]], clock: Clock, lease: timedelta) -> None:
        self._renew = renew
        self._clock = clock
        self._lease = lease
        self._held: dict[K, int] = {}
        self._renewing: asyncio.Task[None] | None = None

    def hold(self, name: K, epoch: int) -> None:
        self._held[name] = epoch
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew_all(), name="leases")

    def let_go(self, name: K, epoch: int) -> None:
        if self._held.get(name) == epoch:  # or it is held anew: a clock that was set ahead ends every lease
            del self._held[name]
        if not self._held and self._renewing is not None:
            self._renewing.cancel()
            self._renewing = None

    async def _renew_all(self) -> None:
        while True:
            await self._clock.sleep(self._lease / 3)
            until = self._clock.now() + self._lease
            renewals = [self._renew(name, epoch, until) for name, epoch in self._held.items()]
            for failure in await asyncio.gather(*renewals, return_exceptions=True):
                if isinstance(failure, BaseException) and not isinstance(failure, StoreError):
                    raise failure


class LaneLeases:
    """Holds destinations while they are worked on. One that fails by a fault of ours is left alone till its lease ends.

    Given back at once it would be taken again within a second, and fail again.
    """

    def __init__(self, store: Store, clock: Clock, lease: timedelta) -> None:
        self._store = store
        self._renewals = Renewals[DestinationUid](
            lambda uid, epoch, until: store.renew_lane(uid, epoch=epoch, until=until), clock, lease
        )
        self._unreleased: dict[DestinationUid, int] = {}

    @asynccontextmanager
    async def held(self, lane: Lane) -> AsyncIterator[None]:
        uid, epoch, foreseen = lane.destination.uid, lane.destination.epoch, False
        self._renewals.hold(uid, epoch)
        try:
            yield
            foreseen = True
        except (StoreError, asyncio.CancelledError):
            foreseen = True
            raise
        finally:
            self._renewals.let_go(uid, epoch)
            if foreseen:
                await self._give_back(uid, epoch)

    async def release(self) -> None:
        """Give back what a full disk has kept from it, as soon as there is room."""
        for uid, epoch in list(self._unreleased.items()):
            self._unreleased.pop(uid, None)
            await self._give_back(uid, epoch)

    async def _give_back(self, uid: DestinationUid, epoch: int) -> None:
        try:
            await self._store.release_lane(uid, epoch=epoch)
        except BaseException:
            self._unreleased[uid] = epoch
            raise
