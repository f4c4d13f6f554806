"""What the web needs from the rest of the house; `app` gives it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from aiohttp import web

from bot.config.settings import Settings
from bot.core.filters import Verdict
from bot.core.model.delivery import Attempt, Delivery, DeliveryState
from bot.core.model.entry import Entry
from bot.core.model.feed import FeedId, FeedState
from bot.core.model.message import Payload
from bot.core.model.route import DestinationUid, Route
from bot.core.model.status import Delay, DeliveryRow, DestinationRow, Totals
from bot.ports import Clock
from bot.telemetry.polls import Polls
from bot.web.health import Alive, Ready
from bot.web.live import Live

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class StatusQueries(Protocol):
    """Read-only questions to the store; each may raise StoreUnavailable."""

    async def feeds(self) -> Sequence[FeedState]: ...

    async def entry_counts(self) -> Mapping[FeedId, int]: ...

    async def latest(
        self, *, tag: str | None = None, feed: FeedId | None = None, limit: int = 1
    ) -> Sequence[Entry]: ...

    async def search(self, words: Sequence[str], *, limit: int) -> Sequence[Entry]: ...

    async def tags(self) -> Sequence[tuple[str, int]]: ...

    async def entry(self, name: str) -> Entry | None: ...

    async def deliveries_of(self, entry_id: int) -> Sequence[tuple[Delivery, Sequence[Attempt]]]: ...

    async def totals(self, *, now: datetime) -> Totals: ...

    async def destination_rows(self) -> Sequence[DestinationRow]: ...

    async def recent(
        self,
        *,
        states: frozenset[DeliveryState] = frozenset(),
        destination: DestinationUid | None = None,
        feed: FeedId | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Sequence[DeliveryRow]:
        """The newest deliveries; no `states` are all of them, `before` is the id at which the last page ended."""

    async def notices(self, *, limit: int) -> Sequence[tuple[datetime, str]]:
        """What the operator was told, newest first."""

    async def entries_by_week(self, *, now: datetime, weeks: int) -> Sequence[tuple[datetime, int]]:
        """Each week's Monday and how many entries are dated in it, oldest first, none left out."""

    async def delays_by_day(self, *, now: datetime, days: int) -> Sequence[Delay]:
        """Days on which something was sent, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxMessage:
    """One message as each platform would get it: the payloads of the notifiers, by platform."""

    title: str
    at: datetime
    payloads: Mapping[str, Payload]  # "slack", "discord", "email", "console", "webhook"


class WebSub(Protocol):
    """services.websub, as a hub sees it."""

    async def confirm(self, feed_id: FeedId, query: Mapping[str, str]) -> str | None:
        """Return the challenge to echo, or None where this subscription was not asked for."""

    async def receive(self, feed_id: FeedId, body: bytes, headers: Mapping[str, str]) -> bool:
        """Take a push; False: no such subscription. Raises Forged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebParts:
    """Everything that the web is introduced to."""

    clock: Clock
    settings: Callable[[], Settings]  # those in force: a reload may change tokens
    status: StatusQueries
    alive: Callable[[], Alive]
    ready: Callable[[], Awaitable[Ready]]
    live: Live
    metrics: Callable[[], Awaitable[tuple[bytes, str]]]  # the text and its content type
    poke: Callable[[FeedId], Awaitable[bool]]  # False: no such feed
    unsubscribe: Callable[[str], Awaitable[bool]]  # False: no such token
    why: Callable[[Entry], Awaitable[Sequence[tuple[Route, Verdict]]]]  # what the routes in force say of an entry
    inbox: Callable[[], Sequence[InboxMessage]]  # newest first
    polls: Callable[[], Sequence[Polls]]  # since the start, at most two days, oldest first
    websub: WebSub | None = None
    chat_routes: Sequence[tuple[str, str, Handler]] = ()  # method, path, what answers; they carry their own proof
