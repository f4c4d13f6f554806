"""Line and column of every key and value of a TOML document, which tomllib does not tell."""

import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACES = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}#\n]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'",
    re.DOTALL,
)
# One character of a string's value as written; a line that ends in a backslash writes nothing.
_CHARACTER = re.compile(
    r"(?P<nothing>\\[ \t]*\n\s*)|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\x[0-9A-Fa-f]{2}|\\.|.", re.DOTALL
)
_PLAIN_CHARACTER = re.compile(r"(?P<nothing>(?!))|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the text; both count from 1, columns in characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key stands, and where its value begins; the same for table headers and for items of an array."""

    key: Position
    value: Position


class _LostError(Exception):
    """The text is not what a valid document has here."""


def locate(text: str) -> dict[KeyPath, Place]:
    """Return the place of each key path of a document that tomllib accepts.

    Arrays give their items numbers: ("feeds", 0, "url"). Of a document that is not valid, what stands before
    the fault is returned. Raises RecursionError where values are nested too deep.
    """
    scanner = _Scanner(text)
    try:
        scanner.document()
    except (_LostError, tomllib.TOMLDecodeError):
        pass
    return scanner.places


def first_repeat(text: str) -> tuple[KeyPath, Position] | None:
    """Return the first key or table that a document sets again, with the place of the second time."""
    scanner = _Scanner(text)
    try:
        scanner.document()
    except (_LostError, tomllib.TOMLDecodeError, RecursionError):
        pass
    return scanner.repeats[0] if scanner.repeats else None


def within(text: str, start: Position, offset: int) -> Position:
    """Return where the character number `offset` (from 0) of the string that begins at `start` is written.

    An escape such as `\\"` is one character of the value and several of the text.
    """
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    at = lines[start.line - 1] + start.column - 1
    quote = text[at]
    is_long = text.startswith(quote * 3, at)
    at += 3 if is_long else 1
    if is_long and text.startswith("\n", at):
        at += 1
    unit = _CHARACTER if quote == '"' else _PLAIN_CHARACTER
    while match := unit.match(text, at):
        if match["nothing"] is None and offset == 0:
            break
        offset -= match["nothing"] is None
        at = match.end()
    line = bisect_right(lines, at)
    return Position(line, at - lines[line - 1] + 1)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._arrays: dict[KeyPath, int] = {}
        self._set: set[KeyPath] = set()
        self.places: dict[KeyPath, Place] = {}
        self.repeats: list[tuple[KeyPath, Position]] = []

    def document(self) -> None:
        table: KeyPath = ()
        while True:
            self._skip(_BLANK)
            if self._at >= len(self._text):
                return
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> KeyPath:
        start = self._position()
        is_array = self._text.startswith("[[", self._at)
        self._at += 2 if is_array else 1
        path: KeyPath = ()
        for part, _ in self._keys():
            if path in self._arrays:
                path += (self._arrays[path] - 1,)
            path += (part,)
            self.places.setdefault(path, Place(start, start))
        if is_array:
            number = self._arrays.get(path, 0)
            self._arrays[path] = number + 1
            path += (number,)
            self.places[path] = Place(start, start)
        else:
            self._set_once(path, start)
        self._expect("]]" if is_array else "]")
        return path

    def _pair(self, table: KeyPath) -> None:
        path = table
        key = self._position()
        for part, position in self._keys():
            path += (part,)
            key = position
            self.places.setdefault(path, Place(position, position))
        self._set_once(path, key)
        self._expect("=")
        self._skip(_SPACES)
        self._value(path, key)

    def _value(self, path: KeyPath, key: Position | None) -> None:
        start = self._position()
        self.places[path] = Place(key or start, start)
        opening = self._text[self._at : self._at + 1]
        if opening == "[":
            self._items(path)
        elif opening == "{":
            self._inline_table(path)
        else:
            self._take(_STRING if opening in ('"', "'") else _BARE_VALUE)

    def _set_once(self, path: KeyPath, position: Position) -> None:
        if path in self._set or path in self._arrays:
            self.repeats.append((path, position))
        self._set.add(path)

    def _items(self, path: KeyPath) -> None:
        self._at += 1
        number = 0
        while not self._closes("]"):
            self._value((*path, number), None)
            number += 1
            self._comma("]")

    def _inline_table(self, path: KeyPath) -> None:
        self._at += 1
        while not self._closes("}"):
            self._pair(path)
            self._comma("}")

    def _closes(self, bracket: str) -> bool:
        self._skip(_BLANK)
        if not self._text.startswith(bracket, self._at):
            return False
        self._at += 1
        return True

    def _comma(self, bracket: str) -> None:
        self._skip(_BLANK)
        if not self._text.startswith(bracket, self._at):
            self._expect(",")

    def _keys(self) -> list[tuple[str, Position]]:
        """Read a key and its dotted parts."""
        parts: list[tuple[str, Position]] = []
        while True:
            self._skip(_SPACES)
            position = self._position()
            if self._text[self._at : self._at + 1] in ('"', "'"):
                parts.append((str(tomllib.loads(f"k = {self._take(_STRING)}")["k"]), position))
            else:
                parts.append((self._take(_BARE_KEY), position))
            self._skip(_SPACES)
            if not self._text.startswith(".", self._at):
                return parts
            self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise _LostError
        self._at = match.end()
        return match.group()

    def _expect(self, text: str) -> None:
        if not self._text.startswith(text, self._at):
            raise _LostError
        self._at += len(text)

    def _position(self) -> Position:
        line = bisect_right(self._lines, self._at)
        return Position(line, self._at - self._lines[line - 1] + 1)
