"""A feed as a bot sees it: what `inspect` finds, and a configuration to begin with."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from itertools import pairwise
from urllib.parse import urlsplit

from bot.core.model.entry import ParsedEntry, ParsedFeed
from bot.core.model.feed import PERMANENT, Feed, FeedId, Fetched, moved_for_good
from bot.core.schedule import poll_interval
from bot.core.tags import decide_section, entry_tags, fold
from bot.core.text.amounts import amount
from bot.core.text.characters import one_line

MAX_TAGS_SHOWN = 12
MAX_ID = 40  # characters of a proposed id; people type it
LARGE = 1_000_000  # bytes; that much each quarter of an hour is worth a word to the author

_COMMON_NAMES = frozenset({"feed", "feeds", "rss", "atom", "index", "blog", "www", "xml", "rss2", "json"})


class Level(Enum):
    GOOD = "good"
    NOTE = "note"  # good to know; the bot copes
    WARNING = "warning"  # something will be worse than it could be


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One observation; `topic` is a word to look it up by."""

    topic: str
    level: Level
    words: str


def lint(parsed: ParsedFeed, fetched: Fetched) -> tuple[Finding, ...]:
    """Return what is worth knowing about a feed before it is configured. `parsed` must be a whole parse."""
    items = _items(parsed)
    return (
        *_address(fetched),
        *_document(parsed, items, fetched),
        *_section(parsed, items),
        *_dates(items),
        *_order(items),
        *_guids(items),
        *_titles(items),
        *_texts(items),
        *_caching(parsed, fetched),
        *_hub(parsed, fetched),
    )


def config_block(
    parsed: ParsedFeed,
    fetched: Fetched,
    *,
    url: str,
    taken: Collection[str] = (),
    allow_private: Sequence[str] = (),
) -> str:
    """Return a ready `[[feeds]]` and `[[routes]]` block.

    A feed that moved for good is written with its new address. Its tags stand in the route as a comment, so that
    nothing is filtered by accident. `allow_private` holds the networks that the feed was found in.
    """
    items = _items(parsed)
    section = decide_section([item.categories for item in items], title=parsed.title).names
    address = fetched.url if moved_for_good(fetched.hops) else url
    feed_id = propose_id(parsed.title, address, taken=taken)
    lines = [feed_block(feed_id, address, title=parsed.title, section=section[0] if len(section) == 1 else None)]
    if allow_private:
        networks = ", ".join(_quoted(network) for network in allow_private)
        lines[0] += f"allow_private = [{networks}]\n"
    lines += ["[[routes]]", 'to = "slack:#news"', f"feeds = [{_quoted(feed_id)}]"]
    if tags := _tags(items, section):
        chosen = ", ".join(_quoted(tag) for tag in tags[:MAX_TAGS_SHOWN])
        lines.append(f"# tags = [{chosen}]  # only entries with one of these")
    return "\n".join((*lines, ""))


def feed_block(feed_id: str, url: str, *, title: str = "", section: str | None = None, tags: Sequence[str] = ()) -> str:
    """Return one `[[feeds]]` block as TOML, with the feed's title as a comment."""
    name = one_line(title)
    lines = [f"# {name}"] if name else []
    lines += ["[[feeds]]", f"id = {_quoted(feed_id)}", f"url = {_quoted(url)}"]
    if section is not None:
        lines.append(f"section = {_quoted(section)}")
    if tags:
        lines.append(f"tags = [{', '.join(_quoted(tag) for tag in tags)}]")
    return "\n".join((*lines, ""))


def propose_id(title: str, url: str, *, taken: Collection[str] = ()) -> str:
    """Return a free id made of the title's head, else of the address: letters, digits and hyphens."""
    parts = urlsplit(url)
    path = [name.rpartition(".")[0] or name for name in reversed(parts.path.split("/"))]
    host = (parts.hostname or "").removeprefix("www.").partition(".")[0]
    head = re.split(r"\s+[·•|»–—-]\s+|:\s", title, maxsplit=1)[0]
    slugs = (_slug(words) for words in (head, *path, host))
    base = next((slug for slug in slugs if slug and slug not in _COMMON_NAMES), "feed")
    used = {name.casefold() for name in taken}
    number, name = 1, base
    while name in used:
        number += 1
        name = f"{base}-{number}"
    return name


# --- findings --------------------------------------------------------------------------------------------------------


