"""One life of the bot: the real services, store and loops between a start and its end, by whatever cause."""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.app.parts import Parts, delivery_rules
from bot.app.preparing import prepare
from bot.app.running import serve
from bot.app.ticking import Wakers
from bot.config.settings import Settings
from bot.core.render import render_owed
from bot.ports import Clock, Fetcher, Notifier, Parser
from bot.services.events import PollEvent, SendEvent
from bot.services.hosts import HostGate
from bot.services.intake import Intake
from bot.services.means import Means
from bot.services.outbox import Outbox
from bot.services.pacing import Pace, Pacer
from bot.services.routing import Routing
from bot.store.database import Connection, Database
from bot.store.sqlite import SqliteConnection
from bot.store.sqlite_file import Opened, open_sqlite
from bot.store.store import Store
from bot.store.upkeep import KEYS_KEPT
from tests.chaos.simulation.clock import VirtualClock, VirtualLoop
from tests.chaos.simulation.database import InlineDatabase, WatchedDatabase
from tests.chaos.simulation.power import Power

MINUTE_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a life is put into: the outside world as the ports see it."""

    settings: Settings
    state: Path
    loop: VirtualLoop
    clock: VirtualClock
    fetcher: Callable[[Power], Fetcher]
    parser: Parser
    notifiers: Callable[[Power], Mapping[str, Notifier]]
    polled: Callable[[PollEvent], None] = lambda event: None
    sent: Callable[[SendEvent], None] = lambda event: None
    threads: bool = False
    prune_each: int = 1
    outbox: type[Outbox] = Outbox


class QuietStore(Store):
    """Prunes at each n-th asking only: a year of them is longer than the rest of the simulation."""

    prune_each = 1
    asked = 0

    async def prune(self, *, now: datetime, keep_keys: int = KEYS_KEPT) -> int:
        self.asked += 1
        return 0 if self.asked % self.prune_each else await super().prune(now=now, keep_keys=keep_keys)


class Assembled(Parts):
    """The parts, introduced to each other as in the real process, over other ends."""

    def __init__(self, around: Surroundings, store: Store, power: Power, wake: Callable[[], None]) -> None:
        settings, clock = around.settings, around.clock
        self.settings = settings
        self.clock: Clock = clock
        self.store = store
        self.wake = wake
        self.routing = Routing(store, settings.to_routes())
        self.intake = Intake(
            store=store,
            fetcher=around.fetcher(power),
            parser=around.parser,
            clock=clock,
            gate=HostGate(clock, gap=settings.polling.host_gap),
            routes=self.routing.all_routes,
            observe=around.polled,
            wake=wake,
            polls=settings.polling.concurrency,
            max_new_single=settings.delivery.max_new_single,
        )
        self.outbox = around.outbox(
            store=store,
            clock=clock,
            means=means_of(settings, clock, around.notifiers(power)),
            observe=around.sent,
            lanes=settings.delivery.concurrency,
            lanes_per_service=settings.delivery.per_service,
        )


def means_of(settings: Settings, clock: Clock, notifiers: Mapping[str, Notifier]) -> Means:
    gap = settings.delivery.channel_gap
    minute = settings.delivery.slack_per_minute
    return Means(
        notifiers=notifiers,
        render=lambda owed: render_owed(owed, timezone=ZoneInfo(owed.delivery.options.timezone)),
        rules=delivery_rules(settings.delivery),
        pacer=Pacer(
            clock,
            destinations={"slack": Pace(every=gap, burst=3)},
            services={"slack": Pace(every=gap * MINUTE_S / minute, burst=20)} if minute else {},
        ),
    )


class Life:
    """`run` returns when the bot was stopped or its power was cut; nothing of it is left behind then."""

    def __init__(self, around: Surroundings, *, chance: random.Random | None = None) -> None:
        self.around = around
        self.power = Power(chance)
        self.stopping = asyncio.Event()
        self._wakers = Wakers(around.clock)
        self._opened: Opened | None = None
        self._database: Database | None = None
        self._looked = (-1, 0.0)
        self._due: float | None = None
        self._ticker: SqliteConnection | None = None

    async def run(self) -> None:
        serving = asyncio.ensure_future(self._serve())
        cut = asyncio.ensure_future(self.power.off.wait())
        await asyncio.wait((serving, cut), return_when=asyncio.FIRST_COMPLETED)
        cut.cancel()
        self.around.loop.ticks = lambda: None
        self.around.loop.on_tick = lambda: None
        await bury(asyncio.current_task())
        if self._ticker is not None:
            self._ticker.close()
        failed = None if serving.cancelled() else serving.exception()
        if self.power.off.is_set() or failed is not None:
            await self._abandon()
        if failed is not None and not self.power.off.is_set():
            raise failed

    def stop(self) -> None:
        """As by SIGTERM."""
        self.stopping.set()
        self._wakers.wake()

    async def _serve(self) -> None:
        around = self.around
        self._opened = open_sqlite(around.state, exclusive=True)
        store = QuietStore(
            self._database_of(self._opened),
            self._opened,
            ops=around.settings.ops_uid,
            grace=around.settings.delivery.grace,
        )
        store.prune_each = around.prune_each
        parts = Assembled(around, store, self.power, self._wakers.wake)
        await prepare(parts)
        around.loop.ticks = self._next_tick
        around.loop.on_tick = self._wakers.wake
        await serve(parts, self._wakers, self.stopping)
        await store.close(now=around.clock.now())

    def _database_of(self, opened: Opened) -> Database:
        if self.around.threads:
            self._database = WatchedDatabase(opened.engine, self.around.loop)
        else:
            self._database = InlineDatabase(opened.engine, self.power)
        return self._database

    def _next_tick(self) -> float | None:
        """The full second at which the bot's tick would find something due."""
        clock, now = self.around.clock, self.around.loop.elapsed
        shift = clock.shift.total_seconds()
        writes = self._database.writes if isinstance(self._database, InlineDatabase) else -2
        if (writes, shift) != self._looked or writes == -2:
            self._looked = (writes, shift)
            self._due = self._next_due()
        if self._due is None:
            return None
        return float(int(max(now, self._due)) + 1)

    def _next_due(self) -> float | None:
        rows = [self._asking().row(f"SELECT MIN(due_at) AS at FROM {name}") for name in ("feed", "destination")]
        times = [int(row["at"]) for row in rows if row is not None and row["at"] is not None]
        clock = self.around.clock
        return (min(times) - clock.started_ms) / 1000 - clock.shift.total_seconds() if times else None

    def _asking(self) -> Connection:
        if isinstance(self._database, InlineDatabase):
            return self._database.connection
        if self._ticker is None:
            self._ticker = SqliteConnection(self.around.state, readonly=True)
        return self._ticker

    async def _abandon(self) -> None:
        """What the kernel does for a process that was killed: its files are closed, its lock is free."""
        if self._database is not None:
            await self._database.close()
        if self._opened is not None and self._opened.lock is not None:
            self._opened.lock.release()


async def bury(but: "asyncio.Task[object] | None") -> None:
    """Cancel everybody else until nobody is left."""
    while others := [task for task in asyncio.all_tasks() if task is not but]:
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
