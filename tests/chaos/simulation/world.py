"""One run: the scene, the trouble, the bot in its lives, and what came of it."""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path

from bot.core.errors import StoreUnavailable
from bot.services.events import PollEvent
from bot.services.outbox import Outbox
from bot.store.sqlite import SqliteConnection
from tests.chaos.simulation.calendar import DAY, HOUR, Calendar
from tests.chaos.simulation.clock import VirtualClock, VirtualLoop
from tests.chaos.simulation.fetching import Inline, Web
from tests.chaos.simulation.life import Life, Surroundings, bury
from tests.chaos.simulation.oracle import Oracle
from tests.chaos.simulation.scene import OPS, Scale, make_scene
from tests.chaos.simulation.services import Platforms
from tests.chaos.simulation.sizes import Sizes
from tests.chaos.simulation.witness import Witness

FATES = {"stuck": 0.002, "plain only": 0.005, "never": 0.001}
FORGET = 40 * DAY
LONGEST_QUIET = 4 * DAY  # longer than any backoff and any pause of a destination
MOST_MOMENTS = 60  # a kill comes within so many awaits of the bot


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run amounted to."""

    seed: int
    days: float
    polls: int
    unchanged: int
    posts: int
    sends: int
    deliveries: int
    digests: int
    notices: int
    lookups: int
    site_faults: int
    service_faults: int
    kills: int
    stops: int
    jumps: int
    late: int
    doubled: int  # at webhooks and by mail, where it is allowed
    lost: int
    out_of_order: int
    trail: int
    sizes: str
    growth_mb: float  # of memory in 30 days, after the first month
    complaints: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{name.replace('_', ' ')}: {getattr(self, name)}" for name in self.__slots__ if name != "complaints"]
        return "\n".join([*lines, *(f"COMPLAINT (seed {self.seed}): {words}" for words in self.complaints)])


class _Faults(logging.Handler):
    """An error with a trace is a fault of ours, whatever became of it (I5)."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._complain = complain
        self._format = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self._complain(self._format.format(record))


@dataclass(slots=True)
class _Counts:
    kills: int = 0
    stops: int = 0
    jumps: int = 0
    serial: int = 0
    moments: list[str] = field(default_factory=list)


