"""Intake and outbox over a real SQLite store, in virtual time: what a test publishes comes out at the fakes."""

import asyncio
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.core.model.feed import Feed, FeedId
from bot.core.model.route import DestinationUid, Route
from bot.core.render import render_owed
from bot.core.settle import DeliveryRules
from bot.services.events import PollEvent, SendEvent
from bot.services.hosts import HostGate
from bot.services.intake import Intake
from bot.services.means import Means
from bot.services.outbox import Outbox
from bot.services.pacing import Pacer
from bot.store.sqlite import SqliteConnection
from bot.store.sqlite_file import open_sqlite
from bot.store.store import Store
from tests.chaos.simulation.clock import VirtualLoop, run_virtually
from tests.chaos.simulation.database import WatchedDatabase
from tests.services.fakes import FakeClock, FakeFetcher, FakeNotifier, FakeParser, Page

X = DestinationUid("slack:#x")
Y = DestinationUid("discord:1")
OPS = DestinationUid("webhook:ops")
MINUTE = 60.0
HOUR = 60 * MINUTE
MEMORY = Path("/dev/shm")  # where a commit does not wait for a disk


class Flow:
    """One bot without its process. `run` lets time pass, with a tick each second as the process has it."""

    def __init__(self, loop: VirtualLoop, folder: Path) -> None:
        self.loop = loop
        self.clock = FakeClock(loop)
        self.fetcher = FakeFetcher(self.clock)
        self.slack = FakeNotifier("slack", self.clock)
        self.discord = FakeNotifier("discord", self.clock)
        self.ops = FakeNotifier("webhook", self.clock)
        self.rules = DeliveryRules()
        self.routes: list[Route] = [Route(name="routes[0]", to=(X,))]
        self.polls: list[PollEvent] = []
        self.sends: list[SendEvent] = []
        self.feeds: dict[str, Feed] = {}
        self.woken = asyncio.Event()
        self.on_poll: Callable[[PollEvent], None] = lambda event: None
        opened = open_sqlite(folder / "bell.db", exclusive=True)
        self._path = folder / "bell.db"
        self._reader = SqliteConnection(self._path, readonly=True)
        self._database = WatchedDatabase(opened.engine, loop)
        self.store = Store(self._database, opened, ops=OPS)
        self.gate = HostGate(self.clock, gap=timedelta(seconds=1))
        self.intake = Intake(
            store=self.store,
            fetcher=self.fetcher,
            parser=FakeParser(),
            clock=self.clock,
            gate=self.gate,
            routes=self._all_routes,
            observe=self._polled,
            wake=self.woken.set,
        )
        self.outbox = Outbox(store=self.store, clock=self.clock, means=self._means(), observe=self.sends.append)

    def _polled(self, event: PollEvent) -> None:
        self.polls.append(event)
        self.on_poll(event)

    async def _all_routes(self) -> Sequence[Route]:
        return self.routes

    def _means(self) -> Means:
        return Means(
            notifiers={"slack": self.slack, "discord": self.discord, "webhook": self.ops},
            render=lambda owed: render_owed(owed, timezone=ZoneInfo("UTC")),
            rules=self.rules,
            pacer=Pacer(self.clock, destinations={}, services={}),
        )

    async def go_by(self, rules: DeliveryRules) -> None:
        self.rules = rules
        self.outbox.means = self._means()

    # --- what happens outside

    async def follow(self, name: str = "blog", *titles: str, **changes: object) -> Page:
        """Configure a feed that lists these now, and poll it once: they are told to nobody."""
        url = str(changes.pop("url", f"https://{name}.example/feed"))
        self.feeds[name] = Feed(id=FeedId(name), url=url, **changes)  # type: ignore[arg-type]
        page = self.fetcher.pages[url] = Page(titles=list(titles or ("old 1",)))
        await self.store.sync_feeds(list(self.feeds.values()), now=self.clock.now())
        uids = dict.fromkeys([OPS, *(uid for route in self.routes for uid in route.to)])
        await self.store.sync_destinations(list(uids), now=self.clock.now())
        await self.poll()
        return page

    async def publish(self, page: Page, *titles: str) -> None:
        """New titles, oldest first, at the top of the page; the feed is polled at once."""
        page.titles[:0] = reversed(titles)
        await self.poll_now()

    def steal_lane(self, uid: DestinationUid) -> None:
        """Another replica takes a destination over, and dies two minutes later."""
        until = int((self.clock.now() + timedelta(minutes=2)).timestamp() * 1000)
        with closing(sqlite3.connect(self._path)) as raw, raw:
            raw.execute(
                "UPDATE destination SET owner = 'other', epoch = epoch + 1, lease_until = ?, due_at = ? WHERE uid = ?",
                (until, until, uid),
            )

    def steal_feed(self, name: str) -> None:
        """Another replica takes a feed over, and dies two minutes later."""
        until = int((self.clock.now() + timedelta(minutes=2)).timestamp() * 1000)
        with closing(sqlite3.connect(self._path)) as raw, raw:
            raw.execute(
                "UPDATE feed SET owner = 'other', epoch = epoch + 1, lease_until = ?, due_at = ? WHERE id = ?",
                (until, until, name),
            )

    def break_store(self, *works: str) -> None:
        self._database.broken = {*works, "release"}

    def mend_store(self) -> None:
        self._database.broken = set()

    # --- what the bot does

    async def poll_now(self) -> None:
        for name in self.feeds:
            await self.store.poke(FeedId(name), now=self.clock.now())
        await self.poll()

    async def poll(self) -> None:
        await self.intake.poll_due()
        while others := [task for task in asyncio.all_tasks() if task.get_name().startswith("poll ")]:
            await asyncio.wait(others)

    async def run(self, seconds: float, *, polling: bool = False) -> None:
        """Let time pass, with the process's tick each second; seconds in which nothing is due are passed over."""
        until = self.loop.elapsed + seconds
        while until - self.loop.elapsed > 0.001:
            if polling:
                await self.intake.poll_due()
            await self.outbox.send_due()
            at = max(
                self.loop.elapsed, self.loop.elapsed if self._is_busy() else self._next_due(until, polling=polling)
            )
            self.woken.clear()
            await self.clock.wait(
                self.woken, timedelta(seconds=min(until, float(int(at + 0.001) + 1)) - self.loop.elapsed)
            )

    def _next_due(self, until: float, *, polling: bool) -> float:
        times = [
            int(row["at"])
            for table in ("destination", "feed")[: 1 + polling]
            if (row := self._reader.row(f"SELECT MIN(due_at) AS at FROM {table}")) is not None and row["at"] is not None
        ]
        return (min(times) - self.clock.started_ms) / 1000 if times else until

    def _is_busy(self) -> bool:
        return any(task.get_name().startswith(("lane ", "poll ")) for task in asyncio.all_tasks())

    async def close(self) -> None:
        await self.outbox.stop(timedelta(0))
        await self.intake.stop(timedelta(0))
        self._reader.close()
        await self.store.close(now=self.clock.now())

    async def states(self, title: str) -> dict[str, str]:
        """How the deliveries of an entry stand, by destination."""
        entry = await self.store.entry(title)
        assert entry is not None, title
        return {each.destination: each.state.value for each, _ in await self.store.deliveries_of(entry.id)}


def flows(test: Callable[[Flow], Awaitable[None]]) -> Callable[[Path], None]:
    """Make an ordinary test of one that wants a Flow: it runs in virtual time, over a state of its own."""

    def run(tmp_path: Path) -> None:
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else tmp_path) as folder:
            run_virtually(lambda loop: _through(test, Flow(loop, Path(folder))))

    run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
    return run


async def _through(test: Callable[[Flow], Awaitable[None]], flow: Flow) -> None:
    try:
        await test(flow)
    finally:
        with suppress(asyncio.CancelledError):
            await flow.close()
