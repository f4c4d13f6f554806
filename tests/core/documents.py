"""Small feeds for tests, and the readers of the feeds in tests/feeds."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bot.core.model.entry import Key, ParsedEntry, ParsedFeed
from bot.core.parse.document import parse

FEEDS = Path(__file__).parent.parent / "feeds"
URL = "https://blog.example/feed.xml"
_HEAD = "<title>Blog</title><link>https://blog.example/</link>"


def rss(*items: str, head: str = _HEAD, attributes: str = "") -> str:
    """An RSS document with these items' inner sources."""
    inner = "".join(f"<item>{item}</item>" for item in items)
    return f'<?xml version="1.0"?><rss version="2.0"{attributes}><channel>{head}{inner}</channel></rss>'


def atom(*entries: str, head: str = "<title>Blog</title>") -> str:
    """An Atom document with these entries' inner sources."""
    inner = "".join(f"<entry>{entry}</entry>" for entry in entries)
    return f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">{head}{inner}</feed>'


def read(
    body: str | bytes,
    *,
    url: str = URL,
    content_type: str | None = "application/xml",
    listed: Mapping[bytes, Key] | None = None,
) -> ParsedFeed:
    """Parse a body as it would come from the network."""
    body = body.encode() if isinstance(body, str) else body
    return parse(body, url=url, content_type=content_type, listed=listed)


def entries(feed: ParsedFeed) -> list[ParsedEntry]:
    """The items of a feed that was parsed whole."""
    return [item for item in feed.items if isinstance(item, ParsedEntry)]


def first(body: str | bytes, **options: Any) -> ParsedEntry:
    """The first entry of a body."""
    return entries(read(body, **options))[0]


def hostile() -> Iterator[Mapping[str, Any]]:
    """The rows of the hostile set that have a file."""
    with (FEEDS / "hostile" / "index.jsonl").open(encoding="utf-8") as index:
        yield from (row for row in map(json.loads, index) if row["path"])


def read_hostile(path: str) -> ParsedFeed:
    """Parse a file of the hostile set as its index says that it is served."""
    row = next(row for row in hostile() if row["path"] == path)
    body = (FEEDS / "hostile" / path).read_bytes()
    return parse(body, url="https://hostile.example/feed.xml", content_type=row["headers"].get("Content-Type"))
