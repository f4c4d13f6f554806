"""The grammar of `/latest TEXT`, the same in chat and on the command line (small print 18)."""

import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from bot.core.errors import UsageError
from bot.core.model.feed import FeedId
from bot.core.tags import fold

HasTag = Callable[[str], bool]
FeedIds = Callable[[], Collection[FeedId]]

MAX_TEXT = 500  # characters that are looked at; no tag is longer
MAX_COUNT = 10

_KEY = re.compile(r"(?:(?<=\s)|(?<=[\"”’'])|^)(tag|feed|count|public)\s*:\s*", re.IGNORECASE)
_QUOTES = {'"': '"', "“": '"”“', "„": "“”", "'": "'", "‘": "’"}
_LOOSE_QUOTES = "\"'“”„‘’ \t\n"
_YES = frozenset({"true", "yes", "1", "on"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestQuery:
    """What somebody asks for. `tag` is as typed, for the answer; `folded` is looked up."""

    tag: str | None = None
    feed: FeedId | None = None
    count: int = 1
    public: bool = False

    @property
    def folded(self) -> str | None:
        """The tag as the store knows it."""
        return None if self.tag is None else fold(self.tag)


def parse_latest(text: str, *, has_tag: HasTag, feed_ids: FeedIds) -> LatestQuery:
    """Read the words after `/latest`; `has_tag` knows folded tags. Only what the text leaves open is asked.

    At each step a tag that is named by all that is left wins. Else a last word `public` and a last number from 1 to
    10 are taken off; then a feed's id means that feed, alone or before a known tag; the rest is one tag, known or not.
    `tag:`, `feed:`, `count:` say it outright, in quotes or up to the next of them. A quote that is never closed ends
    with the text. Raises UsageError for a feed or count that is said outright and can't be.
    """
    rest, said = _outright(unicodedata.normalize("NFC", text)[:MAX_TEXT])
    query = LatestQuery()
    if "feed" in said:
        query = replace(query, feed=_feed_named(said["feed"], feed_ids()))
    rest, query = _take_ends(rest, query, has_tag, keep_first=said.get("tag") == "")
    if "tag" in said:
        query = replace(query, tag=said["tag"] or spoken_tag(rest, has_tag) or None)
    else:
        query = _with_tag(rest, query, has_tag, feed_ids)
    if "count" in said:
        query = replace(query, count=_count(said["count"]))
    return replace(query, public=query.public or said.get("public", "").casefold() in _YES)


def spoken_tag(text: str, has_tag: HasTag) -> str:
    """Return a tag without the quotes around it, closed or not; one that is known with just these keeps them."""
    bare = text.strip(_LOOSE_QUOTES)
    return text if fold(text) != fold(bare) and has_tag(fold(text)) else bare


def _outright(text: str) -> tuple[str, dict[str, str]]:
    """Cut `key:value` pairs out of a text; return what is left and the values.

    A value without quotes reaches to the next key. What follows a tag's first word may still be a count or `public`,
    so an unquoted tag stays in the rest, and its value is empty.
    """
    rest: list[str] = []
    said: dict[str, str] = {}
    at = 0
    while (found := _KEY.search(text, at)) is not None:
        rest.append(text[at : found.start()])
        key = found[1].casefold()
        value, at, is_quoted = _value(text, found.end(), whole=key == "tag")
        if key == "tag" and not is_quoted:
            rest.append(value)
            value = ""
        said[key] = value
    rest.append(text[at:])
    return " ".join(" ".join(rest).split()), said


def _value(text: str, at: int, *, whole: bool) -> tuple[str, int, bool]:
    """Return a value, where it ends, and whether it stood in quotes; `whole`: unquoted, it may hold blanks."""
    if text[at : at + 1] in _QUOTES and at < len(text):
        closing = _QUOTES[text[at]]
        end = min((place for mark in closing if (place := text.find(mark, at + 1)) > 0), default=len(text))
        return text[at + 1 : end].strip(), end + 1, True
    following = _KEY.search(text, at)
    piece = text[at : following.start()] if following is not None else text[at:]
    if not whole:
        piece = piece[: len(piece.split(maxsplit=1)[0])] if piece.strip() else ""
    return piece.strip(), at + len(piece), False


def _take_ends(rest: str, query: LatestQuery, has_tag: HasTag, *, keep_first: bool) -> tuple[str, LatestQuery]:
    """Take a last `public` and a last number off, each once and in any order, unless a tag is named by the whole."""
    has_count = False
    while rest and not has_tag(fold(rest)):
        before, _, last = rest.rpartition(" ")
        if keep_first and not before:
            break
        plain = unicodedata.normalize("NFKC", last).casefold()
        if plain == "public" and not query.public:
            query = replace(query, public=True)
        elif not has_count and re.fullmatch("[1-9]|10", plain):
            query = replace(query, count=int(plain))
            has_count = True
        else:
            break
        rest = before
    return rest, query


def _with_tag(rest: str, query: LatestQuery, has_tag: HasTag, feed_ids: FeedIds) -> LatestQuery:
    tag = spoken_tag(rest, has_tag)
    if not tag:
        return query
    if query.feed is not None or has_tag(fold(rest)):
        return replace(query, tag=tag)
    ids = feed_ids()
    feed = _find_feed(tag, ids)
    if feed is not None:
        return replace(query, feed=feed)
    first, _, after = rest.partition(" ")
    feed, own = _find_feed(first.strip(_LOOSE_QUOTES), ids), spoken_tag(after, has_tag)
    if feed is not None and has_tag(fold(own)):
        return replace(query, feed=feed, tag=own)
    return replace(query, tag=tag)


def _find_feed(name: str, ids: Collection[FeedId]) -> FeedId | None:
    """Return the feed of that id; where no id is written so, the case does not matter."""
    if name in ids:
        return FeedId(name)
    return next((feed for feed in ids if feed.casefold() == name.casefold()), None)


def _feed_named(name: str, ids: Collection[FeedId]) -> FeedId:
    feed = _find_feed(name, ids)
    if feed is None:
        raise UsageError(f'no feed "{name}"; feeds: {", ".join(sorted(ids)) or "none"}')
    return feed


def _count(text: str) -> int:
    plain = unicodedata.normalize("NFKC", text)
    if not re.fullmatch("[1-9]|10", plain):
        raise UsageError(f"count is a number from 1 to {MAX_COUNT}")
    return int(plain)
