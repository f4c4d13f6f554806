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
    """Return the words of an HTML source: paragraphs and list items on lines of their own, no markup."""
    if "<" not in source and "&" not in source:
        return _tidy(source[:MAX_HTML])
    source = escape_unknown_tags(source[:MAX_HTML])
    pieces: list[str] = []
    at = 0
    while (tag := source.find("<", at)) >= 0:
        pieces.append(_RUNS.sub(" ", source[at:tag].replace("\n", " ")))
        at = _skip(source, tag, pieces)
    pieces.append(_RUNS.sub(" ", source[at:].replace("\n", " ")))
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
    closed = {name.lower() for name in re.findall(r"</([A-Za-z][A-Za-z0-9:_.-]*)\s*>", source)}
    pieces: list[str] = []
    at = 0
    while (tag := source.find("<", at)) >= 0:
        pieces.append(source[at:tag])
        end = _markup_end(source, tag, closed)
        pieces.append(source[tag:end] if end else "&lt;")
        at = end or tag + 1
    pieces.append(source[at:])
    return "".join(pieces)


def _markup_end(source: str, at: int, closed: set[str]) -> int:
    """Where the tag or comment that begins at `at` ends; 0 when there is none."""
    if source.startswith("<!--", at):
        end = _COMMENT_END.search(source, at + 4)
        return end.end() if end else 0
    if source.startswith(("<!", "<?"), at):
        return source.find(">", at) + 1 if source[at + 2 : at + 3].isalpha() or source[at + 2 : at + 3] == "[" else 0
    match = _TAG.match(source, at) or _LOOSE_TAG.match(source, at)
    if match is None:
        return 0
    name = match.group(2).lower()
    known = name in KNOWN or name in closed or (("-" in name or ":" in name) and not name.endswith(":"))
    return match.end() if known else 0


def _skip(source: str, at: int, pieces: list[str]) -> int:
    """Step over the markup at `at`, leaving the break or space that it means; return where words go on."""
    if source.startswith("<!", at) or source.startswith("<?", at):
        end = _markup_end(source, at, set())
        return end or at + 1
    match = _TAG.match(source, at) or _LOOSE_TAG.match(source, at)
    if match is None:
        return at + 1
    name, closing = match.group(2).lower(), bool(match.group(1))
    if name in _HIDDEN and not closing and not match.group(3).endswith("/"):
        return _after_hidden(source, match.end(), name)
    if name in _BREAKING:
        pieces.append("\n")
    elif name in _CELLS:
        pieces.append(" ")
    return match.end()


def _after_hidden(source: str, at: int, name: str) -> int:
    close = source.lower().find(f"</{name}", at) if len(source) - at < MAX_HTML else -1
    if close < 0:
        return len(source) if name in ("script", "style") else at
    end = source.find(">", close)
    return end + 1 if end >= 0 else len(source)


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
