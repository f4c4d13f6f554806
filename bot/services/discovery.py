"""From an address that a person types to the feed behind it."""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from bot.core.autodiscovery import find_feeds, usual_places
from bot.core.errors import FetchError, NotAFeed
from bot.core.model.entry import ParsedFeed
from bot.core.model.feed import Fetched
from bot.ports import Parser

MAX_TRIES = 4  # of the addresses that a page names


class PageFetcher(Protocol):
    async def get_page(self, url: str, *, from_chat: bool, allow_private: tuple[str, ...] = ()) -> Fetched:
        """Raises FetchError, AddressRefused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """A feed that was found; `url` is the address to configure, `others` are further feeds that the page names."""

    url: str
    fetched: Fetched
    parsed: ParsedFeed
    others: tuple[str, ...] = ()


class Discovery:
    """Looks at an address, at the feeds that its page declares, then at the usual places of the site."""

    def __init__(self, fetcher: PageFetcher, parser: Parser) -> None:
        self._fetcher = fetcher
        self._parser = parser

    async def find(self, url: str, *, from_chat: bool, allow_private: tuple[str, ...] = ()) -> Discovered:
        """Raises FetchError, AddressRefused, ParserFailed; NotAFeed where no feed is behind the address."""
        page = await self._fetcher.get_page(url, from_chat=from_chat, allow_private=allow_private)
        try:
            return Discovered(url=url, fetched=page, parsed=await self._parse(page))
        except NotAFeed as error:
            reason = error
        links = tuple(dict.fromkeys(link.url for link in await asyncio.to_thread(find_feeds, page.body, page.url)))
        for candidate in links[:MAX_TRIES] or usual_places(page.url):
            try:
                fetched = await self._fetcher.get_page(candidate, from_chat=from_chat, allow_private=allow_private)
                parsed = await self._parse(fetched)
            except (FetchError, NotAFeed):
                continue
            others = tuple(link for link in links if link != candidate)
            return Discovered(url=candidate, fetched=fetched, parsed=parsed, others=others)
        raise NotAFeed(f"there is no feed at this address, and its page names none ({reason})")

    async def _parse(self, fetched: Fetched) -> ParsedFeed:
        return await self._parser.parse(fetched.body, url=fetched.url, content_type=fetched.content_type, listed={})
