"""Platforms without their services: payloads are made as for the real ones, and taken by nobody."""

from datetime import datetime

from bot.core.model.delivery import Destination, Probe, Receipt
from bot.core.model.message import Message, Payload
from bot.ports import Notifier


class Nowhere:
    """Implements ports.Notifier with the layout of another one."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        return self._notifier.to_payload(message, plain=plain)

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        return Receipt(remote_ref=key)

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        return None

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        return Receipt(remote_ref=remote_ref)

    async def probe(self, destination: Destination) -> Probe:
        return Probe()
