"""Services without a service: what would be sent is kept for the inbox page."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.core.model.delivery import Destination, Probe, Receipt
from bot.core.model.message import Message, Payload
from bot.core.model.route import DestinationUid
from bot.ports import Clock, Notifier

KEPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One message as a service would have got it; `key` is the delivery's idem."""

    destination: DestinationUid
    key: str
    title: str
    payload: Payload
    at: datetime


class Mailbox:
    """The newest messages of all platforms, in the order of sending."""

    def __init__(self) -> None:
        self._kept: deque[Kept] = deque(maxlen=KEPT)
        self._titles: dict[str, str] = {}

    def name(self, message: Message) -> None:
        """Remember what a payload is about: it says so in each platform's own way."""
        self._titles[message.key] = message.cards[0].title if message.cards else message.heading or ""

    def keep(self, destination: DestinationUid, key: str, payload: Payload, at: datetime) -> None:
        title = self._titles.get(key, "")
        self._kept.append(Kept(destination=destination, key=key, title=title, payload=payload, at=at))

    def of(self, destination: DestinationUid) -> Sequence[Kept]:
        return [kept for kept in self._kept if kept.destination == destination]

    @property
    def messages(self) -> Sequence[Kept]:
        return tuple(self._kept)


class Local:
    """Implements ports.Notifier over the platform's own layout; only the console is really written to."""

    can_edit = False

    def __init__(self, notifier: Notifier, mailbox: Mailbox, clock: Clock, *, speaks: bool) -> None:
        self._notifier = notifier
        self._mailbox = mailbox
        self._clock = clock
        self._speaks = speaks

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        self._mailbox.name(message)
        return self._notifier.to_payload(message, plain=plain)

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        if self._speaks:
            await self._notifier.send(destination, payload, key)
        self._mailbox.keep(destination.uid, key, payload, self._clock.now())
        return Receipt(remote_ref=key)

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        found = any(kept.key == key for kept in self._mailbox.of(destination.uid))
        return Receipt(remote_ref=key) if found else None

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        return await self.send(destination, payload, remote_ref)

    async def probe(self, destination: Destination) -> Probe:
        return Probe(can_look_up=True)


def localised(notifiers: Mapping[str, Notifier], mailbox: Mailbox, clock: Clock) -> Mapping[str, Notifier]:
    """Every platform without its service."""
    return {
        scheme: Local(notifier, mailbox, clock, speaks=scheme == "console") for scheme, notifier in notifiers.items()
    }
