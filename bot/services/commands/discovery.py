"""Find the feed that an address from chat means. Failures say nothing about the network behind us (T4)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bot.core.errors import FetchError, ParseError
from bot.core.model.entry import Entry, Key, ParsedEntry, ParsedFeed
from bot.core.model.feed import Feed, moved_for_good
from bot.core.recording import entry_of
from bot.core.tags import decide_section
from bot.ports import Clock, Parser
from bot.services.discovery import Discovery, PageFetcher

PATIENCE = 40.0  # seconds for all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A feed, read whole. `url` is where it is to be polled."""

    url: str
    parsed: ParsedFeed


async def discover(url: str, *, pages: PageFetcher, parser: Parser) -> Found | None:
    """Return the feed at `url`, or the one that the page there names; None whatever goes wrong."""
    try:
        async with asyncio.timeout(PATIENCE):
            found = await Discovery(pages, parser).find(url, from_chat=True)
    except (TimeoutError, FetchError, ParseError):
        return None
    url = found.fetched.url if moved_for_good(found.fetched.hops) else found.url
    return Found(url=url, parsed=found.parsed)


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
