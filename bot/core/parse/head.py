"""What a document says of itself outside its items: title, site, hub, pages, and how often to ask (P6, P20, N18)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from bot.core.parse.fields import XML_SPACE, base_of, decode_references, inner, read_title, text_of
from bot.core.parse.scan import Element, Scan
from bot.core.text.characters import cut_line, one_line
from bot.core.text.links import http_url

MAX_TTL = timedelta(days=7)  # a longer wish is a mistake; the poll's own ceiling is lower still
_PERIODS = {"hourly": 1, "daily": 24, "weekly": 168, "monthly": 720, "yearly": 8760}
_DAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
MAX_AUTHOR = 200
_NAME = re.compile(r"<(?:[\w.-]+:)?name\b[^<>]*>(.*?)</", re.DOTALL)
_ADDRESS = re.compile(r"(?<![^\s<>()])[^\s<>()]+@[^\s<>()]+")  # looked for from a word's start alone: else quadratic
_PART = re.compile(r"<(hour|day)\b[^<>]*>\s*([^<]{1,20}?)\s*</", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a document."""

    title: str = ""
    site_url: str | None = None
    author: str | None = None
    ttl: timedelta | None = None
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[str, ...] = ()
    hub: str | None = None
    self_url: str | None = None
    next_page: str | None = None


def read_head(scan: Scan, *, url: str) -> Head:
    """Return what the head of `scan` says; relative links are resolved against xml:base, else `url`."""
    first: dict[str, Element] = {}
    for element in scan.head:
        first.setdefault(element.name, element)
    links = dict(reversed(list(_links(scan, url))))
    return Head(
        title=read_title(scan, first["title"]) if "title" in first else "",
        site_url=_site(scan, first, links, url),
        author=_author(scan, first),
        ttl=_ttl(scan, first),
        skip_hours=tuple(sorted({int(h) % 24 for h in _parts(scan, first, "skiphours") if h.isdecimal()}))[:24],
        skip_days=tuple(dict.fromkeys(d.lower() for d in _parts(scan, first, "skipdays") if d.lower() in _DAYS)),
        hub=links.get("hub"),
        self_url=links.get("self"),
        next_page=links.get("prev-archive") or links.get("next"),
    )


def _author(scan: Scan, first: dict[str, Element]) -> str | None:
    """Who writes the feed: an item without an author is theirs. Addresses are not names."""
    if scan.kind == "atom":
        name = _NAME.search(inner(scan, first["author"])[:4_000]) if "author" in first else None
        return name_of(text_of(name.group(1))) or None if name else None
    texts = (_text(scan, first, name) for name in ("managingeditor", "itunes:author", "dc:creator"))
    return next((name for name in map(name_of, texts) if name), None)


def name_of(author: str) -> str:
    """Return the name in what a feed says of an author; an address is none, and nobody's to hand on."""
    return cut_line(one_line(_ADDRESS.sub("", author)).strip('()<>,;" '), MAX_AUTHOR)


def _links(scan: Scan, url: str) -> Iterator[tuple[str, str]]:
    for element in scan.head:
        if element.name not in ("link", "atom:link"):
            continue
        href = decode_references(element.attributes.get("href", ""))
        if link := http_url(href, base_of(element.base, url)):
            for rel in (element.attributes.get("rel") or "alternate").lower().split():
                yield rel, link


def _site(scan: Scan, first: dict[str, Element], links: dict[str, str], url: str) -> str | None:
    if scan.kind != "atom" and (text := _text(scan, first, "link")):
        return http_url(text, url)
    if scan.kind != "atom":
        texts = (text_of(inner(scan, e)).strip(XML_SPACE) for e in scan.head if e.name == "link")
        return next((link for text in texts if (link := http_url(text, url))), links.get("alternate"))
    return links.get("alternate")


def _text(scan: Scan, first: dict[str, Element], name: str) -> str:
    return text_of(inner(scan, first[name])[:4_000]).strip(XML_SPACE) if name in first else ""


def _parts(scan: Scan, first: dict[str, Element], name: str) -> list[str]:
    return [value for _, value in _PART.findall(inner(scan, first[name])[:4_000])] if name in first else []


def _ttl(scan: Scan, first: dict[str, Element]) -> timedelta | None:
    """The longer of <ttl>, in minutes, and sy:updatePeriod over sy:updateFrequency."""
    wishes: list[timedelta] = []
    minutes = _text(scan, first, "ttl")
    if minutes.isdecimal() and 0 < int(minutes[:9]):
        wishes.append(timedelta(minutes=int(minutes[:9])))
    hours = _PERIODS.get(_text(scan, first, "sy:updateperiod").lower())
    times = _text(scan, first, "sy:updatefrequency")
    if hours:
        wishes.append(timedelta(hours=hours) / max(1, int(times[:6]) if times.isdecimal() else 1))
    return min(max(wishes), MAX_TTL) if wishes else None
