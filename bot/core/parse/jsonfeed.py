"""JSON Feed 1.0 and 1.1: our own small reader, since feedparser has none (jsonfeed.org)."""

import html
from collections.abc import Mapping

from bot.core.errors import NotAFeed
from bot.core.model.entry import ParsedEntry, ParsedFeed
from bot.core.model.message import JsonValue
from bot.core.parse.dates import When, has_time, parse_date
from bot.core.parse.fields import MAX_CATEGORIES, MAX_GUID, MAX_TITLE, XML_SPACE
from bot.core.parse.jsontext import VERSION, load
from bot.core.parse.library import MAX_BODY
from bot.core.parse.limits import pick
from bot.core.parse.pictures import first_picture
from bot.core.text.characters import clean, cut_line, one_line
from bot.core.text.links import http_url
from bot.core.text.markup import plain_text, title_text


def read_json(text: str, *, url: str) -> ParsedFeed:
    """Return the feed in `text`; raises NotAFeed for other JSON. Of a cut-off one there are the complete items."""
    document, is_cut = load(text)
    if not isinstance(document, dict) or VERSION not in _word(document.get("version")):
        raise NotAFeed("JSON, but not a JSON Feed")
    entries = [item for item in _list(document.get("items")) if isinstance(item, dict)]
    author = _author(document)
    hubs = [hub for hub in _list(document.get("hubs")) if isinstance(hub, dict)]
    return ParsedFeed(
        items=tuple(_entry(item, url=url, author=author) for item in pick(entries)),
        title=cut_line(one_line(_word(document.get("title"))), MAX_TITLE),
        site_url=_link(document.get("home_page_url"), url),
        truncated=is_cut,
        total=len(entries),
        hub=next((link for hub in hubs if (link := _link(hub.get("url"), url))), None),
        self_url=_link(document.get("feed_url"), url),
        next_page=_link(document.get("next_url"), url),
    )


def _entry(item: Mapping[str, JsonValue], *, url: str, author: str | None) -> ParsedEntry:
    content = clean(_word(item.get("content_html")))[:MAX_BODY]
    if not content:
        content = _escaped(_word(item.get("content_text")))
    summary = _escaped(_word(item.get("summary")))
    published, raw = _date(item, "date_published")
    updated, raw_updated = _date(item, "date_modified")
    link = _link(item.get("url"), url) or _link(item.get("external_url"), url)
    enclosures = [part for part in _list(item.get("attachments")) if isinstance(part, dict)]
    return ParsedEntry(
        guid=_id(item.get("id")),
        link=link,
        enclosure=next((found for part in enclosures if (found := _link(part.get("url"), url))), None),
        title=cut_line(title_text(_words(item.get("title"))[: 20 * MAX_TITLE], markup=False), MAX_TITLE),
        summary_html=summary,
        content_html=content,
        text=plain_text(summary) or plain_text(content),
        categories=_tags(item.get("tags")),
        author=_author(item) or author,
        image=_link(item.get("image"), url)
        or _link(item.get("banner_image"), url)
        or first_picture(content, link or url),
        published=published.at if published else None,
        updated=updated.at if updated else None,
        raw_date=raw or raw_updated,
        has_time=has_time(published, updated),
    )


def _date(item: Mapping[str, JsonValue], name: str) -> tuple[When | None, str]:
    raw = _word(item.get(name)).strip(XML_SPACE)[:200]
    return parse_date(raw), raw


def _id(value: JsonValue) -> str | None:
    """An id as a string; numbers are common, and mean their digits (the specification says to coerce)."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return _words(value).strip(XML_SPACE)[:MAX_GUID] or None


def _author(holder: Mapping[str, JsonValue]) -> str | None:
    candidates = [*_list(holder.get("authors")), holder.get("author")]
    names = [one_line(_word(c.get("name"))) for c in candidates if isinstance(c, dict)]
    return next((name for name in names if name), None)


def _tags(value: JsonValue) -> tuple[str, ...]:
    terms = [one_line(tag) for tag in _list(value) if isinstance(tag, str)]
    return tuple(dict.fromkeys(term for term in terms if term))[:MAX_CATEGORIES]


def _link(value: JsonValue, url: str) -> str | None:
    return http_url(value, url) if isinstance(value, str) and value.strip() else None


def _escaped(text: str) -> str:
    return html.escape(clean(text), quote=False).replace("\n", "<br>")[:MAX_BODY]


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _word(value: JsonValue) -> str:
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _words(value: JsonValue) -> str:
    """A string, or a number as its digits: a generator that knows types makes the title "2026" one."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else _word(value)
