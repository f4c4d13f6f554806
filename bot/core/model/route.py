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


# What a changed entry can do where it was told: change the message, or send another that answers it. To a program, a
# correction is a message like any other.
_EDITS = {
    "slack": (OnEdit.UPDATE, OnEdit.THREAD),
    "discord": (OnEdit.UPDATE, OnEdit.THREAD),
    "discord-user": (OnEdit.UPDATE, OnEdit.THREAD),
    "discord-webhook": (OnEdit.UPDATE,),
    "email": (OnEdit.THREAD,),
    "webhook": (OnEdit.THREAD,),
    "slack-webhook": (),
    "console": (),
}


def edit_form(uid: DestinationUid, asked: OnEdit | None) -> OnEdit:
    """Return what becomes of an edit at a destination (small print 8).

    Not asked, it is made where the message itself can be changed. Asked for the one where only the other is possible,
    it is the other; but no mail is sent again for a route that wants updates. Of a notifier that others wrote nobody
    knows what it can: it is asked for what the route asks.
    """
    scheme = uid.partition(":")[0]
    if scheme not in _EDITS:
        return asked or OnEdit.IGNORE
    possible = _EDITS[scheme]
    if asked is None:
        return OnEdit.UPDATE if OnEdit.UPDATE in possible else OnEdit.IGNORE
    if asked in possible or asked is OnEdit.IGNORE:
        return asked
    if not possible or (scheme == "email" and asked is OnEdit.UPDATE):
        return OnEdit.IGNORE
    return possible[0]


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
