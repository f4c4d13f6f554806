"""A store with read feeds and the commands on top of it: what tests of chat stand on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.core.errors import FetchError, NotAFeed
from bot.core.model.entry import Key, ParsedFeed
from bot.core.model.feed import Feed, FeedId, Fetched, NotModified, Validators
from bot.core.model.route import DestinationUid
from bot.core.parse.document import parse
from bot.core.render import block_lines
from bot.services.commands import Answer, Asked, Commands, Who
from bot.services.hosts import HostGate
from bot.services.intake import Intake
from bot.services.routing import Routing
from bot.store.store import Store, open_store

FEEDS = Path(__file__).parent / "feeds"
SEED_URL = "https://darrenqu.net/ai-networking/index.xml"
SEED = Feed(id=FeedId("ai-networking"), url=SEED_URL)
ADMIN = "U0ADMIN"


class RoomClock:
    """Implements ports.Clock: time stands still, and whoever sleeps wakes at once."""

    def __init__(self, at: datetime = datetime(2026, 9, 20, 12, tzinfo=UTC)) -> None:
        self.at = at
        self.passed = 0.0
        self.slept: list[timedelta] = []

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.passed

    def roll(self) -> float:
        return 0.5

    def advance(self, span: timedelta) -> None:
        self.at += span
        self.passed += span.total_seconds()

    async def sleep(self, delay: timedelta) -> None:
        self.slept.append(delay)
        await asyncio.sleep(0)

    async def wait(self, event: asyncio.Event, at_most: timedelta) -> bool:
        await event.wait()
        return True


@dataclass
class Web:
    """The pages of the world; implements ports.Fetcher and the guarded fetcher's pages."""

    pages: dict[str, bytes] = field(default_factory=dict)
    errors: dict[str, FetchError] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def get_page(self, url: str, *, from_chat: bool, allow_private: tuple[str, ...] = ()) -> Fetched:
        assert from_chat
        return self._get(url)

    async def fetch(self, feed: Feed, url: str, validators: Validators) -> Fetched | NotModified:
        return self._get(url)

    def _get(self, url: str) -> Fetched:
        self.asked.append(url)
        if url in self.errors:
            raise self.errors[url]
        if url not in self.pages:
            raise FetchError("404", status=404)
        return Fetched(url=url, body=self.pages[url], content_type=None, validators=Validators())


class InProcess:
    """Implements ports.Parser."""

    async def parse(self, body: bytes, *, url: str, content_type: str | None, listed: dict[bytes, Key]) -> ParsedFeed:
        if body == b"":
            raise NotAFeed("an empty body")
        return parse(body, url=url, content_type=content_type, listed=listed)


@dataclass
class Room:
    """Where people type."""

    store: Store
    clock: RoomClock
    web: Web
    commands: Commands
    routing: Routing
    admins: set[str] = field(default_factory=lambda: {f"slack:{ADMIN}", "discord:501"})
    woken: list[bool] = field(default_factory=list)
    feeds: list[Feed] = field(default_factory=list)

    @classmethod
    async def open(cls, path: Path, clock: RoomClock | None = None) -> Room:
        store = await open_store(f"sqlite:///{path / 'room.db'}", base=path)
        clock, web = clock or RoomClock(), Web()
        routing = Routing(store, [])
        room: Room = cls(store=store, clock=clock, web=web, routing=routing, commands=None)  # type: ignore[arg-type]  # set below
        room.commands = Commands(
            store=store,
            clock=clock,
            routes=lambda: routing.routes,
            pages=web,
            parser=InProcess(),
            wake=lambda: room.woken.append(True),
            admins=lambda: room.admins,
            timezone=lambda: ZoneInfo("UTC"),
        )
        return room

    async def close(self) -> None:
        await self.store.close(now=self.clock.now())

    async def read(self, feed: Feed, body: bytes) -> None:
        """Make the store know a feed and read one document of it."""
        self.web.pages[feed.url] = body
        self.feeds.append(feed)
        await self.store.sync_feeds(self.feeds, now=self.clock.now())
        gate = HostGate(self.clock, gap=timedelta(0))
        intake = Intake(
            store=self.store,
            fetcher=self.web,
            parser=InProcess(),
            clock=self.clock,
            gate=gate,
            routes=self.routing.all_routes,
            observe=lambda event: None,
            wake=lambda: None,
        )
        state = await self.store.claim_feed(feed.id, now=self.clock.now(), lease=timedelta(minutes=2))
        assert state is not None
        await intake.poll_feed(state)

    async def read_seed(self, feed: Feed = SEED) -> None:
        await self.read(feed, (FEEDS / "seed/ai-networking.xml").read_bytes())

    async def ask(self, typed: str, who: Who | None = None, *, page: int = 0) -> Answer:
        """Type a command as in Slack: its name first."""
        name, _, text = typed.partition(" ")
        return await self.commands.answer(Asked(name=name, text=text, who=who or someone(), page=page))

    async def say(self, typed: str, who: Who | None = None) -> str:
        return words(await self.ask(typed, who))


def someone(user: str = "U0READER", *, place: str = "slack:C0GENERAL", direct: bool = False, bot: bool = False) -> Who:
    dm = DestinationUid(f"slack:{user}")
    return Who(
        platform="slack",
        user=user,
        place=dm if direct else DestinationUid(place),
        dm=dm,
        is_direct=direct,
        is_bot=bot,
    )


def admin(**more: object) -> Who:
    return someone(ADMIN, **more)  # type: ignore[arg-type]  # as someone takes them


def words(answer: Answer) -> str:
    """Return an answer as lines of text: heading, words, titles, hint."""
    message = answer.message
    titles = [card.title for section in message.sections for card in section.cards]
    lines = [message.heading or "", *block_lines(message.blocks), *titles, answer.hint]
    return "\n".join(line for line in lines if line)


def feed_of(items: str, title: str = "Example Feed") -> bytes:
    head = f"<title>{title}</title><link>https://www.example.org/</link><description>made up</description>"
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()


def item(number: int, *tags: str, title: str = "") -> str:
    categories = "".join(f"<category>{tag}</category>" for tag in tags)
    link = f"https://www.example.org/posts/{number}"
    date = f"<pubDate>{number:02} Sep 2026 09:00:00 +0000</pubDate>"
    names = f"<title>{title or f'Article {number}'}</title><link>{link}</link><guid>{link}</guid>"
    return f"<item>{names}{date}{categories}<description>Text of article {number}.</description></item>"