def _address(fetched: Fetched) -> Iterator[Finding]:
    if any(status in PERMANENT for status, _ in fetched.hops):
        yield Finding(topic="address", level=Level.NOTE, words=f"moved for good to {fetched.url}; configure that one")
    elif fetched.hops:
        words = f"answers from {fetched.url} for now; the configured address stays"
        yield Finding(topic="address", level=Level.NOTE, words=words)
    if urlsplit(fetched.url).scheme == "http":
        yield Finding(topic="address", level=Level.NOTE, words="plain http: anybody on the way can change it")


def _document(parsed: ParsedFeed, items: Sequence[ParsedEntry], fetched: Fetched) -> Iterator[Finding]:
    size = len(fetched.body)
    level = Level.WARNING if size > LARGE else Level.GOOD
    yield Finding(topic="size", level=level, words=f"{amount(len(items), 'entry', 'entries')} in {_bytes(size)}")
    if parsed.truncated:
        words = "the document is cut off: its last entry is missing or incomplete"
        yield Finding(topic="document", level=Level.WARNING, words=words)
    if parsed.total > len(items):
        words = f"holds {parsed.total} entries; the {len(items)} that stand first are read"
        yield Finding(topic="document", level=Level.NOTE, words=words)
    if "html" in (fetched.content_type or "").lower():
        words = f"is a feed, but its server calls it {one_line(fetched.content_type or '')}"
        yield Finding(topic="document", level=Level.WARNING, words=words)


def _section(parsed: ParsedFeed, items: Sequence[ParsedEntry]) -> Iterator[Finding]:
    section = decide_section([item.categories for item in items], title=parsed.title).names
    for name in section:
        count = sum(fold(name) in {fold(term) for term in item.categories} for item in items)
        words = f'"{name}" stands on {count} of {len(items)} entries: the section, not a tag'
        yield Finding(topic="section", level=Level.NOTE, words=words)
    tags = _tags(items, section)
    if tags:
        more = f" and {len(tags) - MAX_TAGS_SHOWN} more" if len(tags) > MAX_TAGS_SHOWN else ""
        words = f"{amount(len(tags), 'tag')}: {', '.join(tags[:MAX_TAGS_SHOWN])}{more}"
        yield Finding(topic="tags", level=Level.GOOD, words=words)
    elif items:
        words = "no entry has a tag of its own; give the feed fixed tags to filter by"
        yield Finding(topic="tags", level=Level.NOTE, words=words)


def _dates(items: Sequence[ParsedEntry]) -> Iterator[Finding]:
    dated = [item for item in items if item.published is not None]
    if len(dated) < len(items):
        words = f"{amount(len(items) - len(dated), 'entry', 'entries')} without a date: the first sight counts instead"
        yield Finding(topic="dates", level=Level.NOTE, words=words)
    if dated and not any(item.has_time for item in dated):
        words = "dates without a time of day: shown as dates, in no time zone"
        yield Finding(topic="dates", level=Level.NOTE, words=words)
    shared = [at for at, count in Counter(item.published for item in dated).items() if count > 1]
    if shared:
        words = (
            f"{amount(len(shared), 'date')} shared by several entries: their place in the document decides the order"
        )
        yield Finding(topic="dates", level=Level.NOTE, words=words)


def _order(items: Sequence[ParsedEntry]) -> Iterator[Finding]:
    dates = [item.published for item in items if item.published is not None]
    if len(set(dates)) < 2:
        return
    if all(one >= other for one, other in pairwise(dates)):
        yield Finding(topic="order", level=Level.GOOD, words="newest entry first")
    elif all(one <= other for one, other in pairwise(dates)):
        yield Finding(
            topic="order", level=Level.NOTE, words="oldest entry first; announced in the right order all the same"
        )
    else:
        yield Finding(topic="order", level=Level.NOTE, words="not in the order of its dates; every entry is looked at")


def _guids(items: Sequence[ParsedEntry]) -> Iterator[Finding]:
    guids = [item.guid for item in items if item.guid is not None]
    if len(guids) < len(items):
        words = f"{amount(len(items) - len(guids), 'entry', 'entries')} without a guid: the link stands in for it"
        yield Finding(topic="guids", level=Level.NOTE, words=words)
    doubled = sum(count > 1 for count in Counter(guids).values())
    if doubled:
        words = f"{amount(doubled, 'guid')} shared by several entries: the link tells them apart"
        yield Finding(topic="guids", level=Level.WARNING, words=words)
    if guids and all(item.guid == item.link for item in items if item.guid is not None):
        words = "each guid is the entry's link: it changes when the address does (a move is recognised)"
        yield Finding(topic="guids", level=Level.NOTE, words=words)


