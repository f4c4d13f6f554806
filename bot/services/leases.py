"""Holding one destination while it is worked on, and giving it back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from bot.core.errors import StoreError
from bot.core.model.delivery import Lane
from bot.core.model.route import DestinationUid
from bot.ports import Clock, Store


class LaneLeases:
    """Renews a lease while its lane is held. A lane that fails by a fault of ours is left alone until the lease ends.

    Given back at once it would be taken again within a second, and fail again.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._held: dict[DestinationUid, int] = {}
        self._unreleased: dict[DestinationUid, int] = {}
        self._renewing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def held(self, lane: Lane, lease: timedelta) -> AsyncIterator[None]:
        uid, epoch, foreseen = lane.destination.uid, lane.destination.epoch, False
        self._held[uid] = epoch
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew(lease), name="leases of lanes")
        try:
            yield
            foreseen = True
        except (StoreError, asyncio.CancelledError):
            foreseen = True
            raise
        finally:
            if self._held.get(uid) == epoch:  # or it is held anew: a clock that was set ahead ends every lease
                del self._held[uid]
            if not self._held and self._renewing is not None:
                self._renewing.cancel()
                self._renewing = None
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

    async def _renew(self, lease: timedelta) -> None:
        """Renew all that are held, each third of their time; whose is lost, learns it at its next write."""
        while True:
            await self._clock.sleep(lease / 3)
            until = self._clock.now() + lease
            renewals = [self._store.renew_lane(uid, epoch=epoch, until=until) for uid, epoch in self._held.items()]
            for failure in await asyncio.gather(*renewals, return_exceptions=True):
                if isinstance(failure, BaseException) and not isinstance(failure, StoreError):
                    raise failure
