"""The outbox: the one place that sends, and the only retry there is."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile

from bot import crash
from bot.core.delivery_id import payload_hash
from bot.core.errors import (
    DestinationDown,
    LeaseLost,
    MessageRejected,
    NotifyError,
    OutcomeUnknown,
    StoreError,
    StoreUnavailable,
)
from bot.core.lanes import is_for_bundle, is_unproven, may_bind, next_binding
from bot.core.model.delivery import (
    Dead,
    Delivery,
    DeliveryKind,
    DeliveryState,
    Destination,
    Lane,
    Owed,
    Parked,
    Receipt,
    RetryAt,
    Sent,
    Settlement,
    Unknown,
)
from bot.core.model.message import Payload
from bot.core.model.route import DestinationUid, OnEdit, edit_form
from bot.core.notices import notices_of
from bot.core.settle import fails_alone, settle, settle_look_up
from bot.ports import Clock, Notifier, Store
from bot.services.crew import Crew
from bot.services.doubt import ROWS, Doubt
from bot.services.events import SendEvent
from bot.services.introducing import Introductions
from bot.services.leases import LaneLeases
from bot.services.means import Means
from bot.services.pacing import service_of

log = logging.getLogger(__name__)

LEASE = timedelta(minutes=2)  # renewed each third while the work runs, so no wait needs a longer one
LANE_ROWS = 20  # rows taken at one claim; a longer queue is claimed again


class Outbox:
    """Claims one destination at a time, renders, sends and settles what is due there."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        means: Means,
        observe: Callable[[SendEvent], None],
        lanes: int = 20,
        lanes_per_service: int = 5,
    ) -> None:
        self._store = store
        self._clock = clock
        self.means = means
        self.doubt: Doubt | None = None
        self.introductions = Introductions(store)
        self._observe = observe
        self._crew = Crew(self._claim, self._work, lanes=lanes, per_service=lanes_per_service)
        self._leases = LaneLeases(store, clock, LEASE)
        self._stopping = False

    async def send_due(self) -> int:
        """Start a worker for each destination that has something due and finds room; return how many were started."""
        with suppress(StoreUnavailable):  # then the claim below says so, or has nothing to do with it
            await self._leases.release()
        return await self._crew.fill()

    async def drain(self) -> None:
        """Send until nothing is due now; later retries are left (small print 2)."""
        while await self.send_due() or self._crew.is_busy:
            await self._crew.one_ended()

    async def stop(self, within: timedelta) -> None:
        """Claim nothing more; let running sends finish, then leave them for the look-up (R-22)."""
        self._stopping = True
        await self._crew.stop(within)

    async def _claim(self, skip: frozenset[str]) -> Lane | None:
        now = self._clock.now()
        return await self._store.claim_lane(now=now, lease=LEASE, skip=skip, limit=LANE_ROWS)

    # --- one destination ----------------------------------------------------------------------------------------------

    async def _work(self, lane: Lane) -> None:
        uid = lane.destination.uid
        try:
            async with self._leases.held(lane):
                if await self._takes(lane):
                    await self._send_in_order(lane)
        except LeaseLost:
            log.warning("lease lost", extra={"destination": uid})
        except StoreUnavailable as error:
            # What could not be recorded is found "sending" later, and looked up (C7, R-13).
            log.error("store unavailable", extra={"destination": uid, "error": str(error)})

    async def _takes(self, lane: Lane) -> bool:
        destination, again = lane.destination, self._clock.now() + self.means.rules.probe_every
        notifier = self._configured(destination.uid)
        if destination.parked is not None:
            return await self.introductions.reopens(destination, notifier, again=again)
        if (why := await self.introductions.meet(destination, notifier)) is not None:
            await self._record(destination, lane.owed[0], Parked(why=why, probe_at=again))
        return why is None

    async def _send_in_order(self, lane: Lane) -> None:
        if await self._is_told(lane):
            return
        if is_unproven(lane, self.means.rules):
            queue = await self._bound(lane, unproven=True)
            if not queue or not await self._deliver_next(lane, queue):
                return
            lane = replace(lane, owed=await self._owed(lane.destination.uid), waiting=lane.waiting - 1)
            if await self._is_told(lane):  # what has come meanwhile
                return
        queue = await self._bound(lane)
        while queue and not self._stopping:
            looked = queue[0].delivery.state is DeliveryState.UNKNOWN
            if not await self._deliver_next(lane, queue) or looked:
                return  # what was found there is known to its edits at the next claim, not to those of this one

    async def _deliver_next(self, lane: Lane, queue: list[Owed]) -> bool:
        """Try the head of the queue, which is taken from it; True: go on with the next one."""
        await self.means.pacer.wait(lane.destination.uid)
        return await self._deliver(lane, queue.pop(0), queue)

    async def _is_told(self, lane: Lane) -> bool:
        """R-15; True: the queue is another one now, or must wait."""
        destination, now, doubt = lane.destination, self._clock.now(), self.doubt
        notifier = self._configured(destination.uid)
        if doubt is None or not doubt.may_ask(destination, notifier, now=now):
            return False
        if not doubt.is_about(lane.owed) and not may_bind(lane, now=now, rules=self.means.rules):
            return False  # what stands behind them is looked for when it comes to the head, or into a digest
        return await doubt.settle(
            destination,
            await self._store.owed(destination.uid, now=now, limit=ROWS),
            notifier=notifier,
            render=self.means.render,
            record=partial(self._record, destination),
            now=now,
            roll=self._clock.roll(),
            rules=self.means.rules,
        )

    async def _bound(self, lane: Lane, *, unproven: bool = False) -> list[Owed]:
        """Bind what must be bound before anything is sent; return what may be sent now, in order."""
        uid = lane.destination.uid
        if await self._bind_digests(lane, unproven=unproven):
            lane = replace(lane, owed=await self._owed(uid))
            if await self._is_told(lane):  # a digest, too, may have been
                return []
        # A bundle behind other rows is bound when its turn comes.
        return [*takewhile(lambda one: not is_for_bundle(one.delivery), lane.owed)]

    async def _bind_digests(self, lane: Lane, *, unproven: bool) -> bool:
        """True: the queue is another one now."""
        destination, rules, is_bound = lane.destination, self.means.rules, False
        uid, epoch = destination.uid, destination.epoch
        told_until = 0 if self.doubt is None else self.doubt.told_until(uid)
        if not told_until and not may_bind(lane, now=self._clock.now(), rules=rules, unproven=unproven):
            return False
        while True:
            now = self._clock.now()
            due = await self._store.due_rows(uid, now=now)
            step = next_binding(destination, due, now=now, rules=rules, told_until=told_until, unproven=unproven)
            if step is None:
                return is_bound
            is_bound = True
            await self._store.bind_digest(uid, epoch=epoch, digest=step.digest, members=step.members)

    async def _owed(self, uid: DestinationUid) -> tuple[Owed, ...]:
        return tuple(await self._store.owed(uid, now=self._clock.now(), limit=LANE_ROWS))

    async def _deliver(self, lane: Lane, owed: Owed, queue: list[Owed]) -> bool:
        """Try the head; True: go on with the next one."""
        result = await self._attempt(lane.destination, owed)
        if isinstance(result, RetryAt) and result.plain:
            # At once, so that the plain form keeps the place of the rich one.
            await self._record(lane.destination, owed, result)
            owed = replace(owed, delivery=replace(owed.delivery, plain=True))
            result = await self._attempt(lane.destination, owed)
        now, rules = self._clock.now(), self.means.rules
        if queue and fails_alone(owed.delivery, lane.destination, result, now=now, rules=rules):
            return await self._try_next(lane, owed, result, queue)
        await self._record(lane.destination, owed, result)
        return isinstance(result, Sent | Dead) or (isinstance(result, RetryAt | Unknown) and result.alone)

    async def _try_next(self, lane: Lane, head: Owed, result: Settlement, queue: list[Owed]) -> bool:
        """R-20: after long failure of the head, the next one tells whether the destination or the head is unwell."""
        following = queue.pop(0)
        second = await self._attempt(lane.destination, following)
        passed = isinstance(second, Sent)
        if passed and isinstance(result, RetryAt | Unknown):
            result = replace(result, alone=True)
        await self._record(lane.destination, head, result)
        await self._record(lane.destination, following, second)
        return passed

    # --- one attempt --------------------------------------------------------------------------------------------------

    async def _attempt(self, destination: Destination, owed: Owed) -> Settlement:
        if owed.delivery.state is DeliveryState.UNKNOWN:
            return await self._look(destination, owed.delivery)
        delivery, begun = owed.delivery, False
        outcome: Receipt | NotifyError
        try:
            delivery, payload, skip = self._prepare(destination, owed)
            if skip is not None:
                return skip
            started = self._clock.monotonic()
            await self._store.begin(delivery, payload, epoch=destination.epoch, now=self._clock.now())
            begun = True
            if self._clock.monotonic() - started > LEASE.total_seconds() / 2:  # frozen meanwhile (C20)
                raise LeaseLost(f"{destination.uid} may be somebody else's by now")
            outcome = await self._send(destination, owed, payload)
        except StoreError:
            raise
        except NotifyError as error:
            outcome = error
        except Exception as error:  # The per-item guard: a fault in one message must not stop its lane for ever.
            log.exception("delivery failed by a fault of ours", extra={"delivery": delivery.idem})
            words = f"fault in feedbell: {type(error).__name__}"
            outcome = OutcomeUnknown(words) if begun else MessageRejected(words)
        now = self._clock.now()
        return settle(delivery, destination, outcome, now=now, roll=self._clock.roll(), rules=self.means.rules)

    def _prepare(self, destination: Destination, owed: Owed) -> tuple[Delivery, Payload, Settlement | None]:
        """Render; the third value settles a delivery for which there is nothing to send."""
        delivery = owed.delivery
        if delivery.kind is not DeliveryKind.NOTICE and not owed.entries:
            return delivery, {}, Dead(why="its entry is gone")
        message = self.means.render(owed)
        payload = self._notifier(destination.uid).to_payload(message, plain=delivery.plain)
        if delivery.kind is not DeliveryKind.EDIT:
            return replace(delivery, rendered_hash=payload_hash(payload)), payload, None
        original = owed.original
        if original is None or (original.remote_ref is None and not _is_program(destination)):
            return delivery, payload, Dead(why="what it would change was never sent")
        delivery = replace(delivery, rendered_hash=self._hash_now(destination, owed, original))
        if original.rendered_hash == delivery.rendered_hash:
            return delivery, payload, Sent(receipt=Receipt(remote_ref=original.remote_ref), how="unchanged")
        return delivery, payload, None

    def _hash_now(self, destination: Destination, owed: Owed, original: Delivery) -> str:
        """The hash of the message that the edit is about, with the entry's new words."""
        now = self.means.render(replace(owed, delivery=original, original=None))
        return payload_hash(self._notifier(destination.uid).to_payload(now, plain=original.plain))

    async def _send(self, destination: Destination, owed: Owed, payload: Payload) -> Receipt:
        notifier, original = self._notifier(destination.uid), owed.original
        if _is_in_place(owed.delivery) and original is not None and original.remote_ref is not None:
            return await notifier.edit(destination, payload, original.remote_ref)
        return await notifier.send(destination, payload, owed.delivery.idem)

    async def _look(self, destination: Destination, delivery: Delivery) -> Settlement:
        crash.point("rec.before_lookup")
        since = delivery.first_try_at or delivery.created_at
        found: Receipt | NotifyError | None
        try:
            # What is there may have the old words or the new ones; to change it once more hurts nobody.
            found = None if _is_in_place(delivery) else await self._find(destination, delivery, since)
        except NotifyError as error:
            found = error
        crash.point("rec.after_lookup")
        now = self._clock.now()
        return settle_look_up(delivery, destination, found, now=now, roll=self._clock.roll(), rules=self.means.rules)

    async def _find(self, destination: Destination, delivery: Delivery, since: datetime) -> Receipt | None:
        notifier = self._notifier(destination.uid)
        return await notifier.find(destination, delivery.payload or {}, delivery.idem, since)

    async def _record(self, destination: Destination, owed: Owed, result: Settlement) -> None:
        now = self._clock.now()
        notices = notices_of(result, owed.delivery, destination, now=now)
        looked = owed.delivery.state is DeliveryState.UNKNOWN
        crash.point("rec.before_commit" if looked else "send.before_record")
        await self._store.settle(owed.delivery, result, epoch=destination.epoch, now=now, notices=notices)
        crash.point("rec.after_commit" if looked else "send.after_record")
        for notice in notices:
            log.warning("notice", extra={"words": notice.words})
        self._observe(
            SendEvent(
                destination=destination.uid,
                kind=owed.delivery.kind,
                result=result,
                delay=now - owed.delivery.due_at,
                idem=owed.delivery.idem,
                looked=looked,
            )
        )

    def _configured(self, uid: DestinationUid) -> Notifier | None:
        return self.means.notifiers.get(uid.partition(":")[0])

    def _notifier(self, uid: DestinationUid) -> Notifier:
        notifier = self._configured(uid)
        if notifier is None:
            raise DestinationDown(f"{uid.partition(':')[0]} is not configured: its secret isn't set")
        return notifier


def _is_in_place(delivery: Delivery) -> bool:
    in_place = edit_form(delivery.destination, delivery.options.on_edit) is OnEdit.UPDATE
    return delivery.kind is DeliveryKind.EDIT and in_place


def _is_program(destination: Destination) -> bool:
    """Whether it answers with no reference to what it was sent, and is sent a correction all the same."""
    return service_of(destination.uid) == destination.uid
