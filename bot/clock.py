"""The one door to the system's time and chance."""

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta


class SystemClock:
    """Implements ports.Clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def roll(self) -> float:
        return random.random()

    async def sleep(self, delay: timedelta) -> None:
        await asyncio.sleep(delay.total_seconds())

    async def wait(self, event: asyncio.Event, at_most: timedelta) -> bool:
        try:
            async with asyncio.timeout(at_most.total_seconds()):
                return await event.wait()
        except TimeoutError:
            return False
