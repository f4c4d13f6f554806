"""Whether a destination may be sent to: a new channel is looked at once (R-2), a parked one now and then (R-18).

So two names in the file that turn out to be one channel are found out before everything is told twice there.
"""

import asyncio
import logging
from datetime import datetime, timedelta
from typing import Final

from bot import crash
from bot.core.errors import DestinationDown, NotifyError
from bot.core.model.delivery import Destination, Probe
from bot.core.model.route import DestinationUid
from bot.ports import Notifier, Store

log = logging.getLogger(__name__)

SCHEMES: Final = ("slack:", "discord:")  # their channels have several names; all others are what they are called
PATIENCE = timedelta(seconds=5)  # a message waits no longer for a look that is a courtesy


class Introductions:
    """Knows who was looked at; a look that fails is tried again at the next start, and keeps nothing waiting.

    `named` are the destinations of the file's routes. Only two of them can be one too many: what people made in chat
    goes to the channel's id on purpose, beside whatever name the file has for it.
    """

    def __init__(self, store: Store) -> None:
        self.named: frozenset[DestinationUid] = frozenset()
        self._store = store
        self._met: set[DestinationUid] = set()
        self._one_at_a_time = asyncio.Lock()  # or two twins would each find the other, and both be parked

    async def meet(self, destination: Destination, notifier: Notifier | None) -> str | None:
        """Look before the first message. Return why none may go there; None: go on."""
        uid = destination.uid
        known = destination.can_look_up is not None or uid in self._met
        if known or notifier is None or uid not in self.named or not uid.startswith(SCHEMES):
            return None
        self._met.add(uid)
        try:
            with crash.spared():
                async with asyncio.timeout(PATIENCE.total_seconds()):
                    probe = await notifier.probe(destination)
        except (NotifyError, TimeoutError) as error:
            log.debug("destination not looked at", extra={"destination": uid, "error": str(error)})
            return None
        async with self._one_at_a_time:
            await self._store.set_probe(uid, probe)
            return await self._why_too_many(uid, probe)

    async def reopens(self, destination: Destination, notifier: Notifier | None, *, again: datetime) -> bool:
        """Look at a parked destination by reading only; False: it takes nothing yet, and is looked at `again`."""
        uid = destination.uid
        try:
            if notifier is None:
                raise DestinationDown("its service is not configured")
            probe = await notifier.probe(destination)
            if (why := await self._why_too_many(uid, probe)) is not None:
                raise DestinationDown(why)
        except NotifyError as error:
            await self._store.put_off_probe(uid, reason=str(error), probe_at=again)
            return False
        await self._store.unpark(uid, probe=probe)
        return True

    async def _why_too_many(self, uid: DestinationUid, probe: Probe) -> str | None:
        if probe.remote_id is None or uid not in self.named:
            return None
        twins = [twin for twin in await self._store.same_channel(uid, probe.remote_id) if twin in self.named]
        return f"it is the same channel as {twins[0]}: name it once, or all is told there twice" if twins else None
