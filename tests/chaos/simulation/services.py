"""Simulated Slack, Discord, mail and webhooks: what they store, what they say, and when the two differ."""

import random
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.core.errors import (
    Deferred,
    DestinationDown,
    LookupImpossible,
    LookupUnavailable,
    MessageRejected,
    NotifyError,
    OutcomeUnknown,
    Scope,
)
from bot.core.model.delivery import Destination, Probe, Receipt
from bot.core.model.message import JsonValue, Message, Payload
from bot.ports import Payloads
from tests.chaos.simulation.calendar import Calendar
from tests.chaos.simulation.clock import VirtualClock, VirtualLoop
from tests.chaos.simulation.oracle import Arrival, Oracle
from tests.chaos.simulation.power import Power
from tests.chaos.simulation.publishing import serial_of

SCHEMES = ("slack", "discord", "email", "webhook")
CAN_LOOK = ("slack", "discord")
HANG_S = 30.0  # the bot's own limit for one request
NONCE_S = 180.0  # Discord: the same nonce again within "the past few minutes" is the same message
HISTORY_S = 10 * 86_400.0
RETRY_AFTER: Sequence[float | None] = (0.0, 0.25, 1.0, 30.0, 300.0, 3600.0, None)
STUCK_S = 3_600.0
REFUSALS: Mapping[str, Callable[[str], NotifyError]] = {
    "refused": Deferred,
    "rejected": MessageRejected,
    "archived": DestinationDown,
    "revoked": lambda why: DestinationDown(why, scope=Scope.ACCOUNT),
}
FLAKES = ("lost before", "lost after", "late", "429", "500", "500 stored", "refused")


@dataclass(slots=True)
class Stored:
    """A message as the service has it."""

    key: str
    ref: str
    visible_at: float  # in its history
    at: float


@dataclass(slots=True)
class Channel:
    """One destination at its service."""

    uid: str
    history: list[Stored] = field(default_factory=list)
    not_before: float = 0.0
    count: int = 0
    stuck: dict[int, float] = field(default_factory=dict)  # posts that it does not take before a time

    @property
    def scheme(self) -> str:
        return self.uid.partition(":")[0]

    def forget(self, now: float) -> None:
        if len(self.history) > 64 and self.history[0].at < now - HISTORY_S:
            self.history = [message for message in self.history if message.at >= now - HISTORY_S]


class Platforms:
    """All services. They outlive the bot, and what was sent to them late arrives even when it is dead."""

    def __init__(
        self,
        uids: list[str],
        *,
        loop: VirtualLoop,
        clock: VirtualClock,
        calendar: Calendar,
        oracle: Oracle,
        chance: random.Random,
        has_intent: Callable[[str], bool],
        retry_after: Sequence[float | None] = RETRY_AFTER,
    ) -> None:
        self.channels = {uid: Channel(uid) for uid in uids}
        self.loop = loop
        self.clock = clock
        self.calendar = calendar
        self.oracle = oracle
        self.chance = chance
        self.has_intent = has_intent
        self.retry_after = retry_after
        self.sends = 0
        self.faults = 0
        self.lookups = 0

    def notifiers(self, power: Power) -> Mapping[str, "SimNotifier"]:
        return {scheme: (SimHistory if scheme in CAN_LOOK else SimNotifier)(scheme, self, power) for scheme in SCHEMES}

    def forgive(self) -> None:
        """The wall clock was set: what had to wait may be due now."""
        for channel in self.channels.values():
            channel.not_before = 0.0

    # --- a message comes in

    def take(self, channel: Channel, payload: Payload, key: str, *, late: float = 0.0) -> Stored | None:
        """Store a message, now or `late` seconds from now."""
        if late:
            self.loop.call_later(late, self.take, channel, payload, key)
            return None
        now = self.loop.elapsed
        if channel.scheme == "discord":
            for message in reversed(channel.history):
                if message.key == key and now - message.at <= NONCE_S:
                    return message
        channel.count += 1
        lag = self.chance.choice((0.0, 0.0, 0.0, 2.0, 8.0))
        stored = Stored(key=key, ref=f"{channel.count}", visible_at=now + lag, at=now)
        channel.history.append(stored)
        channel.forget(now)
        self.oracle.arrived(channel.uid, arrival_of(payload, key), now=now)
        return stored

    def fault(self, channel: Channel, payload: Payload) -> str | None:
        """What strikes this request."""
        now = self.loop.elapsed
        kind = self.calendar.of_service(channel.uid, now)
        match kind:
            case "flaky":
                return self.chance.choice(FLAKES) if self.chance.random() < 0.3 else None
            case "storm":
                return "429"
            case "5xx":
                return self.chance.choice(("500", "500 stored"))
            case "blind":
                return self.chance.choice(("lost before", "lost after")) if self.chance.random() < 0.5 else None
            case None:
                return self._of_message(channel, payload, now)
        return kind

    def _of_message(self, channel: Channel, payload: Payload, now: float) -> str | None:
        """Some messages a service can't take for an hour, some not in this form, a few never."""
        serials = arrival_of(payload, "").serials
        for serial in serials if payload["kind"] == "entry" else ():
            fate = self.oracle.fate(channel.uid, serial)
            if fate == "never" or (fate == "plain only" and not payload["plain"]):
                return "rejected"
            if fate == "stuck" and now < channel.stuck.setdefault(serial, now + STUCK_S):
                return "refused"
        return None


def arrival_of(payload: Payload, key: str) -> Arrival:
    links = payload["links"]
    return Arrival(
        key=key,
        kind=str(payload["kind"]),
        serials=tuple(serial_of(str(link)) for link in links) if isinstance(links, list) else (),
        late=payload["late"] is True,
        words=str(payload["words"]),
    )


