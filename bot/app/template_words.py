"""What a template may say: the words of one card, and functions that mark them, link them or set them apart."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.core.model.message import Block, Card, Mention, Paragraph, Quote, Span, Text
from bot.core.render import block_lines, shown_host
from bot.core.text.blocks import cut_blocks
from bot.core.text.characters import clean, one_line
from bot.core.text.links import http_url, misleads

# Noncharacters: core.text.characters takes them out of whatever a feed says, so that only our functions write them.
_OPEN, _CLOSE, _DIGITS = "\ufdd0", "\ufdd1", "\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6\ufdd7\ufdd8\ufdd9\ufdda\ufddb"
_PLACE = re.compile(f"{_OPEN}([{_DIGITS}]{{1,5}}){_CLOSE}")
_NUMBER = str.maketrans(_DIGITS, "0123456789")
_NUMERAL = str.maketrans("0123456789", _DIGITS)

FUNCTIONS = frozenset({"bold", "body", "code", "italic", "link", "quote", "strike"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One entry as a template gets it: plain text all through, "" for what is not there."""

    title: str
    url: str = ""
    host: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    feed: str = ""
    author: str = ""
    note: str = ""
    summary: str = ""
    blocks: tuple[Block, ...] = ()

    @classmethod
    def of(cls, card: Card) -> "Words":
        return cls(
            title=one_line(card.title),
            url=http_url(card.link) or "",
            host=one_line(card.host or ""),
            tags=tuple(map(one_line, card.tags)),
            date=card.date,
            feed=one_line(card.feed_title),
            author=one_line(card.author or ""),
            note=card.note or "",
            summary=clean("\n".join(block_lines(card.body))),
            blocks=card.body,
        )

    @property
    def variables(self) -> Mapping[str, object]:
        named = {name: getattr(self, name) for name in NAMES}
        # As `latest --json` names it; its `link` is Sheet.functions'.
        return {**named, "tags": list(self.tags), "published": self.date}


NAMES = ("title", "url", "host", "tags", "date", "feed", "author", "note", "summary")


class Sheet:
    """One rendering: what its functions made, and the text with place holders turned into blocks."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._made: list[tuple[Span, ...] | tuple[Block, ...]] = []

    @property
    def functions(self) -> Mapping[str, Callable[..., str]]:
        marks = {name: self._marker(name) for name in ("bold", "italic", "strike", "code")}
        return {**marks, "link": _Link(self._words.url, self.link), "quote": self.quote, "body": self.body}

    def link(self, text: object, url: object) -> str:
        """`text` as a link; the host beside it where the text names another one (T11)."""
        label, href = self._spans(str(text)), http_url(str(url or ""))
        if href is None:
            return self._hold(label)
        linked: list[Span] = [replace(span, href=href) if isinstance(span, Text) else span for span in label]
        if misleads(_plain(label), href):
            linked.append(Text(text=f" ({shown_host(href)})"))
        return self._hold(tuple(linked))

    def quote(self, text: object) -> str:
        return self._hold((Quote(spans=self._spans(str(text))),))

    def body(self, characters: int | None = None) -> str:
        """The entry's own paragraphs, lists and code, or the first `characters` of them."""
        if not isinstance(characters, int | None):
            raise TypeError("body() takes a number of characters, such as body(300)")
        blocks = self._words.blocks
        return self._hold(blocks if characters is None else cut_blocks(blocks, max(0, characters)))

    def to_blocks(self, text: str) -> tuple[Block, ...]:
        """Each line becomes a paragraph; blocks that stand in it stand between what is before and after them."""
        return tuple(block for line in text.split("\n") for block in self._line(line))

    def _line(self, line: str) -> Iterator[Block]:
        spans: list[Span] = []
        for piece in self._pieces(line.strip()):
            if isinstance(piece, Text | Mention):
                spans.append(piece)
                continue
            if _plain(spans).strip():
                yield Paragraph(spans=tuple(spans))
            spans = []
            yield piece
        if _plain(spans).strip():
            yield Paragraph(spans=tuple(spans))

    def _pieces(self, text: str) -> Iterator[Span | Block]:
        at = 0
        for place in _PLACE.finditer(text):
            yield from self._words_in(text[at : place.start()])
            number = int(place[1].translate(_NUMBER))
            yield from self._made[number] if number < len(self._made) else ()
            at = place.end()
        yield from self._words_in(text[at:])

    def _words_in(self, text: str) -> Iterator[Span]:
        """The entry's own address, written out, is a link; what a filter left of a place holder is taken out."""
        url = self._words.url
        for piece in re.split(f"({re.escape(url)})", clean(text)) if url else [clean(text)]:
            if piece:
                yield Text(text=piece, href=url if piece == url else None)

    def _spans(self, text: str) -> tuple[Span, ...]:
        return tuple(piece for piece in self._pieces(text) if isinstance(piece, Text | Mention))

    def _marker(self, mark: str) -> Callable[[object], str]:
        def marked(text: object) -> str:
            spans = self._spans(str(text))
            return self._hold(tuple(_marked(span, mark) if isinstance(span, Text) else span for span in spans))

        marked.__name__ = mark  # as a mistake tells it
        return marked

    def _hold(self, made: tuple[Span, ...] | tuple[Block, ...]) -> str:
        self._made.append(made)
        return f"{_OPEN}{str(len(self._made) - 1).translate(_NUMERAL)}{_CLOSE}"


class _Link(str):
    """`link(text, url)` makes a link; written without a call, `link` is the entry's own address."""

    __slots__ = ("_make",)
    _make: Callable[[object, object], str]

    def __new__(cls, url: str, make: Callable[[object, object], str]) -> "_Link":
        made = super().__new__(cls, url)
        made._make = make
        return made

    def __call__(self, text: object, url: object) -> str:
        return self._make(text, url)

    __call__.__qualname__ = "link"  # as a mistake tells it


def _marked(span: Text, mark: str) -> Text:
    return replace(
        span,
        bold=span.bold or mark == "bold",
        italic=span.italic or mark == "italic",
        strike=span.strike or mark == "strike",
        code=span.code or mark == "code",
    )


def _plain(spans: Sequence[Span]) -> str:
    return "".join(span.text for span in spans if isinstance(span, Text))
