"""What every command needs: the store, who may see what, and the words of an answer."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Protocol, TypeVar

from bot.core.model.delivery import Destination
from bot.core.model.entry import Entry
from bot.core.model.feed import Feed, FeedId, FeedState
from bot.core.model.message import Block, Message, MessageKind, Paragraph, Text
from bot.core.model.route import DestinationUid, Route
from bot.core.tags import fold
from bot.core.text.characters import clean, one_line
from bot.core.text.graphemes import cut
from bot.ports import Clock, Parser, WakeUp
from bot.services.commands.asking import Answer, Who
from bot.services.discovery import PageFetcher

T = TypeVar("T")

NAMED = 1_500  # characters of a list of tags; any message has room for it
ECHO = 100  # characters of what somebody typed that an answer repeats


class Reading(Protocol):
    """What can be looked up; it blocks, and lives as long as one question."""

    def without(self, hidden: frozenset[FeedId]) -> "Reading": ...

    def guarded(self) -> Sequence[Feed]: ...

    def feeds(self) -> Sequence[FeedState]: ...

    def feed_ids(self) -> Sequence[FeedId]: ...

    def has_tag(self, tag: str) -> bool: ...

    def tags(self) -> Sequence[tuple[str, int]]: ...

    def latest(self, *, tag: str | None, feed: FeedId | None, limit: int) -> Sequence[Entry]: ...

    def search(self, words: Sequence[str], *, limit: int) -> Sequence[Entry]: ...

    def follows_of(self, uid: DestinationUid) -> Sequence[str]: ...

    def destinations(self) -> Sequence[Destination]: ...

    def waiting(self, *, now: datetime) -> int: ...


class CommandStore(Protocol):
    """The part of the store that commands use; see ports.Store for the rules."""

    async def consult(self, question: Callable[[Reading], T]) -> T: ...

    async def feeds(self) -> Sequence[FeedState]: ...

    async def add_chat_feed(
        self, feed: Feed, destination: DestinationUid, tags: Sequence[str], *, who: str, now: datetime
    ) -> bool:
        """Writes the audit line too, as do the next three. False: the id is taken."""

    async def remove_chat_feed(self, feed_id: FeedId, *, who: str, now: datetime) -> bool: ...

    async def pause_feed(self, feed_id: FeedId, *, who: str, now: datetime) -> bool: ...

    async def resume_feed(self, feed_id: FeedId, *, who: str, now: datetime) -> bool: ...

    async def add_follow(self, uid: DestinationUid, tag: str, *, now: datetime) -> bool: ...

    async def remove_follow(self, uid: DestinationUid, tag: str) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Given to each command."""

    store: CommandStore
    clock: Clock
    routes: Callable[[], Sequence[Route]]  # of the file
    pages: PageFetcher
    parser: Parser
    wake: WakeUp
    admins: Callable[[], Collection[str]]
    timezone: Callable[[], tzinfo]

    def is_admin(self, who: Who) -> bool:
        return not who.is_bot and who.id in self.admins()

    def scope(self, reading: Reading, who: Who) -> Reading:
        """Return what `who` may be shown: a feed with credentials only where a route gives it to this place (T21)."""
        guarded = reading.guarded()
        if not guarded:
            return reading
        places = _places(reading, who)
        routes = [route for route in self.routes() if places.intersection(route.to)]
        return reading.without(frozenset(feed.id for feed in guarded if not any(_gives(each, feed) for each in routes)))

    def say(self, *lines: str, heading: str | None = None, blocks: tuple[Block, ...] = ()) -> Message:
        """Return a message of plain words, each line a paragraph."""
        shown = (line for text in lines for line in clean(text).split("\n") if line.strip())
        paragraphs = tuple(Paragraph(spans=(Text(text=line.strip()),)) for line in shown)
        return Message(
            kind=MessageKind.LIST,
            key="",
            created_at=self.clock.now(),
            heading=heading,
            blocks=(*paragraphs, *blocks),
        )

    def tell(self, *lines: str) -> Answer:
        return Answer(message=self.say(*lines))


def _places(reading: Reading, who: Who) -> frozenset[DestinationUid]:
    """Return every spelling of the place: a route may name a channel that the service knows by its id."""
    service, _, address = who.place.partition(":")
    resolved = (
        destination.uid
        for destination in reading.destinations()
        if destination.remote_id == address and destination.uid.startswith(f"{service}:")
    )
    return frozenset({who.place, *who.names, *resolved})


def _gives(route: Route, feed: Feed) -> bool:
    return not feed.from_chat if route.feeds is None else feed.id in route.feeds


def echo(text: str) -> str:
    """Return what somebody typed as it is repeated to them."""
    return cut(one_line(text), ECHO)


def listed(names: Sequence[str], *, room: int = NAMED) -> str:
    """Return names in one line, as many as find room."""
    shown, used = 0, 0
    for name in names:
        used += len(name) + 2
        if used > room:
            break
        shown += 1
    more = f" and {len(names) - shown} more" if shown < len(names) else ""
    return ", ".join(names[:shown]) + more


def in_order(tags: Sequence[tuple[str, int]]) -> list[str]:
    """Return the names of counted tags as a dictionary has them."""
    return [one_line(name) for name, _ in sorted(tags, key=lambda pair: fold(pair[0]))]
