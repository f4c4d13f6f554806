"""What changed between two readings of the configuration, in words; no secret is shown."""

from collections.abc import Iterator
from datetime import timedelta
from zoneinfo import ZoneInfo

from pydantic import BaseModel, SecretStr

from bot.config.errors import mask
from bot.config.settings import FeedSettings, RouteSettings, Settings
from bot.config.values import show_duration

_LISTS = ("feeds", "routes", "webhooks", "secrets")
# An address may carry a token in its query, headers may carry anything: that they changed is enough.
_NEVER_SHOWN = ("state", "url", "headers", "auth")
# What is taken up at start and kept: the store, the port, the log, how much goes on at once, and the chat connections.
# The notifiers take a new token over at once; only what people type in chat waits for the restart.
_FIXED = (
    ("state",),
    ("http", "listen"),
    ("log", "level"),
    ("log", "format"),
    ("polling", "concurrency"),
    ("delivery", "concurrency"),
    ("delivery", "per_service"),
    ("delivery", "timeout"),
    ("slack", "api_url"),
    ("slack", "app_token"),
    ("slack", "signing_secret"),
    ("discord", "api_url"),
    ("discord", "bot_token"),
    ("discord", "public_key"),
)


def diff(old: Settings, new: Settings) -> tuple[str, ...]:
    """Return a line for each change, such as `feed ai: interval 15m -> 5m`; no line where nothing changed."""
    return (
        *_of_table("", old, new),
        *_of_feeds(old.feeds, new.feeds),
        *_of_routes(old.routes, new.routes),
        *_of_secrets("webhook", old.webhooks, new.webhooks),
        *_of_secrets("secret", old.secrets, new.secrets),
    )


def needs_restart(old: Settings, new: Settings) -> tuple[str, ...]:
    """Return the changed keys that a running bot can't take over, such as `http.listen`."""
    return tuple(".".join(path) for path in _FIXED if _at(old, path) != _at(new, path))


def _at(settings: Settings, path: tuple[str, ...]) -> object:
    value: object = settings
    for name in path:
        value = getattr(value, name)
    return value


def _of_table(prefix: str, old: BaseModel, new: BaseModel) -> Iterator[str]:
    for name, info in type(new).model_fields.items():
        before, after = getattr(old, name), getattr(new, name)
        key = f"{prefix}{info.alias or name}"
        if before == after or (not prefix and name in _LISTS):
            continue
        if isinstance(before, BaseModel) and isinstance(after, BaseModel):
            yield from _of_table(f"{key}.", before, after)
        else:
            yield f"{key}: {_change(name, before, after)}"


def _of_feeds(old: tuple[FeedSettings, ...], new: tuple[FeedSettings, ...]) -> Iterator[str]:
    before, after = {feed.id: feed for feed in old}, {feed.id: feed for feed in new}
    for feed_id in sorted(before.keys() - after.keys()):
        yield f"feed {feed_id}: removed"
    for feed_id, feed in after.items():
        if feed_id not in before:
            yield f"feed {feed_id}: added"
        elif feed != before[feed_id]:
            yield f"feed {feed_id}: {_changed_keys(before[feed_id], feed)}"


def _of_routes(old: tuple[RouteSettings, ...], new: tuple[RouteSettings, ...]) -> Iterator[str]:
    """Compare routes by content, for they have no names; those to the same destinations are taken for one."""
    gone = list(old)
    added: list[RouteSettings] = []
    for route in new:
        if route in gone:
            gone.remove(route)
        else:
            added.append(route)
    for route in added:
        before = next((other for other in gone if other.to == route.to), None)
        if before is None:
            yield f"route to {_targets(route)}: added"
        else:
            gone.remove(before)
            yield f"route to {_targets(route)}: {_changed_keys(before, route)}"
    for route in gone:
        yield f"route to {_targets(route)}: removed"


def _of_secrets(what: str, old: dict[str, SecretStr], new: dict[str, SecretStr]) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{what} {name}: {_secret_change(old.get(name), new.get(name))}"


def _targets(route: RouteSettings) -> str:
    return mask(", ".join(route.to))


def _changed_keys(old: BaseModel, new: BaseModel) -> str:
    names = [name for name in type(new).model_fields if getattr(old, name) != getattr(new, name)]
    return ", ".join(f"{name} {_change(name, getattr(old, name), getattr(new, name))}" for name in names)


def _change(name: str, before: object, after: object) -> str:
    if isinstance(before, SecretStr) or isinstance(after, SecretStr):
        return _secret_change(before, after)
    shown = None if name in _NEVER_SHOWN else (_shown(before), _shown(after))
    return "changed" if shown is None or None in shown else f"{shown[0]} -> {shown[1]}"


def _secret_change(before: object, after: object) -> str:
    return "set" if before is None else "removed" if after is None else "changed"


def _shown(value: object) -> str | None:
    """Return a value in a few words, or None where it takes more."""
    match value:
        case None | ():
            return "unset"
        case bool():
            return str(value).lower()
        case int() | str():
            return mask(str(value))
        case timedelta():
            return show_duration(value)
        case ZoneInfo():
            return value.key
        case (str(), *_):
            return mask(", ".join(str(item) for item in value))
    return None
