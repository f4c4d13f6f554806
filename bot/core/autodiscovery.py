"""Which feeds a web page names, and where feeds usually are when it names none."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from bot.core.text.characters import one_line
from bot.core.text.links import http_url

MAX_PAGE = 2_000_000  # characters that are looked at; links to feeds stand near the beginning
MAX_LINKS = 20  # nobody chooses among more

# Each scan ends at the next "<", so that the whole is linear whatever the page holds.
_TAG = re.compile(r"<(link|a|base)(?=[\s/>])((?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+'|[\"'])*+)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([a-z-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([a-zA-Z0-9_.:-]{1,40})", re.IGNORECASE)
_HIDDEN = (("<!--", "-->"), ("<script", "</script"), ("<style", "</style"), ("<template", "</template"))

_FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml")
# A site's API and its sitemap come as these as well; the address must say that it is a feed.
_LOOSE_TYPES = ("application/json", "application/xml", "text/xml")
_FEED_PATH = re.compile(r"(?:^|[/.?=_-])(?:feeds?|rss2?|atom|rdf|index\.xml|jsonfeed)(?:$|[/.?&=_-])", re.IGNORECASE)
_FEED_WORDS = re.compile(r"\b(?:rss|atom|feed)\b", re.IGNORECASE)
_FEED_SCHEME = re.compile(r"^feed:", re.IGNORECASE)  # of old browsers: "feed:https://…", "feed://…"
_COMMENTS = re.compile(r"\bcomments?\b", re.IGNORECASE)
_USUAL = ("index.xml", "feed/", "feed.xml", "atom.xml", "rss.xml", "rss", "feed.json")  # the likeliest first
MAX_PLACES = 8  # each is a request to a site that does not say that it has a feed


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLink:
    """A feed that a page names; `title` is how the page calls it."""

    url: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class _Tag:
    name: str
    attributes: dict[str, str]
    after: str  # the beginning of what follows, up to the next tag


def find_feeds(page: bytes, url: str) -> tuple[FeedLink, ...]:
    """Return the feeds of the page at `url`, the likeliest first.

    What the page declares (`<link rel="alternate">`) comes before links that look like a feed, feeds of comments
    come last. Only http(s) addresses, each once; nothing is fetched.
    """
    tags = list(_tags(_visible(_decoded(page)[:MAX_PAGE])))
    bases = (tag.attributes.get("href") for tag in tags if tag.name == "base")
    base = http_url(next(bases, None), url) or url
    declared = [link for tag in tags if tag.name == "link" and (link := _declared(tag, base))]
    linked = [link for tag in tags if tag.name == "a" and (link := _linked(tag, base))]
    unique: dict[str, FeedLink] = {}
    for link in (*declared, *linked):
        unique.setdefault(link.url, link)
    ordered = sorted(unique.values(), key=lambda link: bool(_COMMENTS.search(f"{link.title} {link.url}")))
    return tuple(ordered[:MAX_LINKS])


def usual_places(url: str) -> tuple[str, ...]:
    """Return where the feed of a page often is, to be tried when the page names none: below it, and below the root."""
    page = urlsplit(url)
    folder = urljoin(url, ".") if "." in page.path.rpartition("/")[2] else f"{url.partition('?')[0].partition('#')[0]}/"
    root = f"{page.scheme}://{page.netloc}/"
    places = (urljoin(start, name) for name in _USUAL for start in (folder.rstrip("/") + "/", root))
    return tuple(dict.fromkeys(place for place in places if http_url(place)))[:MAX_PLACES]


def _declared(tag: _Tag, base: str) -> FeedLink | None:
    rel = tag.attributes.get("rel", "").lower().split()
    kind = tag.attributes.get("type", "").partition(";")[0].strip().lower()
    href = tag.attributes.get("href", "")
    title = one_line(tag.attributes.get("title", ""))
    says_so = _FEED_PATH.search(href) or _FEED_WORDS.search(title)
    if not {"alternate", "feed"}.intersection(rel) or not (
        kind in _FEED_TYPES or (kind in _LOOSE_TYPES and says_so) or (not kind and "feed" in rel)
    ):
        return None
    url = http_url(href, base)
    return FeedLink(url=url, title=title) if url else None


def _linked(tag: _Tag, base: str) -> FeedLink | None:
    href = tag.attributes.get("href", "")
    words = one_line(html.unescape(tag.after)) or one_line(tag.attributes.get("title", ""))
    kind = tag.attributes.get("type", "").lower()
    if not (kind in _FEED_TYPES or _FEED_PATH.search(href) or re.fullmatch(r"(?i)(?:rss|atom)(?: feed)?", words)):
        return None
    url = http_url(href, base)
    if url is None or url.partition("#")[0] == base.partition("#")[0]:
        return None
    return FeedLink(url=url, title=words)


def _tags(page: str) -> Iterator[_Tag]:
    for found in _TAG.finditer(page):
        attributes: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(found[2]):
            # The first of two attributes counts, as in browsers.
            attributes.setdefault(name.lower(), html.unescape(double or single or bare).strip())
        if href := attributes.get("href"):
            attributes["href"] = _FEED_SCHEME.sub("", href)
        after = page[found.end() : found.end() + 200].partition("<")[0]
        yield _Tag(found[1].lower(), attributes, after)


def _visible(page: str) -> str:
    """Take out comments, scripts and styles: what stands there is no part of the page."""
    for opening, closing in _HIDDEN:
        lower = page.lower()
        # Some letters change their length when lowered; then positions would not fit.
        if len(lower) != len(page):
            lower = page
        pieces: list[str] = []
        at = 0
        while (start := lower.find(opening, at)) >= 0:
            pieces.append(page[at:start])
            end = lower.find(closing, start)
            at = len(page) if end < 0 else end + len(closing)
        pieces.append(page[at:])
        page = " ".join(pieces)
    return page


def _decoded(page: bytes) -> str:
    declared = _CHARSET.search(page[:4096])
    for charset in ("utf-8", declared[1].decode() if declared else "utf-8"):
        try:
            return page.decode(charset)
        except (LookupError, UnicodeError):  # no such charset, or not written in it
            continue
    return page.decode("latin-1")
