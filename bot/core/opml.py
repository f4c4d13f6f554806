"""OPML, the lists of feeds that readers exchange: read with bounds, and written."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from bot.core.errors import UsageError
from bot.core.model.feed import Feed
from bot.core.tags import unique_tags
from bot.core.text.characters import one_line
from bot.core.text.graphemes import cut
from bot.core.text.links import http_url

MAX_BYTES = 1_000_000
MAX_FEEDS = 500
MAX_DEPTH = 30
MAX_TITLE = 200
MAX_TAGS = 10

_CREDENTIALS = re.compile(r"//[^/\s]*@")
_UNTITLED = frozenset({"", "feeds", "subscriptions"})  # folders that say nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class OpmlFeed:
    """A feed of a list: its address, its name, and the folders and categories that it stands in as tags."""

    url: str
    title: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpmlList:
    """What a list holds; `skipped` are addresses that cannot be polled, without their credentials."""

    feeds: tuple[OpmlFeed, ...]
    skipped: tuple[str, ...] = ()


def parse_opml(source: bytes) -> OpmlList:
    """Read a list. Each address counts once, tags add up. Raises UsageError for anything else or too much."""
    if len(source) > MAX_BYTES:
        raise UsageError(f"the file is too large for a list of feeds; at most {MAX_BYTES // 1_000_000} MB")
    reader = _Reader()
    try:
        reader.read(source)
    except expat.ExpatError as error:
        words = expat.errors.messages.get(error.code, "not well-formed")
        raise UsageError(f"line {error.lineno} of the file is no well-formed XML: {words}") from error
    except (LookupError, ValueError) as error:  # an encoding that expat does not know
        raise UsageError("the file is written in an encoding that can't be read; save it as UTF-8") from error
    if not reader.is_opml:
        raise UsageError("the file is no OPML: its outermost element is not <opml>")
    return OpmlList(feeds=tuple(reader.feeds.values()), skipped=tuple(reader.skipped))


def to_opml(feeds: Iterable[tuple[Feed, str, str | None]]) -> str:
    """Write a list of (feed, its title, its site). No credentials or headers: lists are passed around."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<opml version="2.0">',
        "  <head><title>feedbell</title></head>",
        "  <body>",
    ]
    for feed, name, site_url in feeds:
        attributes = {"type": "rss", "text": name or feed.id, "title": name or feed.id, "xmlUrl": feed.url}
        if site_url:
            attributes["htmlUrl"] = site_url
        if feed.tags:
            attributes["category"] = ",".join(tag.replace(",", " ") for tag in feed.tags)
        written = " ".join(f"{key}={quoteattr(one_line(value))}" for key, value in attributes.items())
        lines.append(f"    <outline {written}/>")
    return "\n".join((*lines, "  </body>", "</opml>", ""))


@dataclass(slots=True)
class _Reader:
    """Holds what expat has told so far."""

    is_opml: bool = False
    depth: int = 0
    folders: list[str] = field(default_factory=list)  # one for each open outline; empty for those that are none
    feeds: dict[str, OpmlFeed] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def read(self, source: bytes) -> None:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        # No list needs entities of its own; refusing them refuses every bomb and every file from outside.
        parser.EntityDeclHandler = _refuse_entities
        parser.Parse(source, True)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UsageError(f"the list is nested too deep; at most {MAX_DEPTH} levels")
        if self.depth == 1:
            self.is_opml = name.lower() == "opml"
        if name.lower() != "outline":
            return
        plain = {key.lower(): value for key, value in attributes.items()}
        title = cut(one_line(plain.get("title") or plain.get("text") or ""), MAX_TITLE)
        self.folders.append("" if "xmlurl" in plain else title)
        if "xmlurl" in plain:
            self._add(plain["xmlurl"], title, plain.get("category", ""))

    def _end(self, name: str) -> None:
        self.depth -= 1
        if name.lower() == "outline":
            self.folders.pop()

    def _add(self, raw_url: str, title: str, categories: str) -> None:
        url = http_url(raw_url)
        if url is None:
            self.skipped.append(cut(_CREDENTIALS.sub("//…@", one_line(raw_url)), MAX_TITLE))
        else:
            before = self.feeds.get(url, OpmlFeed(url=url, title=title))
            # A category may be a path of its own: "/tech/networking".
            named = (one_line(part) for path in categories.split(",") for part in path.split("/"))
            folders = (folder for folder in self.folders if folder.casefold() not in _UNTITLED)
            tags = unique_tags((*before.tags, *folders, *(name for name in named if name)))[:MAX_TAGS]
            self.feeds[url] = OpmlFeed(url=url, title=before.title or title, tags=tags)
        if len(self.feeds) + len(self.skipped) > MAX_FEEDS:
            raise UsageError(f"the list holds too many feeds; at most {MAX_FEEDS}")


def _refuse_entities(*_declaration: object) -> None:
    raise UsageError("the file declares XML entities, which no list of feeds needs; remove its <!DOCTYPE> block")
