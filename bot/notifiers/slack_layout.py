"""Messages in Slack's form: rich_text blocks, whose text elements can't format, link or ping (R-1).

Feed text never becomes mrkdwn: `*_~` can't be escaped there. Lengths: delivery.md's table of Slack's limits.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from bot.core.model.message import (
    Block,
    Bullets,
    Card,
    JsonValue,
    Mention,
    Message,
    MessageKind,
    Paragraph,
    Payload,
    Preformatted,
    Quote,
    Span,
)
from bot.core.text.graphemes import cut
from bot.notifiers.fit import all_cards, fit_blocks, meta_line, more_words, pack, plain_text, sparing, utf16

Json = dict[str, JsonValue]

TOTAL = 10_000  # of all strings in all blocks; msg_blocks_too_long was seen from 13,200 on
TEXT = 3_900  # of the fallback; chat.update refuses 4,000
TITLE = 300
HEADER = 150
BODY = 1_200  # a teaser is read whole; an article is read where it stands
LISTED_TITLE = 200
SPARING_TITLE = 100  # where a digest has hardly room for its titles
_LISTED = ((LISTED_TITLE, 300), (LISTED_TITLE, 100), (100, 0))  # of several in an answer: title and text
NOTICE = 4_000
FEED_TITLE = 150
EVENT = "feedbell_entry"
_EMPTY = "feedbell"  # Slack refuses a message without words
_MENTION = re.compile(r"<(@(?P<user>[UW]\w+)|!subteam\^(?P<group>S\w+)(\|[^>]*)?|!(?P<range>here|channel|everyone))>")


def escape(text: str) -> str:
    """Escape for a `text` field: these three and nothing else."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def to_payload(message: Message, *, plain: bool = False, metadata: bool = True) -> Payload:
    """Return the arguments of chat.postMessage but for the channel. `metadata`: false for webhooks, which have none."""
    payload: Json = {
        "text": _fallback(message, whole=plain),
        "parse": "none",
        "link_names": False,
        "mrkdwn": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    if not plain:
        payload["blocks"] = [*_blocks(message)]
    if metadata and message.key:
        payload["metadata"] = {"event_type": EVENT, "event_payload": {"k": message.key}}
    if message.reply_to:
        payload["thread_ts"] = message.reply_to
    return payload


def _fallback(message: Message, *, whole: bool) -> str:
    """What notifications show, and all that a plain message is."""
    if message.heading and not whole:
        return escape(cut(message.heading, HEADER, utf16))
    literals = " ".join(m.literal for m in message.mentions if _MENTION.fullmatch(m.literal)) if whole else ""
    # With `parse: none` an address alone is no link; in brackets it is one, and there it is only ever ours.
    link = _bracketed if whole else escape
    text = plain_text(message, TEXT - len(literals) - 1, title=TITLE, escape=escape, link=link)
    return f"{literals} {text}".strip() or _EMPTY


def _bracketed(url: str) -> str:
    return f"<{escape(url)}>"


def _blocks(message: Message) -> Iterator[Json]:
    if message.kind in (MessageKind.ENTRY, MessageKind.EDIT):
        yield from _entry(message.cards[0], message.mentions)
    else:
        yield from _many(message)


def _entry(card: Card, mentions: Sequence[Mention]) -> Iterator[Json]:
    parts = _Parts()
    parts.mention(mentions)
    _card(parts, card, title=TITLE, body=BODY)
    yield parts.block()
    if card.image:
        yield {"type": "image", "image_url": card.image, "alt_text": cut(card.title, TITLE, utf16)}
    if card.feed_title and card.custom is None:
        yield _context(card.feed_title)


def _card(parts: "_Parts", card: Card, *, title: int, body: int) -> None:
    before = parts.size
    if card.custom is not None:
        parts.add(fit_blocks(card.custom, BODY + TITLE, _size))
        if parts.size > before:
            return  # else it is one address that has no room: it counts as text and as link
    parts.line(_title(card, title))
    if meta := meta_line(card):
        parts.line([_text(meta)])
    if body:
        parts.add(fit_blocks(card.body, body, _size))


def _many(message: Message) -> Iterator[Json]:
    parts = _Parts()
    parts.mention(message.mentions)
    parts.add(fit_blocks(message.blocks, NOTICE, _size))
    room = TOTAL - HEADER - parts.size - 2 * len(message.more_url or "") - 100
    if message.kind is MessageKind.DIGEST:
        left = _digest_lines(parts, message, room)
    else:
        left = _listed_cards(parts, message, room)
    if left:
        more = more_words(left)
        parts.line([_text(f"{more}: "), _link(message.more_url, "read on")] if message.more_url else [_text(more)])
    if message.heading:
        yield {"type": "header", "text": words(message.heading, HEADER)}
    if not (parts or message.heading):
        parts.line([_text(_EMPTY)])
    if parts:
        yield parts.block()
    if message.kind is MessageKind.DIGEST and message.feed_title:
        yield _context(message.feed_title)


def _digest_lines(parts: "_Parts", message: Message, room: int) -> int:
    """Add one line for each entry that fits; return how many found no room."""
    cards, several = all_cards(message), not message.feed_title
    lines = [_digest_line(card, feed=several) for card in cards]
    room -= sum(utf16(section.heading) + 1 for section in message.sections)
    if pack([_strings(line) for line in lines], room) < len(cards):
        lines = _sparing_lines(cards, room)
    fitting = pack([_strings(line) for line in lines], room)
    shown = iter(lines[:fitting])
    for section in message.sections:
        if part := [*islice(shown, len(section.cards))]:
            parts.line([_text(cut(section.heading, HEADER, utf16), bold=True)] if section.heading else [])
            parts.bullets(part)
    return len(cards) - fitting


def _sparing_lines(cards: Sequence[Card], room: int) -> list[list[JsonValue]]:
    """Return a line for each entry where not all links find room: the last ones do without, for nobody is left out."""
    linked = [_title(card, SPARING_TITLE) for card in cards]
    bare: list[list[JsonValue]] = [[_text(cut(card.title, SPARING_TITLE, utf16), bold=True)] for card in cards]
    return sparing(linked, bare, room, _strings)


def _digest_line(card: Card, *, feed: bool) -> list[JsonValue]:
    meta = " · ".join(filter(None, (meta_line(card), cut(card.feed_title, FEED_TITLE, utf16) if feed else "")))
    return [*_title(card, LISTED_TITLE), *([_text(f" · {meta}")] if meta else [])]


def _listed_cards(parts: "_Parts", message: Message, room: int) -> int:
    cards = all_cards(message)
    made: list[_Parts] = []
    fitting = 0
    for title, body in _LISTED if len(cards) > 1 else ((TITLE, BODY),):
        made = [_listed_card(card, title=title, body=body) for card in cards]
        fitting = pack([alone.size + 2 for alone in made], room)
        if fitting == len(cards):
            break
    for alone in made[:fitting]:
        parts.join(alone)
    return len(cards) - fitting


def _listed_card(card: Card, *, title: int, body: int) -> "_Parts":
    alone = _Parts()
    _card(alone, card, title=title, body=body)
    if card.feed_title and card.custom is None:
        alone.line([_text(cut(card.feed_title, FEED_TITLE, utf16), italic=True)])
    return alone


class _Parts:
    """The elements of one rich_text block; consecutive lines share a section."""

    def __init__(self) -> None:
        self._parts: list[JsonValue] = []
        self._line: list[JsonValue] = []

    def __bool__(self) -> bool:
        return bool(self._parts or self._line)

    @property
    def size(self) -> int:
        return _strings([*self._parts, *self._line])

    def mention(self, mentions: Sequence[Mention]) -> None:
        elements: list[JsonValue] = []
        for mention in mentions:
            elements += [_mention(mention), _text(" ")]
        self._line += elements

    def line(self, elements: Sequence[JsonValue]) -> None:
        """Add a line; the first one continues after mentions."""
        if not elements:
            return
        if self._line and not _is_gap(self._line[-1]):
            self._line.append(_text("\n"))
        self._line += elements

    def bullets(self, items: Sequence[list[JsonValue]], *, ordered: bool = False) -> None:
        style = "ordered" if ordered else "bullet"
        sections: list[JsonValue] = [{"type": "rich_text_section", "elements": item} for item in items]
        self._part({"type": "rich_text_list", "style": style, "elements": sections})

    def add(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            match block:
                case Paragraph():
                    self.line(_elements(block.spans))
                case Quote():
                    self._part({"type": "rich_text_quote", "elements": _elements(block.spans)})
                case Preformatted() if block.text:
                    self._part({"type": "rich_text_preformatted", "elements": [_text(block.text)]})
                case Bullets():
                    self.bullets([e for item in block.items if (e := _elements(item))], ordered=block.ordered)

    def join(self, other: "_Parts") -> None:
        """Add what `other` holds, after a blank line."""
        if self:
            self._line.append(_text("\n\n" if self._line else "\n"))
        self._flush()
        self._parts += other._parts
        self._line = [*other._line]

    def block(self) -> Json:
        self._flush()
        return {"type": "rich_text", "elements": self._parts}

    def _part(self, part: Json) -> None:
        self._flush()
        if part["elements"]:
            self._parts.append(part)

    def _flush(self) -> None:
        if self._line:
            self._parts.append({"type": "rich_text_section", "elements": self._line})
            self._line = []


def _is_gap(element: JsonValue) -> bool:
    return isinstance(element, dict) and element.get("text") in (" ", "\n", "\n\n")


def _title(card: Card, limit: int) -> list[JsonValue]:
    title = cut(card.title, limit, utf16)
    head = _link(card.link, title, bold=True) if card.link else _text(title, bold=True)
    return [head, *([_text(f" ({card.host})")] if card.host else [])]


def _elements(spans: Sequence[Span]) -> list[JsonValue]:
    return [_span(span) for span in spans if isinstance(span, Mention) or span.text]


def _span(span: Span) -> Json:
    if isinstance(span, Mention):
        return _mention(span)
    marks = {"bold": span.bold, "italic": span.italic, "strike": span.strike, "code": span.code}
    return _link(span.href, span.text, **marks) if span.href else _text(span.text, **marks)


def _text(text: str, **marks: bool) -> Json:
    return {"type": "text", "text": text, **_style(marks)}


def _link(url: str | None, text: str, **marks: bool) -> Json:
    return {"type": "link", "url": url, "text": text, **_style(marks)}


def _style(marks: dict[str, bool]) -> Json:
    style: Json = {name: True for name, on in marks.items() if on}
    return {"style": style} if style else {}


def _mention(mention: Mention) -> Json:
    found = _MENTION.fullmatch(mention.literal)
    if found is None:
        return _text(mention.literal)
    if found["user"]:
        return {"type": "user", "user_id": found["user"]}
    if found["group"]:
        return {"type": "usergroup", "usergroup_id": found["group"]}
    return {"type": "broadcast", "range": found["range"]}


def _context(text: str) -> Json:
    return {"type": "context", "elements": [words(text, FEED_TITLE)]}


def words(text: str, limit: int) -> Json:
    """Return a text object that shows `text` as it is: left to itself, Slack makes pictures of `:names:` in it."""
    return {"type": "plain_text", "text": cut(text, limit, utf16), "emoji": False}


def _size(blocks: tuple[Block, ...]) -> int:
    parts = _Parts()
    parts.add(blocks)
    return parts.size


def _strings(value: JsonValue) -> int:
    """Count the characters of all strings, as Slack's limit on the sum of blocks does."""
    if isinstance(value, str):
        return utf16(value)
    if isinstance(value, dict):
        return sum(_strings(item) for key, item in value.items() if key != "type")
    return sum(map(_strings, value)) if isinstance(value, list) else 0
