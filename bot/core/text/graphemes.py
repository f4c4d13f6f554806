"""Cut a text by grapheme: what a reader sees as one character stays whole (UAX 29, the parts that matter here)."""

import unicodedata
from collections.abc import Callable, Iterator

from bot.core.text.characters import ZWJ, ZWNJ, is_emoji, is_mark

ELLIPSIS = "…"
MAX_CLUSTER = 64  # characters; more is an attack, and may be cut anywhere
_WORD_WINDOW = 0.6  # a cut goes back to the last space, but keeps at least this part of the budget


def graphemes(text: str) -> Iterator[str]:
    """Yield the grapheme clusters of `text`, in order."""
    start, flags = 0, 0
    for at in range(1, len(text)):
        before, after = text[at - 1], text[at]
        flags = flags + 1 if _is_flag(before) else 0
        if before < "\u0300" and after < "\u0300":
            joined = before == "\r" and after == "\n"
        else:
            joined = _joined(before, after, odd_flag=flags % 2 == 1)
        if not joined or at - start >= MAX_CLUSTER:
            yield text[start:at]
            start = at
    if start < len(text):
        yield text[start:]


def cut(text: str, budget: int, measure: Callable[[str], int] = len) -> str:
    """Return `text` if `measure` of it is within `budget`; else its beginning and "…", within the budget.

    Cuts at a space where one is near the end, never inside a grapheme. `measure` must grow
    with the text and be additive over its pieces: escaped lengths, UTF-8 bytes, UTF-16 units.
    """
    if measure(text) <= budget:
        return text
    room = budget - measure(ELLIPSIS)
    if room < 0:
        return ""
    kept, used, words_end = 0, 0, 0
    for cluster in graphemes(text):
        cost = measure(cluster)
        if used + cost > room:
            break
        if cluster.isspace():
            words_end = kept
        kept, used = kept + len(cluster), used + cost
    if text[kept : kept + 1].isspace():
        words_end = kept
    if words_end >= kept * _WORD_WINDOW:
        kept = words_end or kept
    return text[:kept].rstrip() + ELLIPSIS


def _joined(before: str, after: str, *, odd_flag: bool) -> bool:
    if before in "\r\n" or after in "\r\n":
        return before == "\r" and after == "\n"
    if _extends(after):
        return True
    if before == ZWJ:
        return is_emoji(after) or unicodedata.category(after)[0] == "L"
    if _is_flag(after):
        return odd_flag
    if unicodedata.combining(before) == 9:  # a virama binds the next letter into a conjunct
        return unicodedata.category(after)[0] == "L"
    return _hangul(before, after)


def _extends(char: str) -> bool:
    if char in (ZWJ, ZWNJ, "\uff9e", "\uff9f", "\u0e33", "\u0eb3") or "\U000e0020" <= char <= "\U000e007f":
        return True
    return is_mark(char)


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _hangul(before: str, after: str) -> bool:
    leading = "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97c"
    if leading:
        return "\u1100" <= after <= "\u11a7" or "\uac00" <= after <= "\ud7a3" or "\ua960" <= after <= "\ua97c"
    syllable_without_tail = "\uac00" <= before <= "\ud7a3" and (ord(before) - 0xAC00) % 28 == 0
    if syllable_without_tail or "\u1160" <= before <= "\u11a7":
        return "\u1160" <= after <= "\u11ff" or "\ud7b0" <= after <= "\ud7fb"
    return ("\uac00" <= before <= "\ud7a3" or "\u11a8" <= before <= "\u11ff") and "\u11a8" <= after <= "\u11ff"
