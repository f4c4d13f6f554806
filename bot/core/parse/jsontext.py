"""The JSON of a feed as servers send it: with something behind it, made by a template, or cut off (N14)."""

import json
import re

from bot.core.errors import NotAFeed
from bot.core.model.message import JsonValue

VERSION = "jsonfeed.org/version/"
MAX_HEAD = 100_000  # characters in which the items must begin

_ITEMS = re.compile(r'"items"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")


def load(text: str) -> tuple[JsonValue, bool]:
    """Return the first value in `text`, and whether it is cut off: then its complete items are there.

    Line breaks in strings and a comma too many are what templates write. Raises NotAFeed.
    """
    text = text.lstrip()
    try:
        value, _ = _DECODER.raw_decode(text)  # caches add a comment behind it
    except (ValueError, RecursionError) as error:
        found = _ITEMS.search(text, 0, MAX_HEAD)
        if found is None:
            raise NotAFeed("JSON that cannot be read") from error
        return _by_items(text, found.end())
    return value, False


def _by_items(text: str, start: int) -> tuple[JsonValue, bool]:
    items, end = _items(text, start)
    is_closed = text[end : end + 1] == "]"
    if not is_closed and end < len(text) and text.rstrip().endswith("}"):
        raise NotAFeed("JSON that cannot be read")  # not cut off, but broken in its middle
    try:
        document, _ = _DECODER.raw_decode(text[:start] + "]" + (text[end + 1 :] if is_closed else "}"))
    except (ValueError, RecursionError) as error:
        raise NotAFeed("JSON that cannot be read") from error
    if not is_closed:
        document.setdefault("version", VERSION)  # may have stood behind the items
    return {**document, "items": items}, not is_closed


def _items(text: str, at: int) -> tuple[list[JsonValue], int]:
    """The items that can be read, and where the next one would begin."""
    items: list[JsonValue] = []
    while True:
        at = _after_blanks(text, at)
        if at >= len(text) or text[at] == "]":
            return items, at
        try:
            item, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return items, at
        items.append(item)


def _after_blanks(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) < 40 else digits


_DECODER = json.JSONDecoder(strict=False, parse_int=_integer, parse_constant=lambda _: None)
