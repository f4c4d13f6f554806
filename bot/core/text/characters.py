"""Strip the characters that can hurt: controls, bidi overrides, invisible ones; keep those that scripts need."""

import re
import unicodedata

ZWNJ = "\u200c"
ZWJ = "\u200d"
VS16 = "\ufe0f"

# C0 but tab and line feed, DEL and C1, bidi embeddings, overrides and isolates, lone surrogates, non-characters.
# Separators count as line breaks below. Zero-width joiners and variation selectors are looked at one by one.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff\ufff0-\ufffb\ufffe\uffff\u3164\uffa0"
    "\ud800-\udfff\U000e0000-\U000e001f]"
)
_BREAKS = re.compile("\r\n?|[\x85\u2028\u2029]")
_TAGS = re.compile("[\U000e0020-\U000e007f]+")
_JOINERS = re.compile("[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_SPECIAL = re.compile("[^\t\n\x20-\x7e\u00a0-\u00ac\u00ae-\u02ff\u0400-\u058f\u3000-\u3163\u4e00-\u9fff\uac00-\ud7a3]")
_SPACES = re.compile(r"[ \t\n\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]+")
_MARKS = re.compile(
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{8})"
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
_BLACK_FLAG = "\U0001f3f4"


def clean(text: str) -> str:
    """Return `text` without characters that hide, reorder or break; line breaks become `\\n`.

    Joiners stay between letters that use them and inside emoji. More than eight combining
    marks on one letter are cut: they write over the neighbouring lines.
    """
    if not _SPECIAL.search(text):
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    text = _HARMFUL.sub("", _BREAKS.sub("\n", text))
    text = _MARKS.sub(r"\1", text)
    text = _TAGS.sub(lambda m: _tags(text, m), text)
    return _JOINERS.sub(lambda m: _joiner(text, m), text)


def one_line(text: str) -> str:
    """Return `text` cleaned, with each run of white space one space: for titles, tags and names."""
    return _SPACES.sub(" ", clean(text)).strip(" ")


def cut_line(line: str, most: int) -> str:
    """Return one line with at most so many characters; what a cut leaves at its end is cleaned again."""
    return line if len(line) <= most else one_line(line[:most])


def is_emoji(char: str) -> bool:
    """Whether `char` can be a part of a joined emoji (Extended_Pictographic, roughly)."""
    point = ord(char)
    return (
        0x1F000 <= point <= 0x1FAFF
        or 0x2190 <= point <= 0x21FF
        or 0x2300 <= point <= 0x23FF
        or 0x2600 <= point <= 0x27BF
        or 0x2900 <= point <= 0x297F
        or 0x2B00 <= point <= 0x2BFF
        or point in (0xA9, 0xAE, 0x203C, 0x2049, 0x2122, 0x2139, 0x3030, 0x303D, 0x3297, 0x3299)
    )


def _tags(text: str, match: re.Match[str]) -> str:
    # Tag characters spell the flags of England, Scotland and Wales; anywhere else they are a hidden channel.
    flag = match.start() > 0 and text[match.start() - 1] == _BLACK_FLAG and match.group().endswith("\U000e007f")
    return match.group() if flag else ""


def _joiner(text: str, match: re.Match[str]) -> str:
    at, char = match.start(), match.group()
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if not before:
        return ""
    if char in (ZWNJ, ZWJ):
        # At the end of a word, too, a virama and a joiner make another letter: the chillus of Malayalam.
        return char if (after and _joins(before, after)) or (char == ZWJ and unicodedata.combining(before) == 9) else ""
    return char if not before.isspace() and before not in (ZWNJ, ZWJ) else ""


def _joins(before: str, after: str) -> bool:
    """Whether a joiner means something between these two: a script that shapes letters, or emoji."""
    if is_emoji(after) or after in "♂♀⚕⚖✈":
        return is_emoji(before) or before == VS16 or is_mark(before)
    return _needs_joiners(before) and _needs_joiners(after)


def _needs_joiners(char: str) -> bool:
    point = ord(char)
    return 0x0600 <= point <= 0x1CFF or 0xA800 <= point <= 0xABFF or 0x10A00 <= point <= 0x11FFF


def is_mark(char: str) -> bool:
    """Whether it changes the character before it: an accent, a vowel sign, the emoji selector, a skin tone."""
    return unicodedata.category(char) in ("Mn", "Mc", "Me") or "\U0001f3fb" <= char <= "\U0001f3ff"
