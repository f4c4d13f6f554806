"""A route: which entries go where, when, and how they look."""

from dataclasses import dataclass, field
from datetime import time, timedelta
from enum import Enum
from typing import NewType
from zoneinfo import ZoneInfo

from bot.core.model.feed import FeedId

DestinationUid = NewType("DestinationUid", str)  # the string in the configuration: "slack:#x"


class OnEdit(Enum):
    UPDATE = "update"
    IGNORE = "ignore"
    THREAD = "thread"


class OnUnknown(Enum):
    """What happens to a message of unknown outcome where nothing can be looked up."""

    RESEND = "resend"
    HOLD = "hold"
    DROP = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRule:
    """One way of saying when; several together are a route's digest (small print 20).

    `at` None means every full hour. `weekdays` counts Monday as 0.
    """

    at: time | None
    weekdays: frozenset[int] = frozenset(range(7))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """Local times; an end before the start is on the next day."""

    start: time
    end: time


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """As configured, or made by a follow or an `add` in chat."""

    name: str  # "routes[0]", "follow", "add": for `why` and `replay --route`
    to: tuple[DestinationUid, ...]
    feeds: frozenset[FeedId] | None = None  # None: all feeds of the file
    tags: frozenset[str] = frozenset()  # folded by core.tags.fold; any of them; empty: every entry
    not_tags: frozenset[str] = frozenset()
    match: str | None = None  # words, quotes, and, or, not, parentheses: core.filters
    mention: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (folded tag or "*", literals)
    digest: tuple[DigestRule, ...] = ()
    quiet: QuietHours | None = None
    urgent: frozenset[str] = frozenset()
    timezone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    max_age: timedelta | None = None
    on_edit: OnEdit | None = None  # None: update where the platform can, else ignore
    template: str | None = None  # a file's path
    image: bool = False