class SimNotifier:
    """Implements ports.Notifier for one life of the bot."""

    def __init__(self, scheme: str, platforms: Platforms, power: Power) -> None:
        self._scheme = scheme
        self._world = platforms
        self._power = power

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        cards = [*message.cards, *(card for section in message.sections for card in section.cards)]
        links: list[JsonValue] = [card.link for card in cards]
        return {
            "kind": message.kind.value,
            "links": links,
            "late": any(card.note == "delayed" for card in cards),
            "plain": plain,
            "words": cards[0].title if cards else str(message.blocks),
        }

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        world, channel = self._world, self._world.channels[destination.uid]
        await self._arrive(channel, key)
        fault = world.fault(channel, payload)
        if fault is not None:
            await self._fail(channel, payload, key, fault)
        stored = world.take(channel, payload, key)
        world.oracle.unsure(channel.uid, key)
        await self._power.moment("after a message was stored")
        world.oracle.sure(channel.uid, key, now=world.loop.elapsed)
        return Receipt(remote_ref=stored.ref if stored else None, remote_id=f"id of {destination.uid}")

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        world, channel = self._world, self._world.channels[destination.uid]
        await self._arrive(channel, None)
        fault = world.fault(channel, payload)
        if fault is not None and not fault.endswith(("stored", "after")):
            await self._fail(channel, payload, "", fault, stores=False)
        world.oracle.edited(channel.uid, arrival_of(payload, remote_ref))
        await self._power.moment("after an edit")
        if fault is not None:
            raise OutcomeUnknown("connection reset")
        return Receipt(remote_ref=remote_ref)

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        if self._scheme == "email":
            return None
        if self._scheme not in CAN_LOOK:
            raise LookupImpossible("webhooks have no history")
        return (await self._history(destination)).get(key)

    async def _history(self, destination: Destination) -> dict[str, Receipt]:
        """What one look shows, by key; of copies the first."""
        world, channel = self._world, self._world.channels[destination.uid]
        world.lookups += 1
        await self._power.moment("before a look-up")
        await world.clock.sleep(timedelta(seconds=world.chance.uniform(0.05, 0.5)))
        kind = world.calendar.of_service(channel.uid, world.loop.elapsed)
        if kind in ("archived", "revoked"):
            raise DestinationDown(kind, scope=Scope.ACCOUNT if kind == "revoked" else Scope.DESTINATION)
        if kind in ("blind", "refused", "hangs", "storm"):
            raise LookupUnavailable(f"the service is {kind}")
        now = world.loop.elapsed
        found = {each.key: Receipt(remote_ref=each.ref) for each in reversed(channel.history) if each.visible_at <= now}
        await self._power.moment("after a look-up")
        return found

    async def probe(self, destination: Destination) -> Probe:
        world = self._world
        await self._power.moment("before a probe")
        await world.clock.sleep(timedelta(seconds=0.2))
        if self._scheme == "webhook":
            return Probe()
        kind = world.calendar.of_service(destination.uid, world.loop.elapsed)
        if kind in ("archived", "revoked"):
            raise DestinationDown(kind)
        if kind == "refused":
            raise Deferred("connection refused")
        return Probe(remote_id=f"id of {destination.uid}", can_look_up=self._scheme in CAN_LOOK)

    async def _arrive(self, channel: Channel, key: str | None) -> None:
        """What is true of every request that would write."""
        world = self._world
        await self._power.moment("before a request")
        if world.loop.elapsed < channel.not_before - 0.001:
            world.oracle.complain(f"{channel.uid}: sent {channel.not_before - world.loop.elapsed:.3f} s too early")
        if key is not None and not world.has_intent(key):
            world.oracle.complain(f"{channel.uid}: sent without a committed intent")
        world.sends += 1
        await world.clock.sleep(timedelta(seconds=world.chance.uniform(0.05, 0.6)))
        self._power.alive()

    async def _fail(self, channel: Channel, payload: Payload, key: str, fault: str, *, stores: bool = True) -> None:
        """Do whatever this fault does, then raise what a notifier would make of it."""
        world = self._world
        world.faults += 1
        if stores:
            world.oracle.unsure(channel.uid, key)
        if fault == "429":
            raise self._throttled(channel)
        refusal = REFUSALS.get(fault)
        if refusal is not None:
            raise refusal(fault)
        if stores:
            self._store_perhaps(channel, payload, key, fault)
        if fault == "hangs":
            await world.clock.sleep(timedelta(seconds=HANG_S))
        await self._power.moment(f"after {fault}")
        raise OutcomeUnknown(fault)

    def _store_perhaps(self, channel: Channel, payload: Payload, key: str, fault: str) -> None:
        world = self._world
        if fault == "late":
            world.take(channel, payload, key, late=world.chance.uniform(1, 30))
        elif fault in ("lost after", "500 stored") or (fault == "hangs" and world.chance.random() < 0.5):
            world.take(channel, payload, key)

    def _throttled(self, channel: Channel) -> Deferred:
        seconds = self._world.chance.choice(self._world.retry_after)
        if seconds is None:
            return Deferred("rate limited", throttled=True)
        channel.not_before = self._world.loop.elapsed + seconds
        return Deferred("rate limited", retry_after=timedelta(seconds=seconds), throttled=True)


class SimHistory(SimNotifier):
    """Implements ports.History besides: a channel that can be read."""

    async def told(
        self, destination: Destination, keys: Set[str], payloads: Payloads, since: datetime
    ) -> Mapping[str, Receipt]:
        found = await self._history(destination)
        return {key: found[key] for key in keys if key in found}
