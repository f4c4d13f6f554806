"""The bot as a process: `run` until it is told to stop."""

import asyncio
import ctypes
import gc
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

from bot.app.chats import chats_running
from bot.app.observing import Watch, secrets_of, start_logging
from bot.app.parts import Parts, built, opened
from bot.app.preparing import prepare
from bot.app.reloading import ConfigFile, Reloader
from bot.app.serving import web_running
from bot.app.ticking import ClockWatch, Rarely, Wakers, start_ticks, stop_on_signals
from bot.app.upkeep import keep_up
from bot.config.settings import Settings
from bot.core.errors import StoreUnavailable
from bot.core.model.feed import FeedId
from bot.fetch.names import look_up_aside
from bot.ports import Clock
from bot.services.mailbox import Mailbox, keeping
from bot.services.poking import Pokes
from bot.services.subscriptions import Subscriptions
from bot.services.websub import WebSub
from bot.telemetry.metrics import Metrics
from bot.telemetry.redaction import Redactor
from bot.version import VERSION
from bot.web.inbox import collect

log = logging.getLogger(__name__)

PAUSE = timedelta(seconds=1)  # after a failure of the store, before it is tried again
POLL_DRAIN = timedelta(seconds=2)
LOOPS_END = timedelta(seconds=1)  # after the first of them has ended; what they wait for in the store is shorter
UPKEEP = timedelta(minutes=10)
HUBS = timedelta(minutes=1)
M_ARENA_MAX = -8  # of glibc's mallopt
SWITCH = 0.0001  # seconds that a thread may compute while the loop has something to do


async def run(settings: Settings, clock: Clock, *, path: Path) -> int:
    """Run until SIGTERM; return the exit code. `path` is the configuration, which is read again when it changes."""
    share_memory()
    look_up_aside(asyncio.get_running_loop())
    redactor = start_logging(settings)
    wakers, stopping = Wakers(clock), asyncio.Event()
    stop_on_signals(stopping, wakers.wake)
    file = ConfigFile(path, clock, wakers.wake)
    watch, mailbox = Watch(clock, Metrics(VERSION)), Mailbox()
    async with (
        opened(settings, clock, exclusive=True) as store,
        built(
            settings,
            clock,
            store,
            observers=watch.observers,
            wake=wakers.wake,
            instead=partial(keeping, mailbox=mailbox, clock=clock),
        ) as parts,
    ):
        await prepare(parts)
        reloader = Reloader(
            parts,
            file,
            wake=wakers.wake,
            applied=partial(_take_over, redactor, watch.metrics),
            refused=partial(watch.metrics.reloaded, ok=False),
        )
        await _live(parts, watch, mailbox, wakers, stopping, reloader)
    return 0


async def _live(
    parts: Parts, watch: Watch, mailbox: Mailbox, wakers: Wakers, stopping: asyncio.Event, reloader: Reloader
) -> None:
    """Connect chats and web, tick, and serve until `stopping`."""
    store, clock = parts.store, parts.clock
    pokes, websub = Pokes(store, clock, wakers.wake, hurry=parts.intake.gate.hurry), _websub(parts)
    hubs = Rarely(clock, HUBS, websub.look)
    watch.on_new = partial(_is_new, pokes, hubs)
    subscriptions = Subscriptions(store, clock, key=await store.key())
    ticks = start_ticks(wakers.wake)
    settle_in()
    try:
        async with (
            chats_running(parts) as chats,
            web_running(
                parts,
                watch,
                address=parts.settings.http.address,
                poke=pokes.poke,
                unsubscribe=subscriptions.end,
                inbox=lambda: collect(mailbox.messages),
                websub=websub,
                chat_routes=chats.routes,
                chat=chats.why_down,
            ),
        ):
            await serve(parts, wakers, stopping, reloader.look, hubs.look, watch.tick, beside=watch.beat(parts))
    finally:
        ticks.shutdown(wait=False)
        await pokes.stop()


def _websub(parts: Parts) -> WebSub:
    websub = WebSub(
        store=parts.store,
        hub=parts.fetcher,
        clock=parts.clock,
        ingest=parts.intake.ingest,
        wake=parts.wake,
        public_url=lambda: parts.settings.http.public_url,
    )
    parts.intake.is_pushed = websub.is_pushed
    return websub


def share_memory() -> None:
    """Let all threads take memory from one heap, before they start: they take turns anyway, and each keeps what it had.

    Ten megabytes, after many polls.
    """
    with suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def settle_in() -> None:
    """Let the collector pass over what has been built by now, and look less often: polls make hardly any cycles.

    Threads give way sooner than they usually do: whoever types waits for the loop, which waits for the store's threads.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(2_000)
    sys.setswitchinterval(SWITCH)


async def serve(
    parts: Parts,
    wakers: Wakers,
    stopping: asyncio.Event,
    *more: Callable[[], Awaitable[None]],
    beside: Coroutine[None, None, None] | None = None,
) -> None:
    """Run the loops, and `beside` them whatever measures them, until `stopping`; then let sends come to their end."""
    loops = (
        parts.intake.poll_due,
        parts.outbox.send_due,
        Rarely(parts.clock, UPKEEP, partial(keep_up, parts)).look,
        ClockWatch(parts.clock, parts.store).look,
        *more,
    )
    running = [asyncio.create_task(wakers.loop(_patient(work, parts.clock), stopping)) for work in loops]
    others = [asyncio.create_task(beside)] if beside is not None else []
    log.info("running", extra={"feeds": len(parts.settings.feeds), "routes": len(parts.settings.routes)})
    try:
        await _ended(running)
    finally:
        for task in (*running, *others):
            task.cancel()
        drain = parts.settings.delivery.drain
        await asyncio.gather(parts.intake.stop(POLL_DRAIN), parts.outbox.stop(drain))
        await asyncio.gather(*running, *others, return_exceptions=True)
        log.info("stopped")


async def _ended(loops: Sequence[asyncio.Task[None]]) -> None:
    """Wait until the loops end as they are asked to, or one fails. Raises what that one raised.

    A loop that waits for somebody else, such as a hub, must not keep the sends from their time to end.
    """
    first, others = await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
    for loop in first:
        loop.result()
    if others:
        ended, _ = await asyncio.wait(others, timeout=LOOPS_END.total_seconds(), return_when=asyncio.FIRST_EXCEPTION)
        for loop in ended:
            loop.result()


def _patient(work: Callable[[], Awaitable[object]], clock: Clock) -> Callable[[], Awaitable[object]]:
    """While the store can't be reached nothing is polled or sent; the loop goes on when it is back (R-13)."""

    async def tried() -> None:
        try:
            await work()
        except StoreUnavailable as error:
            log.error("store unavailable", extra={"error": str(error)})
            await clock.sleep(PAUSE)

    return tried


def _is_new(pokes: Pokes, hubs: Rarely, feed_id: FeedId) -> None:
    """A poll brought something: a poke's patience may end, and a new feed's hub is known now."""
    pokes.found(feed_id)
    hubs.soon()


def _take_over(redactor: Redactor, metrics: Metrics, settings: Settings) -> None:
    redactor.know(secrets_of(settings))
    metrics.reloaded(ok=True)
