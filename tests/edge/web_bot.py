"""A made-up bot behind the web, and its web on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import aiohttp
from pydantic import SecretStr

from bot.config.settings import HttpSettings, Settings
from bot.core.errors import Forged, StoreUnavailable
from bot.core.filters import Verdict
from bot.core.model.delivery import Attempt, Delivery, DeliveryState
from bot.core.model.entry import Entry
from bot.core.model.feed import FeedId, FeedState
from bot.core.model.route import DestinationUid, Route
from bot.core.model.status import Delay, DeliveryRow, DestinationRow, Totals
from bot.core.tags import fold
from bot.ports import Clock
from bot.telemetry.polls import Polls
from bot.web.health import Alive, Ready
from bot.web.live import Live
from bot.web.parts import InboxMessage, WebParts
from bot.web.server import Running, make_app, start
from tests.edge.web_facts import FEED, NOW, delivery_rows, destination_rows, entry_of, feed_states

TOKEN = "t0ken-of-the-pages"
POKE = "p0ke-token"


@dataclass
class FakeClock:
    at: datetime = NOW

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def roll(self) -> float:
        return 0.5

    async def sleep(self, delay: timedelta) -> None:
        self.at += delay

    async def wait(self, event: asyncio.Event, at_most: timedelta) -> bool:
        self.at += at_most
        return event.is_set()


@dataclass
class FakeStatus:
    """Implements web.parts.StatusQueries out of lists."""

    entries: list[Entry] = field(default_factory=lambda: [entry_of(number) for number in range(1, 9)])
    states: list[FeedState] = field(default_factory=feed_states)
    rows: list[DestinationRow] = field(default_factory=destination_rows)
    sent: list[DeliveryRow] = field(default_factory=delivery_rows)
    is_down: bool = False
    asked: list[object] = field(default_factory=list)
    numbers: Totals = field(default_factory=lambda: Totals(entries=1_284, sent_lately=8, waiting=2, dead=1))

    async def feeds(self) -> Sequence[FeedState]:
        if self.is_down:
            raise StoreUnavailable("database is locked")
        return self.states

    async def entry_counts(self) -> Mapping[FeedId, int]:
        return {FEED: len(self.entries)}

    async def latest(self, *, tag: str | None = None, feed: FeedId | None = None, limit: int = 1) -> Sequence[Entry]:
        fits = [e for e in self.entries if tag is None or tag in map(fold, (*e.tags, *e.section))]
        return [e for e in fits if feed is None or e.feed_id == feed][:limit]

    async def search(self, words: Sequence[str], *, limit: int) -> Sequence[Entry]:
        self.asked.append(words)
        return [e for e in self.entries if all(word.lower() in e.title.lower() for word in words)][:limit]

    async def tags(self) -> Sequence[tuple[str, int]]:
        return [("infiniband", 3), ("bgp", 2), ("evpn", 2), ("roce", 1)]

    async def entry(self, name: str) -> Entry | None:
        return next((e for e in self.entries if name in (e.key.hex(), e.guid, e.link)), None)

    async def deliveries_of(self, entry_id: int) -> Sequence[tuple[Delivery, Sequence[Attempt]]]:
        return [
            (
                row.delivery,
                (
                    Attempt(at=NOW - timedelta(minutes=9), outcome="retry", answer="503"),
                    Attempt(at=NOW - timedelta(minutes=8), outcome="sent", answer="ok"),
                )
                if row.delivery.attempts
                else (),
            )
            for row in self.sent
            if row.delivery.entry_id == entry_id
        ]

    async def totals(self, *, now: datetime) -> Totals:
        return self.numbers

    async def destination_rows(self) -> Sequence[DestinationRow]:
        return self.rows

    async def recent(
        self,
        *,
        states: frozenset[DeliveryState] = frozenset(),
        destination: DestinationUid | None = None,
        feed: FeedId | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Sequence[DeliveryRow]:
        def fits(row: DeliveryRow) -> bool:
            it = row.delivery
            return (
                (not states or it.state in states)
                and destination in (None, it.destination)
                and feed in (None, row.feed_id)
                and (before is None or it.id < before)
            )

        return [row for row in self.sent if fits(row)][:limit]

    async def notices(self, *, limit: int) -> Sequence[tuple[datetime, str]]:
        words = "slack-webhook:newsroom is parked: no_service. Nothing is lost: what is owed waits."
        return [(NOW - timedelta(hours=3), words)]

    async def entries_by_week(self, *, now: datetime, weeks: int) -> Sequence[tuple[datetime, int]]:
        monday = datetime(2026, 9, 14, tzinfo=UTC)
        return [(monday - timedelta(weeks=back), back * 7 % 5 * (back % 3)) for back in reversed(range(weeks))]

    async def delays_by_day(self, *, now: datetime, days: int) -> Sequence[Delay]:
        return [
            Delay(
                day=now - timedelta(days=back),
                median=timedelta(seconds=0.4 + back % 3),
                longest=timedelta(seconds=4 + back),
                count=12,
            )
            for back in (11, 9, 8, 5, 4, 3, 1, 0)
        ]


class FakeHub:
    """Implements web.parts.WebSub."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def confirm(self, feed_id: FeedId, query: Mapping[str, str]) -> str | None:
        return query.get("hub.challenge") if feed_id == FEED and query.get("hub.topic") == "https://f/" else None

    async def receive(self, feed_id: FeedId, body: bytes, headers: Mapping[str, str]) -> bool:
        if headers.get("x-hub-signature") != "sha256=good":
            raise Forged("the signature does not match")
        self.bodies.append(body)
        return feed_id == FEED


