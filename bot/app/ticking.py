"""What wakes the loops: a tick a second, and an event between ticks."""

import asyncio
import logging
import math
import signal
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Protocol

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from bot.ports import Clock

TICK = timedelta(seconds=1)
IDLE = timedelta(minutes=1)  # a loop that nobody wakes looks by itself
SET = 60.0  # seconds by which a clock does not move by itself

log = logging.getLogger(__name__)


class SetRight(Protocol):
    async def set_right(self, *, now: datetime) -> None:
        """No time that a wrong clock gave keeps anything waiting."""


class Wakers:
    """The events of the loops; `wake` sets them all, and a tick is nothing but that."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._events: list[asyncio.Event] = []

    def wake(self) -> None:
        for event in self._events:
            event.set()

    async def loop(self, work: Callable[[], Awaitable[object]], stopping: asyncio.Event) -> None:
        """Call `work` now and at each wake-up until `stopping`."""
        event = asyncio.Event()
        self._events.append(event)
        while not stopping.is_set():
            event.clear()
            await work()
            if not stopping.is_set():
                await self._clock.wait(event, IDLE)


class Rarely:
    """Work for which most wake-ups are too early: the first does it, then one in each `every`."""

    def __init__(self, clock: Clock, every: timedelta, work: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._every = every
        self._work = work
        self._next_at = -math.inf

    def soon(self) -> None:
        """The next wake-up is not too early."""
        self._next_at = -math.inf

    async def look(self) -> None:
        now = self._clock.monotonic()
        if now >= self._next_at:
            self._next_at = now + self._every.total_seconds()
            await self._work()


class ClockWatch:
    """Notices that somebody set the machine's clock, by its distance to the one that nobody can set."""

    def __init__(self, clock: Clock, store: SetRight) -> None:
        self._clock = clock
        self._store = store
        self._ahead = self._now_ahead()

    async def look(self) -> None:
        ahead = self._now_ahead()
        if abs(ahead - self._ahead) >= SET:
            log.warning("the clock was set", extra={"by_seconds": round(ahead - self._ahead)})
            await self._store.set_right(now=self._clock.now())
            self._ahead = ahead

    def _now_ahead(self) -> float:
        return self._clock.now().timestamp() - self._clock.monotonic()


def start_ticks(wake: Callable[[], None]) -> AsyncIOScheduler:
    """Start APScheduler, which only ever wakes us: what is due stands in the store.

    Its default grace of a second would drop a late run, and runs that pile up are one.
    """

    async def tick() -> None:
        """A coroutine, for APScheduler runs plain functions in a thread, where events may not be set."""
        wake()

    scheduler = AsyncIOScheduler(timezone="UTC")
    scheduler.add_job(
        tick, "interval", seconds=TICK.total_seconds(), coalesce=True, max_instances=1, misfire_grace_time=None
    )
    scheduler.start()
    return scheduler


def stop_on_signals(stopping: asyncio.Event, wake: Callable[[], None]) -> None:
    """The first SIGTERM or SIGINT asks for a stop, the second is one (R-22)."""
    loop = asyncio.get_running_loop()

    def ask(number: signal.Signals) -> None:
        if stopping.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        stopping.set()
        wake()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask, number)
