"""Which entries a route wants, and why not: feeds, not_tags, tags, match, max_age are asked in this order."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TypeAlias

from bot.core.errors import UsageError
from bot.core.model.entry import Entry
from bot.core.model.feed import Feed
from bot.core.model.route import Route
from bot.core.tags import caseless, fold

MAX_LENGTH = 1000  # characters of an expression; a longer one is a mistake
MAX_DEPTH = 20  # parentheses and nots inside one another

_DATE_ONLY_SLACK = timedelta(days=1)  # a date without a time may mean the day's last minute

_PIECES = re.compile(r'[()]|"[^"]*"?|“[^”“]*[”“]?|[^\s()"“]+')
_ASCII_WORDS = re.compile(r"[a-z0-9]+|(?<=[a-z0-9+#])[+#]|(?<![a-z0-9])\.(?=[a-z0-9])")
_NO_PATTERNS = re.compile(r"[*|\\]")
_OPERATORS = frozenset({"and", "or", "not"})
_EDGE = "\0"  # between words in `Words`; no word contains it
_BREAK = "\1"  # between title and summary, so that no phrase spans both

# Scripts that write words together: each letter is a word of its own, so that a phrase finds any part of a sentence.
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR")


class MatchError(UsageError):
    """An expression can't be read; `position` counts its characters from 0."""

    def __init__(self, position: int, words: str) -> None:
        super().__init__(words)
        self.position = position
        self.words = words


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand side by side; `needle` is their form inside `Words`."""

    needle: str


@dataclass(frozen=True, slots=True)
class Not:
    inner: "Expression"


@dataclass(frozen=True, slots=True)
class Both:
    parts: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True)
class Either:
    parts: "tuple[Expression, ...]"


Expression: TypeAlias = Phrase | Not | Both | Either


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a route wants an entry. `reason` is for `why`."""

    wanted: bool
    reason: str


def judge(route: Route, entry: Entry, feed: Feed, *, now: datetime) -> Verdict:
    """Say whether `route` wants `entry` of `feed`, and why.

    Its age for `max_age` is the one it had when it was first seen, so that `why` and `replay` say later what was
    said then. Raises MatchError where the configuration was never checked.
    """
    refusals = (
        _wrong_feed(route, feed),
        _unwanted_tag(route, entry),
        _no_tag(route, entry),
        _no_match(route, entry),
        _too_old(route, entry, now),
    )
    refusal = next((one for one in refusals if one is not None), None)
    return Verdict(wanted=refusal is None, reason=refusal or _wanted_for(route, entry))


def parse_match(expression: str) -> Expression:
    """Read words, "phrases in quotes", and, or, not (in any case) and parentheses.

    `not` binds tighter than `and`, `and` tighter than `or`; words side by side are joined by `and`. An operator in
    quotes is a word. Raises MatchError.
    """
    if len(expression) > MAX_LENGTH:
        raise MatchError(MAX_LENGTH, f"is too long; at most {MAX_LENGTH} characters")
    return _Reader(expression).read()


def matches(expression: Expression, words: str) -> bool:
    """Tell whether an expression holds for the `words` of an entry (see `words_of`)."""
    match expression:
        case Phrase(needle):
            return needle in words
        case Not(inner):
            return not matches(inner, words)
        case Both(parts):
            return all(matches(part, words) for part in parts)
    return any(matches(part, words) for part in expression.parts)


def words_of(*texts: str) -> str:
    """Return texts as folded words between edges: whole words, in any case and width; no phrase spans two texts."""
    words = (word for text in texts for word in (*_split(text), _BREAK))
    return _EDGE + "".join(word + _EDGE for word in words)


# --- the rules -------------------------------------------------------------------------------------------------------


def _wrong_feed(route: Route, feed: Feed) -> str | None:
    if route.name == "follow" and feed.auth is not None:
        # Anybody may follow a tag; what needs a password goes only where the operator's routes send it (T21).
        return f"feed {feed.id} has credentials, and following takes what everybody may read"
    if route.feeds is None:
        return f"feed {feed.id} was added in chat, and the route takes those of the file" if feed.from_chat else None
    return None if feed.id in route.feeds else f"feed {feed.id} is not in feeds"


def _unwanted_tag(route: Route, entry: Entry) -> str | None:
    return next((f"tag {tag} is in not_tags" for tag in entry.tags if fold(tag) in route.not_tags), None)


def _no_tag(route: Route, entry: Entry) -> str | None:
    if not route.tags or any(fold(tag) in route.tags for tag in entry.tags):
        return None
    return f"no tag of {', '.join(sorted(route.tags))}"


def _no_match(route: Route, entry: Entry) -> str | None:
    if route.match is None or matches(_known_expression(route.match), words_of(entry.title, entry.text)):
        return None
    return f"title and summary do not match: {route.match}"


def _too_old(route: Route, entry: Entry, now: datetime) -> str | None:
    if route.max_age is None:
        return None
    # A clock that was set back since must not make an entry older than it is.
    age = min(now, entry.first_seen_at) - entry.sort_at
    if age - (_DATE_ONLY_SLACK if entry.date_only else timedelta(0)) <= route.max_age:
        return None
    return f"older than {_shown(route.max_age)}: dropped by max_age"


