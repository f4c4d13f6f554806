"""An event loop in which nothing ever waits: while all sleep, time jumps to the next who wakes."""

import asyncio
import random
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple

from bot.clock import SystemClock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

START = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)


class Stuck(RuntimeError):
    """Everything waits, and nothing will ever wake it."""


class _Jumping(selectors.DefaultSelector):
    """Asked to wait, it moves the clock instead; but it does wait for what real threads have in hand."""

    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return super().select(0) if self.loop.outside else []
        if self.loop.outside:
            return super().select(None)
        self.loop.jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Timers fire in the order of their times, and at once.

    `ticks` stands for whoever ticks each second: it says when a tick would find something to do (None: no time soon),
    and `on_tick` is called then, so that a night without work costs nothing.
    """

    def __init__(self) -> None:
        self.elapsed = 0.0
        self.outside = 0  # works that real threads will bring back
        self.ticks: Callable[[], float | None] = lambda: None
        self.on_tick: Callable[[], None] = lambda: None
        selector = _Jumping()
        selector.loop = self
        super().__init__(selector)
        self._clock_resolution = 1e-6  # a year in seconds leaves a float no more than that

    def time(self) -> float:
        return self.elapsed

    def jump(self, timeout: float | None) -> None:
        tick = self.ticks()
        target = None if timeout is None else self.elapsed + timeout
        if tick is not None and (target is None or tick < target):
            self.elapsed = max(tick, self.elapsed)
            self.on_tick()
        elif target is not None:
            self.elapsed = target
        else:
            raise Stuck("everything waits, and nothing will ever wake it")

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """What is given to a thread comes back before time moves on; what any thread may do is done at once."""
        if executor is None:
            return self._done_at_once(func, *args)
        future = super().run_in_executor(executor, func, *args)
        self.outside += 1
        future.add_done_callback(self._came_back)
        return future

    def _done_at_once(self, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - it belongs to whoever asked, as in any executor
            future.set_exception(error)
        return future

    def _came_back(self, _: "asyncio.Future[Any]") -> None:
        self.outside -= 1


class VirtualClock(SystemClock):
    """Implements ports.Clock on a VirtualLoop; `shift` is how far the machine's wall clock is wrong."""

    def __init__(self, loop: VirtualLoop, *, seed: object = 0, start: datetime = START) -> None:
        self._loop = loop
        self._start = start
        self._chance = random.Random(f"clock {seed}")
        self.started_ms = start.timestamp() * 1000
        self.shift = timedelta(0)
        self.idle = 1  # how many times longer than asked a loop sleeps that nobody wakes: a stricter test, and faster

    def now(self) -> datetime:
        return self._start + self.shift + timedelta(seconds=self._loop.elapsed)

    def monotonic(self) -> float:
        return self._loop.elapsed

    def roll(self) -> float:
        return self._chance.random()

    async def wait(self, event: asyncio.Event, at_most: timedelta) -> bool:
        return await super().wait(event, at_most * self.idle)


def run_virtually(work: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    """Run `work` to its end in a loop of its own."""
    loops: list[VirtualLoop] = []

    def make() -> VirtualLoop:
        loops.append(VirtualLoop())
        return loops[0]

    with asyncio.Runner(loop_factory=make) as runner:
        runner.get_loop()
        return runner.run(work(loops[0]))
