"""Feed HTML as blocks of spans: cleaned by nh3, then walked once; nothing but words and http(s) links is left."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import nh3

from bot.core.model.message import Block, Bullets, Paragraph, Preformatted, Quote, Span, Text
from bot.core.text.characters import clean
from bot.core.text.graphemes import ELLIPSIS, cut
from bot.core.text.links import http_url
from bot.core.text.markup import MAX_HTML, escape_unknown_tags

MAX_NESTING = 60  # elements in elements; the cleaner takes time by the square of it
MAX_BLOCKS = 400  # far more than any platform shows

_TAGS = {
    *("a", "b", "strong", "i", "em", "cite", "dfn", "s", "del", "strike", "code", "tt", "kbd", "samp", "pre"),
    *("p", "div", "section", "article", "br", "hr", "ul", "ol", "li", "dl", "dt", "dd", "blockquote", "figure"),
    *("figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "table", "tr", "td", "th", "caption", "details", "summary"),
}
_HIDDEN = {"script", "style", "iframe", "object", "embed", "template", "noframes", "noembed", "svg", "math", "head",
           "select", "textarea", "button", "video", "audio", "canvas"}  # fmt: skip
_STYLES = {
    **dict.fromkeys(("b", "strong", "h1", "h2", "h3", "h4", "h5", "h6", "dt", "th", "summary", "caption"), "bold"),
    **dict.fromkeys(("i", "em", "cite", "dfn"), "italic"),
    **dict.fromkeys(("s", "del", "strike"), "strike"),
    **dict.fromkeys(("code", "tt", "kbd", "samp"), "code"),
}
# A new one ends the one before, or they hold nothing: many of them are no nesting.
_SELF_CLOSING = frozenset(
    "p li dt dd tr td th option br hr img wbr input col source track embed area link meta".split()
)
_ANY_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)\b[^<>]*>")
_INLINE = {"a", "b", "strong", "i", "em", "cite", "dfn", "s", "del", "strike", "code", "tt", "kbd", "samp", "td", "th"}


def html_to_blocks(html: str, *, base_url: str | None) -> tuple[Block, ...]:
    """Return what a person reads of `html`: paragraphs, lists, quotes, code; links absolute http(s) only.

    Scripts, styles, frames and images are gone; a table gives one paragraph a row. Plain text
    comes in escaped, so that entities are decoded exactly once.
    """
    source = _flattened(escape_unknown_tags(html[:MAX_HTML]))
    cleaned = nh3.clean(source, tags=_TAGS, clean_content_tags=_HIDDEN, attributes={"a": {"href"}},
                        url_schemes={"http", "https"}, link_rel=None, strip_comments=True)  # fmt: skip
    walker = _Walker(base_url)
    walker.feed(cleaned)
    walker.close()
    walker.flush()
    return tuple(walker.blocks[:MAX_BLOCKS])


def cut_blocks(blocks: tuple[Block, ...], budget: int) -> tuple[Block, ...]:
    """Return the beginning of `blocks` whose words fit into `budget` characters, "…" where something was cut."""
    kept: list[Block] = []
    for at, block in enumerate(blocks):
        size = _length(block)
        if size > budget or (size == budget and at + 1 < len(blocks)):
            short = _cut_block(block, budget)
            kept.extend([short] if short is not None else [])
            return tuple(kept) if short is not None else _ended(kept)
        kept.append(block)
        budget -= size
    return tuple(kept)


def _flattened(source: str) -> str:
    """Return `source` without the tags that are nested too deep; their words stay."""
    depth = 0

    def keep(tag: re.Match[str]) -> str:
        nonlocal depth
        if tag.group(2).lower() in _SELF_CLOSING:
            return tag.group()
        depth = max(0, depth - 1) if tag.group(1) else depth + 1
        return tag.group() if depth + bool(tag.group(1)) <= MAX_NESTING else ""

    return _ANY_TAG.sub(keep, source)


class _Walker(HTMLParser):
    """Collects spans and closes a block at each break. Gets clean, balanced HTML only."""

    def __init__(self, base_url: str | None) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._base_url = base_url
        self._spans: list[Text] = []
        self._open: dict[str, int] = {}
        self._href: list[str | None] = []
        self._lists: list[tuple[bool, list[tuple[Span, ...]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            self._add("\n", raw=True)
            return
        if tag not in _INLINE:
            self.flush()
        elif tag in ("td", "th") and self._spans:
            self._add(" · ", raw=True)
        self._open[tag] = self._open.get(tag, 0) + 1
        if tag == "a":
            self._href.append(http_url(dict(attrs).get("href"), self._base_url))
        elif tag in ("ul", "ol") and not self._lists:
            self._lists.append((tag == "ol", []))

    def handle_endtag(self, tag: str) -> None:
        if tag not in _INLINE:
            self.flush()
        self._open[tag] = max(0, self._open.get(tag, 0) - 1)
        if tag == "a" and self._href:
            self._href.pop()
        elif tag in ("ul", "ol") and self._lists and not self._open.get("ul") and not self._open.get("ol"):
            ordered, items = self._lists.pop()
            if items:
                self.blocks.append(Bullets(items=tuple(items), ordered=ordered))

    def handle_data(self, data: str) -> None:
        self._add(data, raw=bool(self._open.get("pre")))

    def flush(self) -> None:
        """Close the block that is being collected."""
        collected, self._spans = self._spans, []
        spans = _trimmed(collected)
        if not spans or len(self.blocks) > MAX_BLOCKS:
            return
        if self._lists:
            self._lists[0][1].append(spans)
        elif self._open.get("pre"):
            code = "".join(span.text for span in collected)
            self.blocks.append(Preformatted(text=code.strip("\n").rstrip()))
        elif self._open.get("blockquote"):
            self.blocks.append(Quote(spans=spans))
        else:
            self.blocks.append(Paragraph(spans=spans))

    def _add(self, data: str, *, raw: bool) -> None:
        text = clean(data)
        if not raw:
            text = _collapsed(text, after=self._spans)
        if not text:
            return
        styles = {style for tag, style in _STYLES.items() if self._open.get(tag)}
        span = Text(text=text, bold="bold" in styles, italic="italic" in styles, strike="strike" in styles,
                    code="code" in styles, href=self._href[-1] if self._href else None)  # fmt: skip
        last = self._spans[-1] if self._spans else None
        if last is not None and replace(last, text="") == replace(span, text=""):
            self._spans[-1] = replace(last, text=last.text + text)
        else:
            self._spans.append(span)


def _collapsed(text: str, *, after: list[Text]) -> str:
    words = " ".join(text.split())
    if text[:1].isspace() and after and not after[-1].text[-1:].isspace():
        words = " " + words
    return words + " " if text[-1:].isspace() and words.strip() else words


def _trimmed(spans: list[Text]) -> tuple[Span, ...]:
    """Without white space at both ends; nothing where there is nothing else."""
    filled = [at for at, span in enumerate(spans) if span.text.strip()]
    if not filled:
        return ()
    kept = spans[filled[0] : filled[-1] + 1]
    kept[0] = replace(kept[0], text=kept[0].text.lstrip())
    kept[-1] = replace(kept[-1], text=kept[-1].text.rstrip())
    return tuple(kept)


def _spans_of(block: Block) -> tuple[tuple[Span, ...], ...]:
    if isinstance(block, Bullets):
        return block.items
    if isinstance(block, Preformatted):
        return ((Text(text=block.text),),)
    return (block.spans,)


def _length(block: Block) -> int:
    return sum(len(span.text) for spans in _spans_of(block) for span in spans if isinstance(span, Text))


def _cut_block(block: Block, budget: int) -> Block | None:
    """The beginning of a block that may not end where it does, with "…"; None where nothing fits."""
    if isinstance(block, Preformatted):
        return replace(block, text=cut(block.text, min(budget, len(block.text) - 1))) if budget > 1 else None
    items: list[tuple[Span, ...]] = []
    room = budget - 1  # for the mark, should the cut fall between two spans
    for spans in _spans_of(block):
        kept, room = _cut_spans(spans, room)
        items.extend([kept] if kept else [])
    if not items:
        return None
    items[-1] = _marked(items[-1])
    return replace(block, items=tuple(items)) if isinstance(block, Bullets) else replace(block, spans=items[0])


def _cut_spans(spans: tuple[Span, ...], budget: int) -> tuple[tuple[Span, ...], int]:
    kept: list[Span] = []
    for span in spans:
        if not isinstance(span, Text):
            kept.append(span)
            continue
        text = cut(span.text, budget)
        if text != span.text:
            kept.extend([replace(span, text=text)] if text else [])
            return tuple(kept), 0
        kept.append(span)
        budget -= len(text)
    return tuple(kept), budget


def _marked(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Let the last words end in "…", once."""
    last = spans[-1]
    if isinstance(last, Text) and last.text.endswith(ELLIPSIS):
        return spans
    return (*spans, Text(text=ELLIPSIS))


def _ended(kept: list[Block]) -> tuple[Block, ...]:
    """Mark the last block as not the end, where the next one found no room at all."""
    return (*kept, Paragraph(spans=(Text(text=ELLIPSIS),))) if kept else ()