async def verdicts(_: Entry) -> Sequence[tuple[Route, Verdict]]:
    wanting = Route(name="routes[0]", to=(DestinationUid("slack:#ai-networking"),))
    other = Route(name="routes[2]", to=(DestinationUid("email:ops@example.org"),))
    return (
        (wanting, Verdict(wanted=True, reason="every entry of the feed")),
        (other, Verdict(wanted=False, reason="none of its tags: outage")),
    )


@dataclass
class Bot:
    """What a test changes and looks at, and the address to ask."""

    settings: Settings = field(default_factory=lambda: settings())
    clock: Clock = field(default_factory=FakeClock)
    status: FakeStatus = field(default_factory=FakeStatus)
    alive: Alive = field(default_factory=lambda: Alive(since_tick=timedelta(seconds=1)))
    ready: Ready = field(default_factory=Ready)
    messages: list[InboxMessage] = field(default_factory=list)
    hub: FakeHub = field(default_factory=FakeHub)
    poked: list[str] = field(default_factory=list)
    unsubscribed: list[str] = field(default_factory=list)
    running: Running | None = None
    live: Live = field(init=False)

    def __post_init__(self) -> None:
        self.live = Live(self.clock)

    @property
    def url(self) -> str:
        assert self.running is not None
        return f"http://127.0.0.1:{self.running.port}"

    def parts(self) -> WebParts:
        return WebParts(
            clock=self.clock,
            settings=lambda: self.settings,
            status=self.status,
            alive=lambda: self.alive,
            ready=self._ready,
            live=self.live,
            metrics=self._metrics,
            poke=self._poke,
            unsubscribe=self._unsubscribe,
            websub=self.hub,
            why=verdicts,
            inbox=lambda: self.messages,
            polls=self._polls,
        )

    async def _ready(self) -> Ready:
        await self.status.feeds()
        return self.ready

    async def _metrics(self) -> tuple[bytes, str]:
        return b"feedbell_up 1\n", "text/plain; version=1.0.0"

    async def _poke(self, feed_id: FeedId) -> bool:
        self.poked.append(feed_id)
        return feed_id == FEED

    async def _unsubscribe(self, token: str) -> bool:
        self.unsubscribed.append(token)
        return token == "good"

    def _polls(self) -> Sequence[Polls]:
        hours = (NOW.replace(minute=0, second=0) - timedelta(hours=back) for back in reversed(range(36)))
        return [Polls(hour=hour, ok=8 - place % 2, failed=place % 11 == 0) for place, hour in enumerate(hours)]


def settings(**http: str) -> Settings:
    secrets = {name: SecretStr(value) for name, value in http.items() if name.endswith("token")}
    others = {name: value for name, value in http.items() if name not in secrets}
    return Settings(timezone="Europe/Berlin", http=HttpSettings.model_validate({**others, **secrets}))  # type: ignore[arg-type]


@asynccontextmanager
async def serve(bot: Bot | None = None, port: int = 0) -> AsyncIterator[tuple[Bot, aiohttp.ClientSession]]:
    """Run the web of `bot` on loopback, with a client."""
    bot = bot or Bot()
    bot.running = await start(make_app(bot.parts()), "127.0.0.1", port)
    try:
        async with aiohttp.ClientSession() as session:
            yield bot, session
    finally:
        await bot.running.stop()
