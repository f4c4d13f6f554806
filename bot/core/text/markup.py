"""HTML of feeds as plain words: tags that are none stay as text, entities are decoded exactly once."""

import html
import re
from html.entities import html5

from bot.core.text.characters import clean, one_line

MAX_HTML = 64_000  # characters of one body that are looked at; nobody reads more in a chat

_NAMES = (
    "a abbr acronym address area article aside audio b base basefont bdi bdo bgsound big blink blockquote body br "
    "button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em "
    "embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html "
    "i iframe img input ins kbd label legend li link main map mark marquee math menu meta meter nav nobr noembed "
    "noframes noscript object ol optgroup option output p param picture pre progress q rb rp rt rtc ruby s samp "
    "script section select small source span strike strong style sub summary sup svg table tbody td template "
    "textarea tfoot th thead time title tr track tt u ul var video wbr xmp path g circle rect line polygon polyline"
)
KNOWN = frozenset(_NAMES.split())
INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code del dfn em font i img ins kbd mark nobr p q s samp small span strike "
    "strong sub sup tt u var wbr script style div h1 h2 h3 h4 h5 h6 blockquote center ruby rt rp time pre li ul "
    "ol".split()
)
_VOID = frozenset("br img hr wbr".split())
_BREAKING = frozenset(
    "address article aside blockquote br caption center dd details div dl dt fieldset figcaption figure footer form h1 "
    "h2 h3 h4 h5 h6 header hr li main menu nav ol p pre section summary table tbody tfoot thead tr ul option".split()
)
_CELLS = frozenset(["td", "th"])
_HIDDEN = frozenset("script style template iframe object head svg math noframes noembed xmp".split())

_TAG = re.compile(
    r"<(/?)([A-Za-z][A-Za-z0-9]*(?:[:-][A-Za-z0-9_.:-]+)?)((?:[\s/](?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)?)>"
)
_LOOSE_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)([\s/][^<>]{0,2000})?>")
# Other words after `<!` are no markup that anybody writes, but how chats name a ping: `<!here>` is shown as typed.
_DECLARATION = re.compile(r"<(?:!\[|\?[A-Za-z\[]|!(?:doctype|element|attlist|entity|notation)\b)", re.IGNORECASE)
_CLOSING = re.compile(r"</([a-z][a-z0-9:_.-]*)\s*>")
_COMMENT_END = re.compile(r"--!?>")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BLANKS = re.compile(r"[ \t\u00a0]*\n\s*")
_RUNS = re.compile(r"[ \t\r\u00a0]+")


def decode_entities(text: str) -> str:
    """Return `text` with its character references decoded once; only those that end in a semicolon count."""
    return _ENTITY.sub(_decoded, text) if "&" in text else text


def _decoded(match: re.Match[str]) -> str:
    entity = match.group()
    # html.unescape would take `&notanentity;` for `¬anentity;`: names count whole or not at all.
    return html.unescape(entity) if entity[1] == "#" else html5.get(entity[1:], entity)


def plain_text(source: str) -> str:
    """Return the words of an HTML source: paragraphs and list items on lines of their own, no markup.

    They are never longer than the source, of which MAX_HTML characters are looked at.
    """
    if "<" not in source and "&" not in source:
        return _tidy(source[:MAX_HTML])
    html_ = _Source(source[:MAX_HTML])
    source = html_.text.replace("\n", " ")
    pieces: list[str] = []
    at = 0
    while (tag := source.find("<", at)) >= 0:
        pieces.append(source[at:tag])
        at = _skip(html_, tag, pieces)
    pieces.append(source[at:])
    return _tidy(decode_entities("".join(pieces)))


def title_text(raw: str, *, markup: bool | None = None) -> str:
    """Return a title as one line of plain text.

    `markup` says whether it is HTML; None means nobody said so (RSS): then only what is surely
    markup counts, a pair of known tags or a character reference, and `List<String>` stays.
    """
    if markup is False:
        return one_line(raw)
    if markup:
        return one_line(plain_text(raw))
    if "<" in raw:
        raw = _without_pairs(raw[:MAX_HTML])
    return one_line(decode_entities(raw))


def escape_unknown_tags(source: str) -> str:
    """Return `source` with each `<` that opens no tag as `&lt;`, so that `<user@host>` and `a < b` survive."""
    html_ = _Source(source)
    pieces: list[str] = []
    at = 0
    while (tag := source.find("<", at)) >= 0:
        pieces.append(source[at:tag])
        end = html_.markup_end(tag, html_.tag(tag))
        pieces.append(source[tag:end] if end else "&lt;")
        at = end or tag + 1
    pieces.append(source[at:])
    return "".join(pieces)


class _Source:
    """An HTML source with what is looked up again and again: which tags it closes, where comments cannot end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lower = text.lower()
        self._closed = set(_CLOSING.findall(self.lower))
        self._last_end = max(text.rfind("-->"), text.rfind("--!>"))

    def tag(self, at: int) -> re.Match[str] | None:
        """The tag that begins at `at`, if that is one."""
        return _TAG.match(self.text, at) or _LOOSE_TAG.match(self.text, at)

    def markup_end(self, at: int, tag: re.Match[str] | None) -> int:
        """Where the tag, comment or declaration that begins at `at` ends; 0 when there is none."""
        if tag is not None:
            name = tag.group(2).lower()
            known = name in KNOWN or name in self._closed or (("-" in name or ":" in name) and not name.endswith(":"))
            return tag.end() if known else 0
        if self.text.startswith("<!--", at):
            end = _COMMENT_END.search(self.text, at + 4) if at + 4 <= self._last_end else None
            return end.end() if end else 0
        return self.text.find(">", at) + 1 if _DECLARATION.match(self.text, at) else 0


def _skip(source: _Source, at: int, pieces: list[str]) -> int:
    """Step over the markup at `at`, leaving the break or space that it means; return where words go on."""
    tag = source.tag(at)
    end = source.markup_end(at, tag)
    if not end:
        pieces.append("<")
        return at + 1
    if tag is None:
        return end
    name = tag.group(2).lower()
    if name in _HIDDEN and not tag.group(1) and not (tag.group(3) or "").endswith("/"):
        return _after_hidden(source, end, name)
    if name in _BREAKING:
        pieces.append("\n")
    elif name in _CELLS:
        pieces.append(" ")
    return end


def _after_hidden(source: _Source, at: int, name: str) -> int:
    close = source.lower.find(f"</{name}", at)
    if close < 0:
        return len(source.text) if name in ("script", "style") else at
    end = source.text.find(">", close)
    return end + 1 if end >= 0 else len(source.text)


def _without_pairs(raw: str) -> str:
    """Drop the tags of a title that are surely tags: known ones that are void, or have their counterpart."""
    opened: dict[str, int] = {}
    closed: dict[str, int] = {}
    for match in _TAG.finditer(raw):
        counts = closed if match.group(1) else opened
        name = match.group(2).lower()
        counts[name] = counts.get(name, 0) + 1
    raw = re.sub(r"(?is)<(script|style)\b[^<>]*>[^<]*</\1\s*>", "", raw)

    def drop(match: re.Match[str]) -> str:
        name = match.group(2).lower()
        if name not in INLINE or not (name in _VOID or (name in opened and name in closed)):
            return match.group()
        return " " if name in _BREAKING else ""

    return _TAG.sub(drop, raw)


def _tidy(text: str) -> str:
    return _BLANKS.sub("\n", _RUNS.sub(" ", clean(text))).strip()
