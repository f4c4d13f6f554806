"""The bot as a process: `run` until it is told to stop, and one round for `once`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from bot.app.parts import Observers, Parts, built, opened
from bot.app.preparing import prepare
from bot.app.reloading import Reloader, reload_on_sighup
from bot.app.ticking import Wakers, start_ticks, stop_on_signals
from bot.config.settings import Settings
from bot.core.errors import StoreUnavailable
from bot.ports import Clock
from bot.services.intake import PollEvent
from bot.services.outbox import SendEvent
from bot.store.status import DestinationRow

log = logging.getLogger(__name__)

PAUSE = timedelta(seconds=1)  # after a failure of the store, before it is tried again
POLL_DRAIN = timedelta(seconds=2)
UPKEEP = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What `once` did, and how things stand after it."""

    polls: Sequence[PollEvent]
    sends: Sequence[SendEvent]
    waiting: int
    destinations: Sequence[DestinationRow]


async def run_once(settings: Settings, clock: Clock) -> Round:
    """Poll every feed, deliver all that is due (small print 2)."""
    sends: list[SendEvent] = []
    observers = Observers(polled=_log_poll, sent=sends.append)
    async with (
        opened(settings, clock, exclusive=True) as store,
        built(settings, clock, store, observers=observers, wake=_nothing) as parts,
    ):
        await prepare(parts)
        polls = await parts.intake.poll_all()
        await parts.outbox.drain()
        waiting = await store.waiting(now=clock.now())
        return Round(polls=polls, sends=sends, waiting=waiting, destinations=await store.destination_rows())


async def run(settings: Settings, clock: Clock, *, path: Path) -> int:
    """Run until SIGTERM; return the exit code. `path` is the configuration, which is read again when it changes."""
    wakers = Wakers(clock)
    stopping = asyncio.Event()
    stop_on_signals(stopping, wakers.wake)
    observers = Observers(polled=_log_poll, sent=_log_send)
    async with (
        opened(settings, clock, exclusive=True) as store,
        built(settings, clock, store, observers=observers, wake=wakers.wake) as parts,
    ):
        await prepare(parts)
        ticks = start_ticks(wakers.wake)
        reloader = Reloader(parts, path, wake=wakers.wake, applied=_nothing)
        reload_on_sighup(reloader)
        try:
            await serve(parts, wakers, stopping, reloader.look)
        finally:
            ticks.shutdown(wait=False)
    return 0


async def serve(parts: Parts, wakers: Wakers, stopping: asyncio.Event, *more: Callable[[], Awaitable[None]]) -> None:
    """Run the loops until `stopping`, then let what is being sent come to its end (R-22)."""
    loops = (parts.intake.poll_due, parts.outbox.send_due, Upkeep(parts).look, *more)
    running = [asyncio.create_task(wakers.loop(_patient(work, parts.clock), stopping)) for work in loops]
    log.info("running", extra={"feeds": len(parts.settings.feeds), "routes": len(parts.settings.routes)})
    try:
        await asyncio.gather(*running)
    finally:
        for task in running:
            task.cancel()
        drain = parts.settings.delivery.drain
        await asyncio.gather(parts.intake.stop(POLL_DRAIN), parts.outbox.stop(drain))
        log.info("stopped")


class Upkeep:
    """Housekeeping: what nobody waits for, every ten minutes."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._next_at: datetime | None = None

    async def look(self) -> None:
        now, store = self._parts.clock.now(), self._parts.store
        if self._next_at is not None and now < self._next_at:
            return
        self._next_at = now + UPKEEP
        rules = self._parts.settings.delivery
        died = await store.kill_old(now=now, keep=rules.park_keep, max_rows=rules.park_keep_rows)
        for uid, count in died.items():
            log.warning("gave up what a destination did not take", extra={"destination": uid, "count": count})
        await store.prune(now=now)


def _patient(work: Callable[[], Awaitable[object]], clock: Clock) -> Callable[[], Awaitable[object]]:
    """While the store can't be reached nothing is polled or sent; the loop goes on when it is back (R-13)."""

    async def tried() -> None:
        try:
            await work()
        except StoreUnavailable as error:
            log.error("store unavailable", extra={"error": str(error)})
            await clock.sleep(PAUSE)

    return tried


def _log_poll(event: PollEvent) -> None:
    if event.error is not None:
        log.warning("feed not read", extra={"feed": event.feed, "error": event.error})
    elif event.new:
        log.info("feed polled", extra={"feed": event.feed, "new": event.new, "owed": event.owed})


def _log_send(event: SendEvent) -> None:
    outcome = type(event.result).__name__.lower()
    level = logging.INFO if outcome == "sent" else logging.WARNING
    why = getattr(event.result, "why", None) or getattr(event.result, "reason", None)
    log.log(level, "delivery", extra={"destination": event.destination, "outcome": outcome, "why": why})


def _nothing(*_: object) -> None:
    """`once` has no loop to wake."""
