"""Feed HTML as blocks of spans: cleaned by nh3, then walked once; nothing but words and http(s) links is left."""

from dataclasses import replace
from html.parser import HTMLParser

import nh3

from bot.core.model.message import Block, Bullets, Paragraph, Preformatted, Quote, Span, Text
from bot.core.text.characters import clean
from bot.core.text.graphemes import cut
from bot.core.text.links import http_url
from bot.core.text.markup import MAX_HTML, escape_unknown_tags

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
_INLINE = {"a", "b", "strong", "i", "em", "cite", "dfn", "s", "del", "strike", "code", "tt", "kbd", "samp", "td", "th"}


def html_to_blocks(html: str, *, base_url: str | None) -> tuple[Block, ...]:
    """Return what a person reads of `html`: paragraphs, lists, quotes, code; links absolute http(s) only.

    Scripts, styles, frames and images are gone; a table gives one paragraph a row. Plain text
    comes in escaped, so that entities are decoded exactly once.
    """
    source = escape_unknown_tags(html[:MAX_HTML])
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
            short = _cut_block(block, min(budget, size - 1))
            kept.extend([short] if short is not None else [])
            return tuple(kept) if short is not None else _ended(kept)
        kept.append(block)
        budget -= size
    return tuple(kept)


class _Walker(HTMLParser):
    """Collects spans and closes a block at each break. Gets clean, balanced HTML only."""

    def __init__(self, base_url: str | None) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._base_url = base_url
        self._spans: list[Span] = []
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
        spans, self._spans = _trimmed(self._spans), []
        if not spans or len(self.blocks) > MAX_BLOCKS:
            return
        if self._lists:
            self._lists[0][1].append(spans)
        elif self._open.get("pre"):
            self.blocks.append(Preformatted(text="".join(s.text for s in spans if isinstance(s, Text))))
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
        if isinstance(last, Text) and replace(last, text="") == replace(span, text=""):
            self._spans[-1] = replace(last, text=last.text + text)
        else:
            self._spans.append(span)


def _collapsed(text: str, *, after: list[Span]) -> str:
    words = " ".join(text.split())
    if text[:1].isspace() and after and not _ends_in_space(after):
        words = " " + words
    return words + " " if text[-1:].isspace() and words.strip() else words


def _ends_in_space(spans: list[Span]) -> bool:
    last = spans[-1]
    return isinstance(last, Text) and last.text[-1:].isspace()


def _trimmed(spans: list[Span]) -> tuple[Span, ...]:
    while spans and isinstance(first := spans[0], Text) and not first.text.strip():
        spans = spans[1:]
    while spans and isinstance(last := spans[-1], Text) and not last.text.strip():
        spans = spans[:-1]
    if spans and isinstance(first := spans[0], Text):
        spans = [replace(first, text=first.text.lstrip("\n ")), *spans[1:]]
    if spans and isinstance(last := spans[-1], Text):
        spans = [*spans[:-1], replace(last, text=last.text.rstrip())]
    return tuple(spans)


def _spans_of(block: Block) -> tuple[tuple[Span, ...], ...]:
    if isinstance(block, Bullets):
        return block.items
    if isinstance(block, Preformatted):
        return ((Text(text=block.text),),)
    return (block.spans,)


def _length(block: Block) -> int:
    return sum(len(span.text) for spans in _spans_of(block) for span in spans if isinstance(span, Text))


def _cut_block(block: Block, budget: int) -> Block | None:
    if budget < 2:
        return None
    if isinstance(block, Preformatted):
        return replace(block, text=cut(block.text, budget))
    if isinstance(block, Bullets):
        items: list[tuple[Span, ...]] = []
        for item in block.items:
            spans, budget = _cut_spans(item, budget)
            items.extend([spans] if spans else [])
        return replace(block, items=tuple(items)) if items else None
    spans, _ = _cut_spans(block.spans, budget)
    return replace(block, spans=spans) if spans else None


def _cut_spans(spans: tuple[Span, ...], budget: int) -> tuple[tuple[Span, ...], int]:
    kept: list[Span] = []
    for span in spans:
        if budget < 2:
            return tuple(kept), 0
        if not isinstance(span, Text):
            kept.append(span)
            continue
        text = cut(span.text, budget)
        kept.append(span if text == span.text else replace(span, text=text))
        if text != span.text:
            return tuple(kept), 0
        budget -= len(text)
    return tuple(kept), budget


def _ended(kept: list[Block]) -> tuple[Block, ...]:
    """Mark the last block as not the end, where the next one found no room at all."""
    return (*kept, Paragraph(spans=(Text(text="…"),))) if kept else ()
