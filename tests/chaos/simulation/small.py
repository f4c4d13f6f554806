"""Two entries, two destinations, and a short list of faults: small enough to try everything that can happen."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from bot.config.load import parse
from bot.core.model.message import Payload
from bot.store.sqlite import SqliteConnection
from tests.chaos.simulation.calendar import Calendar
from tests.chaos.simulation.clock import START, VirtualClock, VirtualLoop, run_virtually
from tests.chaos.simulation.fetching import Inline, Web
from tests.chaos.simulation.life import Life, Surroundings
from tests.chaos.simulation.oracle import Oracle, Wish
from tests.chaos.simulation.publishing import Habits, Site
from tests.chaos.simulation.services import Channel, Platforms

SLACK, DISCORD = "slack:#room", "discord:10000000000000001"
CONFIG = f"""
[[feeds]]
id = "blog"
url = "https://blog.example/feed"
interval = "15m"

[[routes]]
to = ["{SLACK}", "{DISCORD}"]
"""
LASTS = 900.0  # seconds; by then even three faults in a row are overcome
RESTART = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How one small run went. `moments` counts the awaits of its first life."""

    moments: int
    cut_at: str
    copies: Mapping[str, tuple[int, int]]  # of each of the two entries, by destination
    complaints: Sequence[str]

    @property
    def wrong(self) -> list[str]:
        """What is not as promised, in words."""
        return [*(f"{uid} has {each}" for uid, each in self.copies.items() if each != (1, 1)), *self.complaints]


class _Scripted(Platforms):
    """Services whose faults stand in a list: one for each message that is tried."""

    script: Mapping[str, list[str | None]]

    def fault(self, channel: Channel, payload: Payload) -> str | None:
        script = self.script.get(channel.uid, [])
        return script.pop(0) if script else None


class _Told(Oracle):
    def __init__(self) -> None:
        wishes = [Wish(uid=uid, wants=lambda post: True) for uid in (SLACK, DISCORD)]
        super().__init__(wishes, seed=0, most_posts=10, fates={})


