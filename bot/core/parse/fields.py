"""Read one item as written: id, link, title, categories, dates. Nothing that identifies it is resolved or guessed."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from bot.core.parse.dates import parse_date
from bot.core.parse.scan import Element, Item, Scan
from bot.core.text.characters import cut_line, one_line
from bot.core.text.links import http_url
from bot.core.text.markup import decode_entities, plain_text, title_text

XML_SPACE = " \t\r\n"
MAX_TITLE = 1_000
_HTML_TYPES = frozenset({"html", "text/html", "application/xhtml+xml"})
MAX_GUID = 10_000
MAX_CATEGORIES = 200
MAX_SOURCE = 600_000  # characters of a text's source, before references are decoded

_CDATA = "<![CDATA["
_WRAPPED = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z_][^<>]*>")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What an item says of itself, before any date or link is understood."""

    guid: str | None
    link: str | None
    title: str
    categories: tuple[str, ...]
    published: str
    updated: str
    description: str | None  # HTML; None where the element is missing or holds real markup


def read_item(scan: Scan, item: Item, *, url: str) -> Written:
    """Return the fields of `item`; a relative link is resolved against xml:base, else `url`."""
    by_name: dict[str, list[Element]] = {}
    for child in item.children:
        by_name.setdefault(child.name, []).append(child)
    atom = scan.kind == "atom"
    guid = _guid(scan, item, by_name)
    links = _links_atom(scan, by_name.get("link", [])) if atom else _links_rss(scan, by_name)
    resolved = (http_url(raw, base_of(base or item.base, url)) for raw, base in links)
    return Written(
        guid=guid,
        link=next((link for link in resolved if link), None),
        title=_title(scan, by_name),
        categories=_categories(scan, item.children),
        published=_date(scan, by_name, _PUBLISHED_ATOM if atom else _PUBLISHED_RSS),
        updated=_date(scan, by_name, _UPDATED_ATOM if atom else _UPDATED_RSS),
        description=None if atom else _description(scan, by_name.get("description", [])),
    )


_PUBLISHED_ATOM = ("published", "issued", "created", "dc:date", "dcterms:issued", "pubdate")
_UPDATED_ATOM = ("updated", "modified", "dcterms:modified")
_PUBLISHED_RSS = ("pubdate", "dc:date", "atom:published", "published", "dcterms:issued", "dcterms:created", "date")
_UPDATED_RSS = ("atom:updated", "dcterms:modified", "updated", "lastbuilddate")


def inner(scan: Scan, element: Element) -> str:
    """The source between an element's tags."""
    return scan.text[element.inner : element.inner_end]


def text_of(source: str) -> str:
    """Return the character data of an element's source: CDATA as is, references decoded once, tags dropped."""
    if "<" not in source:
        return decode_references(source)
    return "".join(
        piece if literal else decode_references(_TAG.sub("", _COMMENT.sub("", piece)))
        for literal, piece in _sections(source)
    )


def words_of(source: str) -> str:
    """The same without a CDATA section that was escaped itself. What identifies an entry stays as written."""
    return unwrapped(text_of(source))


def unwrapped(text: str) -> str:
    """Return the words in a text that is, all of it, the source of a CDATA section."""
    inside = _WRAPPED.fullmatch(text) if _CDATA in text[:200] else None
    return inside.group(1) if inside else text


def decode_references(source: str) -> str:
    """Decode XML and HTML references once; numbers that XML forbids become U+FFFD."""
    return decode_entities(source).translate(_NOT_TEXT) if "&" in source else source


_NOT_TEXT = dict.fromkeys([*range(0x20), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF], "\ufffd")
for _allowed in (0x9, 0xA, 0xD):
    del _NOT_TEXT[_allowed]


def has_markup(source: str) -> bool:
    """Whether an element holds elements, not just words."""
    return "<" in source and any(not literal and _TAG.search(piece) for literal, piece in _sections(source))


def _sections(source: str) -> Iterator[tuple[bool, str]]:
    """Yield (is CDATA, piece) for the pieces of a source."""
    at = 0
    while (start := source.find(_CDATA, at)) >= 0:
        yield False, source[at:start]
        end = source.find("]]>", start)
        end = end if end >= 0 else len(source)
        yield True, source[start + len(_CDATA) : end]
        at = end + 3
    yield False, source[at:]


def _guid(scan: Scan, item: Item, by_name: dict[str, list[Element]]) -> str | None:
    for element in by_name.get("id" if scan.kind == "atom" else "guid", []):
        # Of several guids the first counts: feedparser takes the last.
        if text := text_of(inner(scan, element)).strip(XML_SPACE):
            return text[:MAX_GUID]
    about = next((value for name, value in item.attributes.items() if name.rpartition(":")[2] == "about"), "")
    return decode_references(about).strip(XML_SPACE)[:MAX_GUID] or None if scan.kind == "rdf" else None


