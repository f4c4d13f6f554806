"""Keeps what was sent, for the inbox page: each message as its platform got it."""

from collections import deque
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from bot.core.errors import LookupImpossible
from bot.core.model.delivery import Destination, Probe, Receipt
from bot.core.model.message import Message, Payload
from bot.core.model.route import DestinationUid
from bot.ports import Clock, History, Notifier, Payloads

KEPT = 200  # messages; a page shows fewer
NAMED = 1_000  # titles remembered between rendering and sending


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One message; `key` is the delivery's idem, an edit comes under the key of what it changes."""

    destination: DestinationUid
    key: str
    title: str
    payload: Payload
    at: datetime


class Mailbox:
    """The newest messages of all platforms, in the order of sending; kept in memory alone."""

    def __init__(self) -> None:
        self._kept: deque[Kept] = deque(maxlen=KEPT)
        self._titles: dict[str, str] = {}

    def name(self, message: Message) -> None:
        """Remember what a payload is about: each platform says it in its own way."""
        self._titles[message.key] = message.cards[0].title if message.cards else message.heading or "Notice"
        if len(self._titles) > NAMED:
            del self._titles[next(iter(self._titles))]

    def keep(self, destination: DestinationUid, key: str, payload: Payload, at: datetime) -> None:
        title = self._titles.get(key, "")
        self._kept.append(Kept(destination=destination, key=key, title=title, payload=payload, at=at))

    def of(self, destination: DestinationUid) -> Sequence[Kept]:
        return [kept for kept in self._kept if kept.destination == destination]

    @property
    def messages(self) -> Sequence[Kept]:
        return tuple(self._kept)


class Keeping:
    """Implements ports.Notifier by another one, and keeps what that one sent."""

    def __init__(self, notifier: Notifier, mailbox: Mailbox, clock: Clock) -> None:
        self._notifier = notifier
        self._mailbox = mailbox
        self._clock = clock

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        self._mailbox.name(message)
        return self._notifier.to_payload(message, plain=plain)

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        receipt = await self._notifier.send(destination, payload, key)
        self._mailbox.keep(destination.uid, key, payload, self._clock.now())
        return receipt

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        return await self._notifier.find(destination, payload, key, since)

    async def told(
        self, destination: Destination, keys: Set[str], payloads: Payloads, since: datetime
    ) -> Mapping[str, Receipt]:
        """Implements ports.History, as far as the other one does."""
        if not isinstance(self._notifier, History):
            raise LookupImpossible("it has no history")
        return await self._notifier.told(destination, keys, payloads, since)

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        return await self._notifier.edit(destination, payload, remote_ref)

    async def probe(self, destination: Destination) -> Probe:
        return await self._notifier.probe(destination)


def keeping(notifiers: Mapping[str, Notifier], mailbox: Mailbox, clock: Clock) -> Mapping[str, Notifier]:
    return {scheme: Keeping(notifier, mailbox, clock) for scheme, notifier in notifiers.items()}
