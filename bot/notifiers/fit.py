"""Make a message fit: lengths as services count them, blocks cut to a budget, lists that say what they leave out."""

from collections.abc import Callable, Sequence

from bot.core.model.message import Block, Card, Message
from bot.core.render import block_lines
from bot.core.text.blocks import cut_blocks
from bot.core.text.graphemes import cut

Measure = Callable[[str], int]


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
    """Return what stands below a title: tags and date, and what is unusual about the message."""
    return " · ".join(part for part in (card.note, *card.tags, card.date) if part)


def all_cards(message: Message) -> tuple[Card, ...]:
    """Return every entry of a message, in the order in which it is read."""
    return message.cards or tuple(card for section in message.sections for card in section.cards)


def more_words(count: int) -> str:
    """Return the words for entries that found no room."""
    return f"… and {count} more"


def shown_title(card: Card) -> str:
    """Return the title with the host that it could hide (T11)."""
    return f"{card.title} ({card.host})" if card.host else card.title


def plain_text(message: Message, limit: int, measure: Measure, *, title: int) -> str:
    """Return the fallback that any service takes: titles and links, or the words of a notice.

    Titles are cut to `title`; entries that find no room are counted, and a link is never cut.
    """
    lines = [*([message.heading] if message.heading else []), *block_lines(message.blocks)]
    lines = [cut(line, min(limit // 2, 3_000), measure) for line in lines if line]
    cards = all_cards(message)
    tail = _tail(message.more, message.more_url)
    for at, card in enumerate(cards):
        line = _plain_card(card, title, measure)
        rest = _tail(message.more + len(cards) - at, message.more_url)
        after = tail if at + 1 == len(cards) else _tail(message.more + len(cards) - at - 1, message.more_url)
        if measure("\n".join([*lines, line, *after])) > limit:
            return cut("\n".join([*lines, *rest]), limit, measure)
        lines.append(line)
    return cut("\n".join([*lines, *tail]), limit, measure)


def _plain_card(card: Card, title: int, measure: Measure) -> str:
    name = cut(card.title, title, measure) + (f" ({card.host})" if card.host else "")
    note = f"{card.note}: " if card.note else ""
    return f"{note}{name} — {card.link}" if card.link else note + name


def _tail(more: int, url: str | None) -> list[str]:
    return [" ".join(filter(None, (more_words(more), url)))] if more else []


def pack(sizes: Sequence[int], room: int) -> int:
    """Return how many of the first entries fit into `room` together."""
    used = 0
    for count, size in enumerate(sizes):
        used += size
        if used > room:
            return count
    return len(sizes)