class Small:
    """One run: a start on a state that knows two entries, while the feed has two more."""

    def __init__(
        self, loop: VirtualLoop, folder: Path, script: Mapping[str, Sequence[str | None]], *, start: datetime
    ) -> None:
        self.loop = loop
        self.state = folder / "bell.db"
        self.clock = VirtualClock(loop, start=start)
        self.oracle = _Told()
        calendar = Calendar(0, end=0.0, sites=["blog"], services=(), accounts=())
        self.site = self._blog()
        self.web = Web(
            [self.site],
            loop=loop,
            clock=self.clock,
            calendar=calendar,
            chance=random.Random(0),
            complain=lambda words: None,  # manners are judged elsewhere
        )
        self.platforms = _Scripted(
            [SLACK, DISCORD],
            loop=loop,
            clock=self.clock,
            calendar=calendar,
            oracle=self.oracle,
            chance=random.Random(0),
            has_intent=lambda key: True,
            retry_after=(7.0,),
        )
        self.platforms.script = {uid: list(faults) for uid, faults in script.items()}
        self.around = Surroundings(
            settings=parse(CONFIG, {}, path=folder / "config.toml", secret_dirs=[]),
            state=self.state,
            loop=loop,
            clock=self.clock,
            fetcher=self.web.fetcher,
            parser=Inline(),
            notifiers=self.platforms.notifiers,
            polled=lambda event: self.web.polled(event.feed, event.outcome),
        )
        for serial in (1, 2):
            self._publish(serial, announced=False)

    def _blog(self) -> Site:
        return Site(
            name="blog",
            url="https://blog.example/feed",
            host="blog.example",
            interval=15,
            habits=Habits(),
            chance=random.Random(0),
            now=self.clock.now,
        )

    def _publish(self, serial: int, *, announced: bool) -> None:
        self.oracle.posts[serial] = self.site.publish(serial, born=0.0, announced=announced)

    async def prime(self) -> None:
        """The first poll, after which two entries are known."""
        life = Life(self.around)
        self.loop.call_later(30, life.stop)
        await life.run()

    async def run(self, *, at: int | None = None, act: "Act | None" = None, lasts: float = LASTS) -> Ending:
        """Let it run; at the await number `at` of its first life `act` happens, by default a power cut."""
        for serial in (3, 4):
            self._publish(serial, announced=True)
        first, life = None, Life(self.around)
        while self.loop.elapsed < lasts:
            if first is None and at is not None:
                life.power.act_after(at, life.power.cut if act is None else partial(act, self))
            first = first or life
            await self._live(life, lasts)
            life = Life(self.around)
        assert first is not None
        return self._ending(first)

    async def run_twice(self, *, at: int, cut: float = 1.0) -> Ending:
        """Copy the state at the await number `at` of its first life, live on to the end, then live with the copy.

        `cut`: what share of the copy's log has survived, to the byte; its last commits go with the rest.
        """
        for serial in (3, 4):
            self._publish(serial, announced=True)
        copy: dict[Path, bytes] = {}
        first = life = Life(self.around)
        life.power.act_after(at, lambda: copy.update(self._files()))
        while self.loop.elapsed < LASTS:
            await self._live(life, LASTS)
            life = Life(self.around)
        for path in self._files():
            path.unlink()
        for path, content in copy.items():
            path.write_bytes(content[: int(len(content) * cut)] if path.name.endswith("-wal") else content)
        self.web.forget()
        while self.loop.elapsed < 2 * LASTS:
            await self._live(life, 2 * LASTS)
            life = Life(self.around)
        return self._ending(first)

    def _files(self) -> dict[Path, bytes]:
        paths = (self.state, self.state.with_name(f"{self.state.name}-wal"))
        return {path: path.read_bytes() for path in paths if path.exists()}

    def _ending(self, first: Life) -> Ending:
        return Ending(
            moments=first.power.moments,
            cut_at=first.power.last,
            copies={uid: (wish.told[3], wish.told[4]) for uid, wish in self.oracle.wishes.items()},
            complaints=(*self.oracle.complaints, *self._open_rows()),
        )

    async def _live(self, life: Life, end: float) -> None:
        life.power.on_cut = self.web.died
        stop = self.loop.call_at(max(end, self.loop.elapsed + 1), life.stop)
        try:
            await life.run()
        except MemoryError:  # the process ends by it, and is started again
            self.web.died()
        stop.cancel()
        await self.clock.sleep(RESTART)

    def _open_rows(self) -> list[str]:
        connection = SqliteConnection(self.state, readonly=True)
        rows = connection.rows("SELECT destination_uid, state, error FROM delivery WHERE state <> 'sent'")
        connection.close()
        return [f"left over: {dict(row)}" for row in rows]


Act = Callable[[Small], None]


def primed(folder: Path) -> bytes:
    """A state in which the first two entries are known, as the bytes of its file."""
    run_virtually(lambda loop: Small(loop, folder, {}, start=START).prime())
    return (folder / "bell.db").read_bytes()


def try_out(
    state: bytes,
    folder: Path,
    script: Mapping[str, Sequence[str | None]],
    *,
    at: int | None = None,
    act: "Act | None" = None,
    lasts: float = LASTS,
    later: timedelta = timedelta(hours=1),
) -> Ending:
    """One run on a copy of `state`, an hour later by the machine's clock."""
    _lay_down(state, folder)
    start = START + later
    return run_virtually(lambda loop: Small(loop, folder, script, start=start).run(at=at, act=act, lasts=lasts))


def try_twice(state: bytes, folder: Path, script: Mapping[str, Sequence[str | None]], *, at: int, cut: float) -> Ending:
    """The same, but what was the state at an await is put back when all has been told."""
    _lay_down(state, folder)
    start = START + timedelta(hours=1)
    return run_virtually(lambda loop: Small(loop, folder, script, start=start).run_twice(at=at, cut=cut))


def _lay_down(state: bytes, folder: Path) -> None:
    for name in ("bell.db", "bell.db-wal", "bell.db-shm"):
        (folder / name).unlink(missing_ok=True)
    (folder / "bell.db").write_bytes(state)
