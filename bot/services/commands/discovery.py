"""Find the feed that an address from chat means. Failures say nothing about the network behind us (T4)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bot.core.autodiscovery import find_feeds, usual_places
from bot.core.errors import FetchError, ParseError
from bot.core.model.entry import Entry, Key, ParsedEntry, ParsedFeed
from bot.core.model.feed import Feed, Fetched
from bot.core.recording import entry_of
from bot.core.tags import decide_section
from bot.ports import Clock, Parser
from bot.services.commands.desk import Pages

CANDIDATES = 4  # addresses that a page names, or that are usual, which are tried
PATIENCE = 40.0  # seconds for all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A feed, read whole. `url` is where it is to be polled."""

    url: str
    parsed: ParsedFeed


async def discover(url: str, *, pages: Pages, parser: Parser) -> Found | None:
    """Return the feed at `url`, or the one that the page there names; None whatever goes wrong."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await _discover(url, pages, parser)
    except TimeoutError:
        return None


async def _discover(url: str, pages: Pages, parser: Parser) -> Found | None:
    page = await _get(url, pages)
    if page is None:
        return None
    found = await _read(url, page, parser)
    if found is not None:
        return found
    links = [link.url for link in await asyncio.to_thread(find_feeds, page.body, page.url)] or usual_places(page.url)
    for candidate in links[:CANDIDATES]:
        fetched = await _get(candidate, pages)
        if fetched is not None and (found := await _read(candidate, fetched, parser)) is not None:
            return found
    return None


async def _get(url: str, pages: Pages) -> Fetched | None:
    try:
        return await pages.get_page(url, from_chat=True)
    except FetchError:
        return None


async def _read(url: str, fetched: Fetched, parser: Parser) -> Found | None:
    try:
        parsed = await parser.parse(fetched.body, url=fetched.url, content_type=fetched.content_type, listed={})
    except ParseError:
        return None
    moved = bool(fetched.hops) and all(status in (301, 308) for status, _ in fetched.hops)
    return Found(url=fetched.url if moved else url, parsed=parsed)


def newest(found: Found, feed: Feed, *, clock: Clock) -> Entry | None:
    """Return the newest entry as the store would keep it; None for an empty feed."""
    items = [item for item in found.parsed.items if isinstance(item, ParsedEntry)]
    if not items:
        return None
    section = decide_section([item.categories for item in items], title=found.parsed.title)
    return entry_of(
        _newest(items),
        feed=feed,
        feed_title=found.parsed.title,
        key=Key(bytes(16)),
        sections=section.names,
        date_only=not any(item.has_time for item in items),
        first_seen_at=clock.now(),
    )


def _newest(items: Sequence[ParsedEntry]) -> ParsedEntry:
    """The first of the latest date: most feeds list the newest one first."""
    dated = [item for item in items if item.published is not None]
    return max(dated, key=lambda item: item.published) if dated else items[0]  # type: ignore[arg-type,return-value]
