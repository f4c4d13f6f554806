"""Holding one destination while it is worked on, and giving it back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from bot.core.errors import StoreError, StoreUnavailable
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
        self._unreleased: dict[DestinationUid, int] = {}

    @asynccontextmanager
    async def held(self, lane: Lane, lease: timedelta) -> AsyncIterator[None]:
        uid, epoch, foreseen = lane.destination.uid, lane.destination.epoch, False
        renewing = asyncio.create_task(self._keep(lane, lease), name=f"lease {uid}")
        try:
            yield
            foreseen = True
        except (StoreError, asyncio.CancelledError):
            foreseen = True
            raise
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
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

    async def _keep(self, lane: Lane, lease: timedelta) -> None:
        while True:
            await self._clock.sleep(lease / 3)
            until = self._clock.now() + lease
            with suppress(StoreUnavailable):  # the next try is in time too
                await self._store.renew_lane(lane.destination.uid, epoch=lane.destination.epoch, until=until)
