"""A made-up bot behind the web: enough feeds, entries and deliveries for every page to have something to show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import aiohttp
from pydantic import SecretStr

from bot.config.settings import HttpSettings, Settings
from bot.core.errors import Forged, StoreUnavailable
from bot.core.model.delivery import Attempt, Delivery, DeliveryKind, DeliveryState, Destination, Options
from bot.core.model.entry import Entry
from bot.core.model.feed import Feed, FeedId, FeedMemory, FeedState, Key, Validators
from bot.core.model.message import Message, MessageKind
from bot.core.model.route import DestinationUid
from bot.core.model.status import Delay, DeliveryRow, Totals
from bot.core.render import card_of
from bot.core.tags import fold
from bot.notifiers import discord_layout, email_layout, slack_layout
from bot.store.status import DestinationRow
from bot.telemetry.polls import Polls
from bot.web.health import Alive, Ready
from bot.web.parts import InboxMessage, Verdict, WebParts
from bot.web.server import Running, make_app, start

NOW = datetime(2026, 9, 16, 12, 5, 33, tzinfo=UTC)
TOKEN = "t0ken-of-the-pages"
POKE = "p0ke-token"
FEED = FeedId("ai-networking")
WHEN = {1: (16, 9), 2: (16, 9), 3: (10, 9), 4: (4, 9), 5: (7, 3), 6: (22, 2), 7: (8, 2), 8: (18, 1)}
TITLES = {
    1: ("Inside an EVPN Fabric, Part 2: Mobility Is Not Movement, It Is Withdrawal", "evpn"),
    2: ("Inside an EVPN Fabric, Part 1: What the Control Plane Really Learns", "evpn"),
    3: ("BGP Unnumbered and Router Advertisements: The Address You Never Typed", "bgp"),
    4: ("Why BGP Needs a Policy Before It Needs a Peer", "bgp"),
    5: ("InfiniBand Routing Engines: Fat Trees, DragonFly+ and the Rest", "infiniband"),
    6: ("InfiniBand Partition Keys Are Not VLANs", "infiniband"),
    7: ("A Subnet Manager Walks Into a Fabric", "infiniband"),
    8: ("RoCE Without Tears: Lossless Ethernet in Plain Words", "roce"),
}
HOSTILE = '<script>alert(1)</script> "quoted" & [a](b) @everyone'


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


def entry_of(number: int, **changes: object) -> Entry:
    title, tag = TITLES[number]
    day, month = WHEN[number]
    published = datetime(2026, month, day, tzinfo=UTC)
    entry = Entry(
        id=number,
        feed_id=FEED,
        feed_title="AI Networking · Darren Qu",
        key=Key(bytes([number]) * 16),
        guid=f"https://blog.example.org/ai-networking/{number}/",
        link=f"https://blog.example.org/ai-networking/{number}/",
        title=title,
        text="What a fabric learns, what it forgets, and why the second matters more than the first when a host moves.",
        tags=(tag,),
        section=("AI Networking",),
        published=published,
        date_only=True,
        sort_at=published,
        first_seen_at=published + timedelta(hours=11, minutes=58),
    )
    return replace(entry, **changes)  # type: ignore[arg-type]


def feed_states() -> list[FeedState]:
    well = FeedState(
        no=1,
        feed=Feed(id=FEED, url="https://blog.example.org/ai-networking/index.xml"),
        title="AI Networking · Darren Qu",
        site_url="https://blog.example.org/ai-networking/",
        validators=Validators(etag='"abc"', last_modified="Wed, 16 Sep 2026 10:00:00 GMT"),
        memory=FeedMemory(section=("AI Networking",), date_only=True),
        next_poll_at=NOW + timedelta(minutes=12),
        last_poll_at=NOW - timedelta(minutes=3),
        last_ok_at=NOW - timedelta(minutes=3),
        last_new_at=NOW - timedelta(hours=2),
        primed_at=NOW - timedelta(days=90),
    )
    broken = FeedState(
        no=2,
        feed=Feed(
            id=FeedId("release-notes"), url="https://releases.example.net/feed.atom", interval=timedelta(hours=1)
        ),
        title="Release notes",
        next_poll_at=NOW + timedelta(hours=4),
        last_poll_at=NOW - timedelta(minutes=40),
        last_ok_at=NOW - timedelta(days=2),
        last_new_at=NOW - timedelta(days=21),
        failures=7,
        failing_since=NOW - timedelta(days=2),
        error="the server answered 503 (Service Unavailable)",
    )
    paused = FeedState(
        no=3,
        feed=Feed(id=FeedId("status-page"), url="https://status.example.com/history.rss"),
        title="Status page",
        next_poll_at=NOW,
        last_poll_at=NOW - timedelta(days=1),
        last_ok_at=NOW - timedelta(days=1),
        paused_at=NOW - timedelta(days=1),
    )
    return [well, broken, paused]


def destination_rows() -> list[DestinationRow]:
    def row(uid: str, *, waiting: int = 0, dead: int = 0, **facts: object) -> DestinationRow:
        destination = replace(Destination(uid=DestinationUid(uid)), **facts)  # type: ignore[arg-type]
        return DestinationRow(
            destination=destination,
            name=None,
            why_not="a Slack webhook has no history" if uid.startswith("slack-webhook") else None,
            held=0,
            waiting=waiting,
            dead=dead,
            last_sent_at=NOW - timedelta(hours=2),
            oldest_due_at=NOW - timedelta(hours=2) if waiting else None,
        )

    return [
        row("slack:#ai-networking", can_look_up=True),
        row("discord:123456789012345678", can_look_up=True),
        row("email:team@example.org", dead=1),
        row(
            "slack-webhook:newsroom",
            waiting=2,
            can_look_up=False,
            parked="Slack no longer knows this webhook (no_service)",
            parked_at=NOW - timedelta(hours=3),
        ),
    ]


def delivery_rows() -> list[DeliveryRow]:
    rows = []
    for number in range(1, 9):
        for place, row in enumerate(destination_rows()):
            state = DeliveryState.PENDING if row.destination.parked and number < 3 else DeliveryState.SENT
            if place == 2 and number == 6:
                state = DeliveryState.DEAD
            delivery = Delivery(
                id=100 - number * 4 - place,
                idem=f"{number}{place}" * 16,
                destination=row.destination.uid,
                kind=DeliveryKind.ENTRY,
                entry_id=number,
                due_at=entry_of(number).first_seen_at,
                created_at=entry_of(number).first_seen_at,
                state=state,
                attempts=0 if state is DeliveryState.PENDING else 1,
                options=Options(routes=("routes[0]",)),
                error={
                    DeliveryState.DEAD: "550 5.1.1 the mailbox does not exist",
                    DeliveryState.PENDING: "Slack no longer knows this webhook (no_service)",
                }.get(state),
            )
            entry = entry_of(number)
            rows.append(
                DeliveryRow(
                    delivery=delivery,
                    title=entry.title,
                    entry_key=entry.key.hex(),
                    feed_id=FEED,
                    parked=row.destination.parked is not None,
                )
            )
    return rows


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
                    Attempt(delivery_id=row.delivery.id, at=NOW - timedelta(minutes=9), outcome="retry", answer="503"),
                    Attempt(delivery_id=row.delivery.id, at=NOW - timedelta(minutes=8), outcome="sent", answer="ok"),
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

    async def deliveries(
        self,
        *,
        state: DeliveryState | None = None,
        destination: DestinationUid | None = None,
        feed: FeedId | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Sequence[DeliveryRow]:
        def fits(row: DeliveryRow) -> bool:
            it = row.delivery
            return (
                state in (None, it.state)
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


async def verdicts(_: Entry) -> Sequence[Verdict]:
    return (
        Verdict(route="routes[0]", to="slack:#ai-networking", wanted=True, reason="every entry of the feed"),
        Verdict(route="routes[2]", to="email:ops@example.org", wanted=False, reason="none of its tags: outage"),
    )


@dataclass
class Bot:
    """What a test changes and looks at, and the address to ask."""

    settings: Settings = field(default_factory=lambda: settings())
    clock: FakeClock = field(default_factory=FakeClock)
    status: FakeStatus = field(default_factory=FakeStatus)
    alive: Alive = field(default_factory=lambda: Alive(since_tick=timedelta(seconds=1)))
    ready: Ready = field(default_factory=Ready)
    messages: list[InboxMessage] = field(default_factory=list)
    hub: FakeHub = field(default_factory=FakeHub)
    poked: list[str] = field(default_factory=list)
    unsubscribed: list[str] = field(default_factory=list)
    has_inbox: bool = True
    running: Running | None = None

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
            metrics=self._metrics,
            poke=self._poke,
            unsubscribe=self._unsubscribe,
            websub=self.hub,
            why=verdicts,
            inbox=(lambda: self.messages) if self.has_inbox else None,
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


HTML = (
    "<p>When a host moves, the fabric <b>withdraws</b> the old route first. What looks like movement is a "
    "<code>type-2</code> route that went away, and one that came.</p>"
    "<ul><li>what is withdrawn</li><li>what is not</li></ul>"
)


def inbox_messages(*entries: Entry) -> list[InboxMessage]:
    """What each platform would get of `entries`, from the production renderer and layouts."""
    found = []
    for entry in entries or [entry_of(number, summary_html=HTML) for number in range(1, 9)]:
        message = Message(
            kind=MessageKind.ENTRY,
            key=entry.key.hex(),
            created_at=NOW,
            cards=(card_of(entry, timezone=UTC),),
            feed_id=entry.feed_id,
            feed_title=entry.feed_title,
        )
        payloads = {
            "slack": slack_layout.to_payload(message),
            "discord": discord_layout.to_payload(message),
            "email": email_layout.to_payload(message, sender="news@example.org"),
        }
        found.append(InboxMessage(title=message.cards[0].title, at=entry.first_seen_at, payloads=payloads))
    return found


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