def _wanted_for(route: Route, entry: Entry) -> str:
    reasons = [f"tag {tag} is in tags" for tag in entry.tags if fold(tag) in route.tags][:1]
    if route.match is not None:
        reasons.append(f"title or summary matches: {route.match}")
    if route.not_tags:
        reasons.append("no tag of it is in not_tags")
    return ", ".join(reasons) or "the route takes every entry of this feed"


def _shown(length: timedelta) -> str:
    seconds = int(length.total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


# --- the expression --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _known_expression(expression: str) -> Expression:
    # Each entry asks for the same few; reading is a pure function of the text.
    return parse_match(expression)


class _Reader:
    """A recursive descent over the pieces of one expression, as deep as MAX_DEPTH."""

    def __init__(self, expression: str) -> None:
        self._pieces = [(found.start(), found.group()) for found in _PIECES.finditer(expression)]
        self._end = len(expression.rstrip())
        self._at = 0

    def read(self) -> Expression:
        if not self._pieces:
            raise MatchError(0, "is empty; leave the key out to match every entry")
        found = self._either(0)
        if self._at < len(self._pieces):
            raise MatchError(self._position(), 'this ")" closes nothing')
        return found

    def _either(self, depth: int) -> Expression:
        parts = [self._both(depth)]
        while self._take("or"):
            parts.append(self._both(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self, depth: int) -> Expression:
        parts = [self._one(depth)]
        # Without an "and" between them, words side by side mean the same.
        while self._take("and") or self._peek() not in ("", "or", ")"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _one(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise MatchError(self._position(), f"goes too deep; at most {MAX_DEPTH} parentheses inside one another")
        if self._take("not"):
            return Not(self._one(depth + 1))
        position = self._position()
        if self._take("("):
            found = self._either(depth + 1)
            if not self._take(")"):
                raise MatchError(position, 'this "(" is never closed')
            return found
        return self._phrase(position)

    def _phrase(self, position: int) -> Expression:
        piece = self._peek()
        if piece in ("", ")") or piece in _OPERATORS:
            what = f'"{piece}"' if piece else "the end"
            raise MatchError(position, f"a word is missing before {what}; an operator in quotes is a word")
        raw = self._pieces[self._at][1]
        self._at += 1
        if raw[0] in '"“':
            return _quoted(raw, position)
        return _bare(raw, position)

    def _peek(self) -> str:
        """Return the next piece, folded; empty at the end."""
        return self._pieces[self._at][1].casefold() if self._at < len(self._pieces) else ""

    def _take(self, piece: str) -> bool:
        if self._peek() != piece:
            return False
        self._at += 1
        return True

    def _position(self) -> int:
        return self._pieces[self._at][0] if self._at < len(self._pieces) else self._end


def _quoted(raw: str, position: int) -> Phrase:
    if len(raw) == 1 or raw[-1] not in '"”“':
        raise MatchError(position, "this quote is never closed")
    return _needle(raw[1:-1], position)


def _bare(raw: str, position: int) -> Phrase:
    if pattern := _NO_PATTERNS.search(raw):
        words = f'"{pattern.group()}" means nothing here: no wildcards and no regular expressions, only words'
        raise MatchError(position + pattern.start(), words)
    if raw[-1] in ",;":
        raise MatchError(position + len(raw) - 1, f'"{raw[-1]}" means nothing here; write "or" or "and"')
    return _needle(raw, position)


def _needle(text: str, position: int) -> Phrase:
    words = _split(text)
    if not words:
        raise MatchError(position, "there is no word in this")
    return Phrase(_EDGE + "".join(word + _EDGE for word in words))


# --- words -----------------------------------------------------------------------------------------------------------


def _split(text: str) -> list[str]:
    """Return the folded words of a text: runs of letters, digits and their marks.

    "+" and "#" right after a word and "." right before one are words of their own: "c++" is found only as such,
    "c" in "c++" too. "spectrum-x" is a phrase of two words on both sides, and so is "don't".
    """
    plain = caseless(text)
    if plain.isascii():
        return _ASCII_WORDS.findall(plain)
    words: list[str] = []
    is_open = False  # the last word may go on
    for at, char in enumerate(plain):
        kind = _kind(char)
        if kind == "mark":
            if words and is_open:
                words[-1] += char
        elif kind == "letter":
            words = _grown(words, char, is_open=is_open and not _is_unspaced(words[-1][0]))
            is_open = True
        elif kind != "invisible":
            if _is_sign(plain, at):
                words.append(char)
            is_open = False
    return words


def _grown(words: list[str], char: str, *, is_open: bool) -> list[str]:
    if is_open and not _is_unspaced(char):
        words[-1] += char
    else:
        words.append(char)
    return words


def _is_sign(plain: str, at: int) -> bool:
    char = plain[at]
    before = plain[at - 1] if at else " "
    if char in "+#":
        return before in "+#" or _kind(before) in ("letter", "mark")
    return char == "." and _kind(before) != "letter" and _kind(plain[at + 1 : at + 2]) == "letter"


def _kind(char: str) -> str:
    category = unicodedata.category(char) if char else "Zs"
    if category[0] in "LN":
        return "letter"
    if category[0] == "M":
        return "mark"
    return "invisible" if category == "Cf" else "other"


@lru_cache(maxsize=4096)
def _is_unspaced(char: str) -> bool:
    return unicodedata.name(char, "").startswith(_UNSPACED)