class World:
    """Everything outside the bot, and the hand that starts and kills it."""

    def __init__(
        self,
        loop: VirtualLoop,
        scale: Scale,
        *,
        seed: int,
        folder: Path,
        progress: Callable[[Report], None] = lambda report: None,
        outbox: type[Outbox] = Outbox,
        until: str | None = None,
    ) -> None:
        self.loop = loop
        self.scale = scale
        self.seed = seed
        self.progress = progress
        self.clock = VirtualClock(loop, seed=seed)
        self.clock.idle = scale.idle
        self.chance = random.Random(f"world {seed}")
        self.counts = _Counts()
        self.end = scale.days * DAY
        self.quiet_from = self.end - min(LONGEST_QUIET, self.end * 0.4)
        self.scene = make_scene(scale, seed=seed, folder=folder, now=lambda: self.clock.now() - self.clock.shift)
        self.until = until  # a complaint with these words ends the run
        self.oracle = Oracle(self.scene.wishes, seed=seed, most_posts=scale.most_posts, fates=FATES)
        self.witness = Witness(folder / "bell.db")
        calendar = self._calendar()
        self.web, self.platforms = self._web(calendar), self._platforms(calendar)
        self.oracle.on_complaint = self._complained
        self.oracle.may_be_late = lambda uid: (
            calendar.troubled(uid, loop.elapsed, 6 * HOUR) or bool(self.platforms.channels[uid].stuck)
        )
        self.around = Surroundings(
            settings=self.scene.settings,
            state=folder / "bell.db",
            loop=loop,
            clock=self.clock,
            fetcher=self.web.fetcher,
            parser=Inline(),
            notifiers=self.platforms.notifiers,
            polled=self._polled,
            prune_each=scale.prune_each,
            outbox=outbox,
        )
        self.sizes = Sizes(loop)
        self.life: Life | None = None
        self._disk_full = False

    def _calendar(self) -> Calendar:
        return Calendar(
            self.seed,
            end=self.quiet_from,
            sites=[site.name for site in self.scene.sites],
            services=self.scene.uids,
            accounts=("slack", "discord"),
            harm=self.scale.harm,
        )

    def _web(self, calendar: Calendar) -> Web:
        return Web(
            self.scene.sites,
            loop=self.loop,
            clock=self.clock,
            calendar=calendar,
            chance=random.Random(f"web {self.seed}"),
            complain=self.oracle.complain,
        )

    def _platforms(self, calendar: Calendar) -> Platforms:
        return Platforms(
            [*self.scene.uids, OPS],
            loop=self.loop,
            clock=self.clock,
            calendar=calendar,
            oracle=self.oracle,
            chance=random.Random(f"platforms {self.seed}"),
            has_intent=self.witness.has_intent,
        )

    async def run(self) -> Report:
        root, faults = logging.getLogger("bot"), _Faults(self.oracle.complain)
        root.addHandler(faults)
        root.propagate = False
        try:
            self._begin()
            while self.loop.elapsed < self.end:
                await self._live()
            if self.until is None or not self.oracle.complaints:
                await self._judge()
        finally:
            root.removeHandler(faults)
            root.propagate = True
            self.witness.close()
        return self._report()

    # --- the bot's lives

    async def _live(self) -> None:
        self.life = Life(self.around, chance=random.Random(f"turns {self.seed} {self.counts.kills}"))
        self.life.power.disk_full = self._disk_full
        self.life.power.on_cut = self._died
        at_end = self.loop.call_at(max(self.end, self.loop.elapsed + 1), self.life.stop)
        try:
            await self.life.run()
        except StoreUnavailable:
            # No start on a full disk: the process ends with 75, and whoever started it tries again.
            if not self._disk_full:
                raise
        at_end.cancel()
        if self.loop.elapsed < self.end:
            await asyncio.sleep(self.chance.choice((0.3, 1.0, 5.0, 60.0, 900.0)))

    def _died(self) -> None:
        self.counts.kills += 1
        self.oracle.killed_at = self.loop.elapsed
        self.web.died(self.witness.is_stored)

    def _complained(self, words: str) -> None:
        if self.until is not None and self.until in words and self.life is not None:
            self.end = self.loop.elapsed
            self.life.power.cut_after(1)

    def _kill(self) -> None:
        if self.life is not None and not self.life.power.off.is_set():
            self.life.power.cut_after(self.chance.randint(1, MOST_MOMENTS))

    def _stop(self) -> None:
        if self.life is not None:
            self.counts.stops += 1
            self.life.stop()
            self.loop.call_later(0, self.web.stopped)

    def _polled(self, event: PollEvent) -> None:
        self.web.polled(event.feed, event.outcome)

    # --- what happens by itself

    def _begin(self) -> None:
        for site in self.scene.sites:
            for number in range(self.chance.randrange(4, site.habits.window) + site.habits.hidden):
                self._publish(site.name, announced=False, age=timedelta(days=40) - timedelta(hours=number))
            self._each(self.scale.posts_per_day, lambda name=site.name: self._publish(name))  # type: ignore[misc]
            self._each(0.02, lambda name=site.name: self._flood(name))  # type: ignore[misc]
            self._each(0.15, site.edit)
            self._each(0.1, site.delete)
            self._each(0.02, lambda site=site: site.rename(self.chance.choice(("https", "ids", "links"))))  # type: ignore[misc]
            if not site.habits.backdates:  # an old date in a document without order is what a slide-in looks like
                self._each(0.05, lambda site=site: self._shuffle(site.name))  # type: ignore[misc]
        self._each(self.scale.kills_per_day, self._kill)
        self._each(self.scale.stops_per_day, self._stop)
        self._each(self.scale.jumps_per_day, self._jump)
        self._each(self.scale.full_disks_per_day, self._fill_disk)
        self._each_day()

    def _each(self, per_day: float, act: Callable[[], object]) -> None:
        """Call `act` at random times until the quiet begins."""
        if per_day <= 0:
            return
        at = self.loop.elapsed + self.chance.expovariate(per_day / DAY)
        if at < self.quiet_from:
            self.loop.call_at(at, self._act, per_day, act)

    def _act(self, per_day: float, act: Callable[[], object]) -> None:
        act()
        self._each(per_day, act)

    def _publish(self, name: str, *, announced: bool = True, age: timedelta = timedelta(0)) -> None:
        site = self.web.by_name[name]
        self.counts.serial += 1
        if site.habits.backdates and announced and self.chance.random() < 0.1:
            age = timedelta(days=400)
        born = self.loop.elapsed if announced else -1.0
        announced = announced and self.web.readers[name].requests > 0
        post = site.publish(self.counts.serial, born=born, announced=announced, age=age)
        self.oracle.posts[post.serial] = post

    def _flood(self, name: str) -> None:
        for _ in range(self.chance.randrange(5, self.web.by_name[name].habits.window - 1)):
            self._publish(name)

    def _shuffle(self, name: str) -> None:
        site = self.web.by_name[name]
        site.shuffled = not site.shuffled
        site.changed()

    def _jump(self) -> None:
        """Somebody sets the clock of the machine."""
        self.counts.jumps += 1
        hours = self.chance.choice((-1.0, 1.0, -1 / 60, 1 / 60, -0.01, 0.01, 5.0))
        self.clock.shift = timedelta(hours=hours) if not self.clock.shift else timedelta(0)
        self.web.forgive()
        self.platforms.forgive()

    def _fill_disk(self) -> None:
        self._set_disk(full=True)
        self.loop.call_later(self.chance.uniform(10, 3600), partial(self._set_disk, full=False))

    def _set_disk(self, *, full: bool) -> None:
        self._disk_full = full
        self.oracle.killed_at = self.loop.elapsed
        if self.life is not None:
            self.life.power.disk_full = full

    def _each_day(self) -> None:
        self.oracle.forget(self.loop.elapsed - FORGET)
        self.sizes.take(self.around.state)
        self.progress(self._report())
        if self.loop.elapsed + DAY < self.end:
            self.loop.call_later(DAY, self._each_day)

    # --- the end

    async def _judge(self) -> None:
        self.oracle.settle(self.loop.elapsed)
        await bury(asyncio.current_task())
        connection = SqliteConnection(self.around.state, readonly=True)
        for row in connection.rows(
            "SELECT destination_uid, kind, state, COUNT(*) AS n, MIN(error) AS why FROM delivery WHERE state IN"
            " ('pending', 'sending', 'unknown', 'held') AND (bundle IS NULL OR bundle NOT LIKE 'digest%')"
            " GROUP BY destination_uid, kind, state"
        ):
            self.oracle.complain(f"after the quiet: {dict(row)}")
        found = [row["integrity_check"] for row in connection.rows("PRAGMA integrity_check(5)")]
        connection.close()
        if found != ["ok"]:
            self.oracle.complain(f"integrity: {found}")

    def _report(self) -> Report:
        oracle, web, platforms = self.oracle, self.web, self.platforms
        return Report(
            seed=self.seed,
            days=round(self.loop.elapsed / DAY, 1),
            polls=web.polls,
            unchanged=web.unchanged,
            posts=self.counts.serial,
            sends=platforms.sends,
            deliveries=oracle.delivered,
            digests=oracle.digests,
            notices=oracle.notices,
            lookups=platforms.lookups,
            site_faults=web.faults,
            service_faults=platforms.faults,
            kills=self.counts.kills,
            stops=self.counts.stops,
            jumps=self.counts.jumps,
            late=oracle.late,
            doubled=oracle.doubled,
            lost=oracle.lost,
            out_of_order=oracle.out_of_order,
            trail=oracle.trail,
            sizes=str(self.sizes),
            growth_mb=round(self.sizes.slope(30) / 1e6, 2),
            complaints=tuple(oracle.complaints),
        )
