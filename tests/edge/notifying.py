"""What the tests of notifiers share: a clock that is moved by hand, and destinations."""

import asyncio
from datetime import UTC, datetime, timedelta

from bot.core.model.delivery import Destination
from bot.core.model.route import DestinationUid


class HandClock:
    """Implements ports.Clock: sleeping moves it at once."""

    def __init__(self, start: datetime | None = None) -> None:
        self.at = start or datetime.now(UTC)
        self.slept: list[timedelta] = []

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def roll(self) -> float:
        return 0.5

    def move(self, **span: float) -> None:
        self.at += timedelta(**span)

    async def sleep(self, delay: timedelta) -> None:
        self.slept.append(delay)
        self.at += delay
        await asyncio.sleep(0)

    async def wait(self, event: asyncio.Event, at_most: timedelta) -> bool:
        if not event.is_set():
            await self.sleep(at_most)
        return event.is_set()


def to(uid: str, remote_id: str | None = None, parked: str | None = None) -> Destination:
    return Destination(uid=DestinationUid(uid), remote_id=remote_id, parked=parked)
