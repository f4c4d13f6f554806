"""Make a message fit: lengths as services count them, blocks cut to a budget, lists that say what they leave out."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from bot.core.model.message import Block, Bullets, Card, Mention, Message, Paragraph, Quote, Span
from bot.core.render import block_lines
from bot.core.text.blocks import cut_blocks
from bot.core.text.graphemes import cut

Form = Callable[[str], str]
_LEFT_TO_RIGHT = "\u200e"
PARAGRAPH = 3_000  # UTF-16 units of one line of a notice
SHORT, BARE = 60, 30  # of a title among many in plain text, and of one that has no room for its link
T = TypeVar("T")


def utf16(text: str) -> int:
    """Count UTF-16 units: what JavaScript calls length, never less than the number of characters."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def fit_blocks(blocks: tuple[Block, ...], limit: int, measure: Callable[[tuple[Block, ...]], int]) -> tuple[Block, ...]:
    """Return the longest beginning of `blocks` that `measure` finds within `limit`."""
    if measure(blocks) <= limit:
        return blocks
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if measure(cut_blocks(blocks, middle)) <= limit:
            low = middle
        else:
            high = middle - 1
    return cut_blocks(blocks, low)


def meta_line(card: Card) -> str:
    """Return what stands below a title: tags and date, and what is unusual about the message.

    Where words run from right to left, the date's first number would run with them, away from its month: a mark before
    it, which nobody sees, keeps the date together in lines of either direction (UAX 9).
    """
    words = (card.note, *card.tags)
    date = f"{_LEFT_TO_RIGHT}{card.date}" if card.date and _runs_right_to_left(card.title, *words) else card.date
    return " · ".join(part for part in (*words, date) if part)


def link_below(card: Card) -> str | None:
    """Return the address to write out below a title, unless the title is that already."""
    return None if card.link == card.title else card.link


def written_out(blocks: Sequence[Block]) -> list[str]:
    """Return a template's blocks as lines of plain text, where a link is its label and its address."""
    return block_lines([_with_addresses(block) for block in blocks])


def _with_addresses(block: Block) -> Block:
    match block:
        case Paragraph() | Quote():
            return replace(block, spans=tuple(map(_with_address, block.spans)))
        case Bullets():
            return replace(block, items=tuple(tuple(map(_with_address, item)) for item in block.items))
        case _:
            return block


def _with_address(span: Span) -> Span:
    if isinstance(span, Mention) or span.href is None or span.href == span.text:
        return span
    return replace(span, text=f"{span.text} <{span.href}>")


def _runs_right_to_left(*words: str | None) -> bool:
    return any(unicodedata.bidirectional(char) in ("R", "AL") for word in words if word for char in word)


def all_cards(message: Message) -> tuple[Card, ...]:
    """Return every entry of a message, in the order in which it is read."""
    return message.cards or tuple(card for section in message.sections for card in section.cards)


def more_words(count: int) -> str:
    """Return the words for entries that found no room."""
    return f"… and {count} more"


def shown_title(card: Card) -> str:
    """Return the title with the host that it could hide (T11)."""
    return f"{card.title} ({card.host})" if card.host else card.title


def plain_text(message: Message, limit: int, *, title: int, escape: Form = str, link: Form = str) -> str:
    """Return the fallback that any service takes: titles and links, or the words of a notice.

    `escape` makes words harmless, `link` an address clickable; what they return counts, in UTF-16 units. Titles are
    cut to `title`, no link is ever cut, and entries that find no room are counted.
    """
    cards = all_cards(message)
    ending = _ending(len(cards), message.more_url, link)
    words = _plain_words(message, (limit - utf16(ending)) // 2 if cards else limit, escape)
    room = limit + 1 - sum(utf16(line) + 1 for line in words)
    lines = _plain_cards(cards, room, title, escape, link)
    sizes = [utf16(line) + 1 for line in lines]
    if sum(sizes) > room:
        fitting = pack(sizes, room - utf16(ending) - 1)
        lines = [*lines[:fitting], _ending(len(lines) - fitting, message.more_url, link)]
    return "\n".join([*words, *lines])


def _plain_cards(cards: Sequence[Card], room: int, title: int, escape: Form, link: Form) -> list[str]:
    made: list[str] = []
    for limit in (title, SHORT):
        made = [_plain_card(card, limit, escape, link) for card in cards]
        if sum(utf16(line) + 1 for line in made) <= room:
            return made
    limit = BARE if len(cards) > 1 else title
    bare = [_plain_card(replace(card, link=None, host=None), limit, escape, link) for card in cards]
    return sparing(made, bare, room - len(cards), utf16)


def _plain_words(message: Message, room: int, escape: Form) -> list[str]:
    lines: list[str] = []
    for line in [message.heading or "", *block_lines(message.blocks)]:
        words = escape(cut(line, min(room, PARAGRAPH), lambda text: utf16(escape(text)))) if line.strip() else ""
        room -= utf16(words) + 1
        lines += [words] if words else []
    return lines


def _plain_card(card: Card, title: int, escape: Form, link: Form) -> str:
    name = cut(card.title, title, lambda text: utf16(escape(text))) + (f" ({card.host})" if card.host else "")
    named = escape(f"{card.note}: {name}" if card.note else name)
    if card.link and not link_below(card):
        return link(card.link)
    return f"{named} — {link(card.link)}" if card.link else named


def _ending(more: int, url: str | None, link: Form) -> str:
    return f"{more_words(more)} {link(url)}" if url else more_words(more)


def pack(sizes: Sequence[int], room: int) -> int:
    """Return how many of the first entries fit into `room` together."""
    used = 0
    for count, size in enumerate(sizes):
        used += size
        if used > room:
            return count
    return len(sizes)


def sparing(full: Sequence[T], bare: Sequence[T], room: int, measure: Callable[[T], int]) -> list[T]:
    """Return the full form of as many of the first lines as `room` has beside the bare form of all others."""
    more = [measure(long) - measure(short) for long, short in zip(full, bare, strict=True)]
    count = pack(more, room - sum(map(measure, bare)))
    return [*full[:count], *bare[count:]]
