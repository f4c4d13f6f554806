"""What the process knows of itself."""

import asyncio
import gc
from typing import Any

from bot.app.observing import Watch
from bot.core.errors import StoreUnavailable
from bot.telemetry.metrics import Metrics
from tests.chat_room import RoomClock


class Away:
    """A store that can't be reached; it is the store of these parts too."""

    asked = 0

    @property
    def store(self) -> "Away":
        return self

    async def ping(self) -> None:
        self.asked += 1
        raise StoreUnavailable("the server is away")


async def test_a_store_that_is_away_is_no_fault_of_the_watch_and_no_writer_that_stands_still() -> None:
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))
    clock, parts = RoomClock(), Away()
    watch = Watch(clock, Metrics("1"))
    beating = asyncio.create_task(watch.beat(parts))  # type: ignore[arg-type]  # no more of them is needed
    while parts.asked < 3:
        await asyncio.sleep(0)
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    gc.collect()
    assert faults == []
    assert watch.write_blocked.total_seconds() == 0