def _titles(items: Sequence[ParsedEntry]) -> Iterator[Finding]:
    untitled = sum(not item.title for item in items)
    if untitled:
        words = f"{amount(untitled, 'entry', 'entries')} without a title: shown by the beginning of the text"
        yield Finding(topic="titles", level=Level.NOTE, words=words)
    unlinked = sum(item.link is None and item.enclosure is None for item in items)
    if unlinked:
        words = f"{amount(unlinked, 'entry', 'entries')} without a link: nothing to click on"
        yield Finding(topic="links", level=Level.WARNING, words=words)


def _texts(items: Sequence[ParsedEntry]) -> Iterator[Finding]:
    summaries = [len(item.summary_html) for item in items if item.summary_html]
    contents = [len(item.content_html) for item in items if item.content_html]
    if items and not summaries and not contents:
        yield Finding(
            topic="texts", level=Level.NOTE, words="neither summaries nor full texts: messages show titles alone"
        )
    for name, lengths in (("summaries", summaries), ("full texts", contents)):
        if lengths:
            words = f"{name} on {len(lengths)} of {len(items)} entries, {_span(lengths)} characters"
            yield Finding(topic="texts", level=Level.GOOD, words=words)


def _caching(parsed: ParsedFeed, fetched: Fetched) -> Iterator[Finding]:
    validators = (("ETag", fetched.validators.etag), ("Last-Modified", fetched.validators.last_modified))
    sent = [name for name, value in validators if value is not None]
    interval = poll_interval(Feed(id=FeedId("feed"), url=fetched.url), has_validators=bool(sent))
    if sent:
        words = f"{' and '.join(sent)}: a poll without news costs next to nothing; every {_length(interval)} is fine"
        yield Finding(topic="caching", level=Level.GOOD, words=words)
    else:
        words = f"neither ETag nor Last-Modified: each poll fetches it whole, so at most once in {_length(interval)}"
        yield Finding(topic="caching", level=Level.WARNING, words=words)
    for name, wish in (("Cache-Control", fetched.max_age), ("ttl", parsed.ttl)):
        if wish is not None and wish > interval:
            words = f"{name} asks for {_length(wish)} between polls, and gets it (a day at most)"
            yield Finding(topic="caching", level=Level.NOTE, words=words)
    if parsed.skip_hours or parsed.skip_days:
        skipped = ", ".join((*(f"{hour}:00" for hour in parsed.skip_hours), *parsed.skip_days))
        yield Finding(topic="caching", level=Level.NOTE, words=f"wants no poll at {skipped} (GMT)")


def _hub(parsed: ParsedFeed, fetched: Fetched) -> Iterator[Finding]:
    hub = fetched.hub or parsed.hub
    if hub is not None:
        yield Finding(topic="hub", level=Level.GOOD, words=f"WebSub hub {hub}: new entries can be pushed")


# --- words -----------------------------------------------------------------------------------------------------------


def _items(parsed: ParsedFeed) -> tuple[ParsedEntry, ...]:
    return tuple(item for item in parsed.items if isinstance(item, ParsedEntry))


def _tags(items: Iterable[ParsedEntry], section: Collection[str]) -> list[str]:
    """Return all tags, most used first."""
    tags = [tag for item in items for tag in entry_tags(item.categories, section)]
    names: dict[str, str] = {}
    for tag in tags:
        names.setdefault(fold(tag), tag)
    return [names[key] for key, _ in Counter(map(fold, tags)).most_common()]


def _slug(words: str) -> str:
    bare = "".join(char for char in unicodedata.normalize("NFKD", fold(words)) if not unicodedata.combining(char))
    return re.sub("[^a-z0-9]+", "-", bare).strip("-")[:MAX_ID].rstrip("-")


def _quoted(text: str) -> str:
    """Return a TOML basic string: JSON's escapes are TOML's, but for DEL, which no clean text holds."""
    return json.dumps(one_line(text), ensure_ascii=False)


def _bytes(size: int) -> str:
    return f"{size:,} bytes" if size < 10_000 else f"{size / 1_000:,.0f} kB"


def _span(lengths: Sequence[int]) -> str:
    low, high = min(lengths), max(lengths)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _length(length: timedelta) -> str:
    minutes = max(1, round(length / timedelta(minutes=1)))
    if minutes % 1440 == 0:
        return amount(minutes // 1440, "day")
    return amount(minutes // 60, "hour") if minutes % 60 == 0 else amount(minutes, "minute")
