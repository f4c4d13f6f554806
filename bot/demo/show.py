"""The demo's course: publish, poll, deliver, answer at the prompt; at the end, count."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.app.observing import Watch
from bot.app.parts import Parts, built, opened
from bot.app.preparing import prepare
from bot.app.running import serve
from bot.app.serving import web_running
from bot.app.ticking import Wakers, start_ticks, stop_on_signals
from bot.config.load import parse
from bot.core.delivery_id import idem
from bot.core.model.delivery import DeliveryKind
from bot.core.model.feed import FeedId
from bot.core.model.route import DestinationUid
from bot.demo.nowhere import Nowhere
from bot.demo.prompt import HELP, answer_lines
from bot.demo.publisher import Publisher
from bot.ports import Clock, Notifier
from bot.services.mailbox import Mailbox, keeping
from bot.services.poking import Pokes
from bot.telemetry.metrics import Metrics
from bot.version import VERSION
from bot.web.inbox import collect

FEED = FeedId("ai-networking")
PLACES = ("console", "slack:#ai-networking", "discord:123456789012345678", "email:you@example.org")
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
MOST = 1_000  # entries; the history has eight
GLANCE = timedelta(milliseconds=20)  # between looks at whether all has arrived

CONFIG = """
state = "sqlite:///feedbell.db"
[http]
listen = "127.0.0.1:8080"
[email]
host = "localhost"
security = "none"
from = "feedbell@example.org"
[delivery]
channel_gap = "0s"
[[feeds]]
id = "{feed}"
url = "{url}"
own = true
allow_private = ["127.0.0.0/8"]
[[routes]]
to = [{places}]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """`every` is the time between two posts; `ends` stops the demo when all is delivered."""

    every: timedelta
    ends: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What arrived, compared with what the store says was owed."""

    entries: int
    sent: Mapping[str, int]
    lost: int
    doubled: int
    out_of_order: int

    @property
    def is_right(self) -> bool:
        return self.lost == self.doubled == self.out_of_order == 0

    def __str__(self) -> str:
        places = ", ".join(f"{count} to {place.partition(':')[0]}" for place, count in self.sent.items())
        faults = f"lost {self.lost}, doubled {self.doubled}, out of order {self.out_of_order}"
        return f"{self.entries} entries; messages: {places}; {faults}"


class Demo:
    """Runs the product's own loops over a throw-away state."""

    def __init__(self, pace: Pace, clock: Clock) -> None:
        self._pace = pace
        self._clock = clock
        self._publisher = Publisher()
        self._mailbox = Mailbox()
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Show the whole history; 0 when nothing was lost, doubled or out of order."""
        wakers = Wakers(self._clock)
        stop_on_signals(self._stopping, wakers.wake)
        await self._publisher.start()
        places = ", ".join(f'"{place}"' for place in PLACES)
        text = CONFIG.format(feed=FEED, url=self._publisher.url, places=places)
        watch = Watch(self._clock, Metrics(VERSION))
        with tempfile.TemporaryDirectory(prefix="feedbell-demo-") as folder:
            settings = parse(text, {}, path=Path(folder) / "config.toml", secret_dirs=())
            async with (
                opened(settings, self._clock, exclusive=True) as store,
                built(
                    settings, self._clock, store, observers=watch.observers, wake=wakers.wake, instead=self._local
                ) as parts,
                web_running(
                    parts,
                    watch,
                    address=("127.0.0.1", 0),
                    poke=Pokes(store, self._clock, wakers.wake, hurry=parts.intake.gate.hurry).poke,
                    unsubscribe=_no_such_token,
                    inbox=lambda: collect(self._mailbox.messages),
                ) as web,
            ):
                print(f"The bot reads a feed as it grows. Its messages: http://127.0.0.1:{web.port}/inbox")
                print(f"{HELP}\n", flush=True)
                tally = await self._show(parts, wakers, watch)
        await self._publisher.stop()
        print(tally)
        return 0 if tally.is_right else 1

    def _local(self, notifiers: Mapping[str, Notifier]) -> Mapping[str, Notifier]:
        local = {name: one if name == "console" else Nowhere(one) for name, one in notifiers.items()}
        return keeping(local, self._mailbox, self._clock)

    async def _show(self, parts: Parts, wakers: Wakers, watch: Watch) -> Tally:
        await prepare(parts)
        ticks = start_ticks(wakers.wake)
        serving = asyncio.create_task(serve(parts, wakers, self._stopping, watch.tick))
        prompting = asyncio.create_task(answer_lines(parts, self._stopping, wakers.wake))
        try:
            await self._publish_all(parts, wakers)
            if not self._pace.ends:
                await self._stopping.wait()
        finally:
            self._stopping.set()
            wakers.wake()
            await serving
            prompting.cancel()
            ticks.shutdown(wait=False)
        return await _count(parts, self._mailbox)

    async def _publish_all(self, parts: Parts, wakers: Wakers) -> None:
        """One post after the other, each as soon as the one before has arrived everywhere."""
        await self._until_polled(parts)
        while not self._publisher.is_done and not self._stopping.is_set():
            posts = self._publisher.publish()
            await parts.store.poke(FEED, now=self._clock.now())
            wakers.wake()
            while len(self._mailbox.messages) < posts * len(PLACES) and not self._stopping.is_set():
                await self._clock.sleep(GLANCE)
            await self._clock.wait(self._stopping, self._pace.every)

    async def _until_polled(self, parts: Parts) -> None:
        """The first poll finds the feed empty, so that every post of its history is news."""
        while not self._stopping.is_set():
            if any(state.primed_at is not None for state in await parts.store.feeds()):
                return
            await self._clock.sleep(GLANCE)


async def _count(parts: Parts, mailbox: Mailbox) -> Tally:
    entries = sorted(await parts.store.entries_since(BEGINNING, limit=MOST), key=lambda entry: entry.id)
    lost = doubled = out_of_order = 0
    for place in PLACES:
        uid = DestinationUid(place)
        owed = [idem(FEED, entry.key.hex(), uid, DeliveryKind.ENTRY.value) for entry in entries]
        got = [kept.key for kept in mailbox.of(uid)]
        lost += len(set(owed) - set(got))
        doubled += len(got) - len(set(got))
        out_of_order += _misplaced(owed, got)
    sent = {place: len(mailbox.of(DestinationUid(place))) for place in PLACES}
    return Tally(entries=len(entries), sent=sent, lost=lost, doubled=doubled, out_of_order=out_of_order)


def _misplaced(owed: Sequence[str], got: Sequence[str]) -> int:
    """How many came after one that should have come later."""
    places = [owed.index(key) for key in got if key in owed]
    return sum(place < max(places[:position], default=-1) for position, place in enumerate(places))


async def _no_such_token(_: str) -> bool:
    """Nobody is subscribed to a demo."""
    return False