_Link: TypeAlias = tuple[str, str | None]  # as written, and the xml:base in force


def _links_rss(scan: Scan, by_name: dict[str, list[Element]]) -> Iterator[_Link]:
    """What may be the link, best first: the next one counts where one leads nowhere (`javascript:`, "n/a")."""
    for element in by_name.get("link", []):
        if text := words_of(inner(scan, element)).strip(XML_SPACE):
            yield text, element.base
    yield from _links_atom(scan, [*by_name.get("link", []), *by_name.get("atom:link", [])])
    for element in by_name.get("guid", []):
        text = text_of(inner(scan, element)).strip(XML_SPACE)
        # A guid is a permalink unless it says that it is none; without saying so only a URL is believed.
        said = _attribute(element, "ispermalink").lower()
        if said != "false" and (http_url(text) or (said == "true" and text.startswith("/"))):
            yield text, element.base


def _links_atom(scan: Scan, links: list[Element]) -> list[_Link]:
    """The alternate links, HTML ones before others; without any, the text of a link that says nothing else."""
    ranked = [
        ((_attribute(element, "type") or "text/html").lower() not in _PAGES, (href, element.base))
        for element in links
        if (href := _attribute(element, "href")) and _is_alternate(element)
    ]
    if ranked:
        return [link for _, link in sorted(ranked, key=lambda pair: pair[0])]
    texts = ((text_of(inner(scan, e)).strip(XML_SPACE), e.base) for e in links if not e.attributes)
    return [link for link in texts if link[0]]


def _is_alternate(link: Element) -> bool:
    return (_attribute(link, "rel") or "alternate").lower().rpartition("/")[2] == "alternate"


_PAGES = frozenset(["text/html", "application/xhtml+xml"])


def base_of(base: str | None, url: str) -> str:
    """What links are relative to: xml:base, itself relative to the document where it is not absolute."""
    return http_url(base, url) or url if base else url


def _title(scan: Scan, by_name: dict[str, list[Element]]) -> str:
    for name in ("title", "dc:title"):
        for element in by_name.get(name, []):
            if title := read_title(scan, element):
                return title
    return ""


def read_title(scan: Scan, element: Element) -> str:
    """Return a title as one line of plain text, by the type its format gives it."""
    source = inner(scan, element)[: 20 * MAX_TITLE]
    kind = _attribute(element, "type").lower() if scan.kind == "atom" else ""
    if has_markup(source):
        return plain_line(source)
    text = words_of(source)
    if scan.kind != "atom":
        return cut_line(title_text(text), MAX_TITLE)
    is_html = _attribute(element, "mode").lower() == "escaped" or kind in _HTML_TYPES
    return cut_line(title_text(text, markup=is_html), MAX_TITLE)


def plain_line(source: str) -> str:
    """One line of text of a source with real elements in it."""
    as_html = "".join(html.escape(piece) if literal else piece for literal, piece in _sections(source))
    return cut_line(one_line(plain_text(as_html)), MAX_TITLE)


def _categories(scan: Scan, children: list[Element]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for element in children:
        if element.name in ("category", "dc:subject", "atom:category"):
            label = one_line(_attribute(element, "label"))
            term = one_line(_attribute(element, "term") or words_of(inner(scan, element)[:2_000]))
            # An address is a name for programs; the label beside it is what people call it (RFC 4287, 4.2.2.3).
            term = label if label and (not term or http_url(term)) else term
            if term and len(found) < MAX_CATEGORIES:
                found.setdefault(term)
    return tuple(found)


def _date(scan: Scan, by_name: dict[str, list[Element]], names: tuple[str, ...]) -> str:
    """The first of these elements that can be read as a date; where none can, the first that says anything."""
    elements = (element for name in names for element in by_name.get(name, []))
    texts = [text for e in elements if (text := words_of(inner(scan, e)[:500]).strip(XML_SPACE))]
    return next((text for text in texts if len(texts) == 1 or parse_date(text)), texts[0] if texts else "")


def _description(scan: Scan, elements: list[Element]) -> str | None:
    for element in elements:
        source = inner(scan, element)[:MAX_SOURCE]
        if has_markup(source):
            return None
        if text := words_of(source).strip():
            return text
    return None


def _attribute(element: Element, name: str) -> str:
    return decode_references(element.attributes.get(name, "")).strip(XML_SPACE)
