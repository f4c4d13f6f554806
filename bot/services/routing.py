"""Which routes hold now: those of the file, and those that people made in chat."""

from collections.abc import Sequence
from typing import Protocol

from bot.core.model.feed import FeedId
from bot.core.model.route import DestinationUid, Route


class ChatStore(Protocol):
    """The part of the store that remembers what was made in chat."""

    async def follows(self) -> Sequence[tuple[DestinationUid, str]]:
        """(who, folded tag), in the order they were made."""

    async def chat_feeds(self) -> Sequence[tuple[FeedId, DestinationUid, Sequence[str]]]:
        """(feed, where it is delivered, the folded tags it is limited to)."""


class Routing:
    """Holds the file's routes, and adds the others at each question: another replica may have made them."""

    def __init__(self, store: ChatStore, routes: Sequence[Route]) -> None:
        self._store = store
        self.routes = tuple(routes)

    async def all_routes(self) -> Sequence[Route]:
        return (*self.routes, *await self._follows(), *await self._chat_feeds())

    async def _follows(self) -> Sequence[Route]:
        tags: dict[DestinationUid, set[str]] = {}
        for uid, tag in await self._store.follows():
            tags.setdefault(uid, set()).add(tag)
        return [Route(name="follow", to=(uid,), tags=frozenset(wanted)) for uid, wanted in tags.items()]

    async def _chat_feeds(self) -> Sequence[Route]:
        return [
            Route(name="add", to=(uid,), feeds=frozenset({feed_id}), tags=frozenset(tags))
            for feed_id, uid, tags in await self._store.chat_feeds()
        ]
