"""A delivery: one message owed to one destination, and what has become of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from bot.core.model.entry import Entry
from bot.core.model.message import Payload
from bot.core.model.route import DestinationUid, OnEdit

DIGEST_MEMBERS: Final = 50  # a line each is what fits the narrowest service; a longer backlog makes a second digest


class DeliveryState(Enum):
    """The six states that are stored; parked and late are no states of a row (delivery.md §2.2)."""

    PENDING = "pending"
    SENDING = "sending"
    UNKNOWN = "unknown"
    SENT = "sent"
    HELD = "held"  # waits for a person (`on_unknown = "hold"`)
    DEAD = "dead"


class DeliveryKind(Enum):
    ENTRY = "entry"
    DIGEST = "digest"
    EDIT = "edit"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the routes asked of this one delivery, fixed when it was owed (small print 21)."""

    routes: tuple[str, ...] = ()  # their names, for `why`
    mentions: tuple[str, ...] = ()  # literals of this destination's platform
    template: str | None = None
    image: bool = False
    on_edit: OnEdit | None = None
    timezone: str = "UTC"
    heading: str | None = None  # of the digest it will be part of: "while away", "daily digest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One row. `idem` is its identity, from content alone (R-11); `seq` its place in the destination's order."""

    id: int = 0
    idem: str  # 32 hex digits
    destination: DestinationUid
    kind: DeliveryKind
    seq: int = 0
    entry_id: int | None = None  # None: a digest or a notice
    edit_no: int = 0
    bundle: str | None = None  # rows of one bundle that are due become one digest
    digest_id: int | None = None  # the digest that this row is a member of, once bound
    due_at: datetime
    created_at: datetime
    state: DeliveryState = DeliveryState.PENDING
    attempts: int = 0
    first_try_at: datetime | None = None
    looked_at: datetime | None = None  # the last look-up of an unknown outcome that found nothing
    looks: int = 0
    plain: bool = False  # the rich form was rejected once: send the plain one (message-bad fallback)
    late: bool = False  # it was passed by later ones: marked "delayed"
    remote_ref: str | None = None  # Slack ts, Discord message id, Message-ID
    rendered_hash: str | None = None
    payload: Payload | None = None  # as it was sent, kept until the outcome is known
    options: Options = Options()
    notice: str | None = None  # the words of a notice
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try and its answer; the last 20 of a delivery are kept for `why`."""

    at: datetime
    outcome: str  # sent, retry, unknown, found, absent, parked, rejected, dead
    answer: str = ""  # the service's own word, redacted


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """One destination's row: order, waiting, the breaker and the lease all live here (decision 2)."""

    uid: DestinationUid
    remote_id: str | None = None  # the service's own id, resolved once
    not_before: datetime | None = None
    failures: int = 0  # transient ones in a row; a rate limit does not count
    unwell_since: datetime | None = None  # first failure, rate limits too, since the last success
    parked: str | None = None  # why nothing is sent until a probe or a person says so
    parked_at: datetime | None = None
    probe_at: datetime | None = None
    unsubscribed: bool = False
    can_look_up: bool | None = None  # as the last probe found; None: not asked yet
    epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """A delivery with what is needed to render it.

    `entries` holds the one entry, or a digest's members in order; `original` the sent delivery that an edit changes.
    """

    delivery: Delivery
    entries: tuple[Entry, ...] = ()
    members: tuple[Delivery, ...] = ()
    original: Delivery | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One destination under our lease, with its first due deliveries in order.

    `waiting` counts all that are due and `oldest_due_at` is the first of them, so that a backlog is seen whole.
    """

    destination: Destination
    owed: tuple[Owed, ...]
    waiting: int
    oldest_due_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The service's word that it has the message."""

    remote_ref: str | None = None
    remote_id: str | None = None  # the channel's own id, if the answer told it


# Why a message that may have gone out can never be looked up, by scheme: no need to ask those services.
WITHOUT_HISTORY: Final[Mapping[str, str]] = {
    "console": "a console has no history",
    "email": "mail has no look-up; a second try carries the same Message-ID",
    "slack-webhook": "a Slack webhook has no history",
    "discord-webhook": "a Discord webhook has no history",
    "webhook": "a webhook has no history",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a read-only look at a destination found."""

    remote_id: str | None = None
    can_look_up: bool = False
    why_not: str | None = None  # why exactly-once is not possible, in words
    name: str | None = None  # as people know it


# --- what an attempt's answer means: the result of core.settle ------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    receipt: Receipt
    how: str = "sent"  # or "found"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAt:
    at: datetime
    why: str
    throttled: bool = False
    plain: bool = False  # send the plain form from now on
    alone: bool = False  # let the next one try before this one
    blind: bool = False  # sent again without knowing whether it arrived


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    look_at: datetime
    why: str
    absent: bool = False  # a look-up found nothing, which counts as a look; one that failed does not
    failed: bool = False  # the look itself did: the service is unwell
    alone: bool = False  # nobody waits for this one


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    why: str
    probe_at: datetime
    account: bool = False  # all destinations of that token


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    why: str


Settlement = Sent | RetryAt | Unknown | Parked | Held | Dead
_OUTCOMES: Final[Mapping[type, str]] = {
    RetryAt: "retry",
    Unknown: "unknown",
    Parked: "parked",
    Held: "held",
    Dead: "dead",
}


def outcome_of(result: Settlement) -> tuple[str, str | None]:
    """Return a word for logs, metrics and attempts, and the reason where there is one."""
    return (result.how, None) if isinstance(result, Sent) else (_OUTCOMES[type(result)], result.why)
