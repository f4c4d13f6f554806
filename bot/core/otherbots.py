"""The states of other bots: which feeds they follow, and which entries they have told."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.core.errors import UsageError
from bot.core.text.links import http_url

_YAML_URL = re.compile(r"^[ \t]*(?:-[ \t]*)?url:[ \t]*['\"]?(https?://[^\s'\"#]+)", re.MULTILINE)
_INI_FEED = re.compile(r"^\[feed\.(?P<name>[^\]\n]+)\](?P<body>.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_INI_URL = re.compile(r"^url[ \t]*=[ \t]*(\S+)", re.MULTILINE)
_USER = re.compile(r"://[^/?#]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFeed:
    """A feed of another bot; `told` holds ids and links as that bot kept them."""

    url: str
    title: str = ""
    told: frozenset[str] = frozenset()


def from_rss2email(files: Mapping[str, str]) -> tuple[OtherFeed, ...]:
    """Read rss2email's `rss2email.json` (data version 1 or 2) and, for the addresses, its `rss2email.cfg`.

    `files` maps names to texts. Raises UsageError.
    """
    state, config = _json(_own(files, ".json")), _own(files, ".cfg") or ""
    told = {str(feed.get("name")): _names(feed.get("seen")) for feed in _dicts(state, "feeds")}
    feeds = [
        OtherFeed(url=found[1], title=section["name"], told=told.get(section["name"], frozenset()))
        for section in _INI_FEED.finditer(config)
        if (found := _INI_URL.search(section["body"])) is not None and _is_address(found[1])
    ]
    if not feeds:
        raise UsageError("no feeds found; name the folder that holds rss2email.cfg and rss2email.json")
    return tuple(feeds)


def from_feedforbot(files: Mapping[str, str]) -> tuple[OtherFeed, ...]:
    """Read feedforbot's configuration (YAML), and its cache, where each feed's file is named by its address's SHA-256.

    Raises UsageError.
    """
    caches = {name: text for name, text in files.items() if name.endswith(".json")}
    configs = "\n".join(text for name, text in files.items() if name.endswith((".yml", ".yaml")))
    feeds = []
    for url in filter(_is_address, dict.fromkeys(_YAML_URL.findall(configs))):
        cache = caches.get(f"{hashlib.sha256(url.encode()).hexdigest()}.json")
        entries = _json(cache) if cache else []
        ids = (str(entry["id"]) for entry in entries if isinstance(entry, dict) and entry.get("id"))
        feeds.append(OtherFeed(url=url, told=frozenset(ids)))
    if not feeds:
        raise UsageError("no feeds found; name feedforbot's configuration, or a folder with it and its cache")
    return tuple(feeds)


def from_monitorss(files: Mapping[str, str]) -> tuple[OtherFeed, ...]:
    """Read an export of MonitoRSS's feeds, JSON or a JSON object a line. What it told is not in there.

    Raises UsageError.
    """
    found: dict[str, OtherFeed] = {}
    for text in files.values():
        for feed in _objects(text):
            url = str(feed.get("url") or "").strip()
            if _is_address(url):
                url = http_url(url) or url
                found.setdefault(url, OtherFeed(url=url, title=str(feed.get("title") or "")))
    if not found:
        raise UsageError('no feeds found; export the feeds as JSON, objects with "url" and "title"')
    return tuple(found.values())


def _own(files: Mapping[str, str], end: str) -> str | None:
    """The file that has rss2email's own name, before any other: its folders are shared with other programs."""
    names = sorted((name for name in files if name.endswith(end)), key=lambda name: name != f"rss2email{end}")
    return files[names[0]] if names else None


def _is_address(url: str) -> bool:
    """One with a password counts: `check` refuses it in words, which is better than to leave a feed out in silence."""
    return http_url(_USER.sub("://", url, count=1)) is not None


def _names(seen: object) -> frozenset[str]:
    return frozenset(str(name) for name in seen) if isinstance(seen, dict) else frozenset()


def _dicts(state: object, key: str) -> Iterator[dict[str, object]]:
    found = state.get(key) if isinstance(state, dict) else None
    yield from (each for each in found if isinstance(each, dict)) if isinstance(found, list) else ()


def _objects(text: str) -> Iterator[dict[str, object]]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = [_json(line) for line in text.splitlines() if line.strip().startswith("{")]
    stack = [whole]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(reversed(value))


def _json(text: str | None) -> list[object] | dict[str, object]:
    try:
        value = json.loads(text or "[]")
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the state is no JSON: {error}") from error
    return value if isinstance(value, list | dict) else []


READERS = {"rss2email": from_rss2email, "feedforbot": from_feedforbot, "monitorss": from_monitorss}
