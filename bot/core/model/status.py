"""What pages and metrics show of the store: rows with what people want beside them, and counts."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.core.model.delivery import Delivery, Destination
from bot.core.model.feed import FeedId


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """A delivery as a list shows it."""

    delivery: Delivery
    title: str = ""  # of its entry; "" for digests and notices
    entry_key: str | None = None  # hex
    feed_id: FeedId | None = None
    parked: bool = False  # its destination is


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationRow:
    """A destination and its queue, as people are shown it."""

    destination: Destination
    name: str | None
    why_not: str | None  # why exactly-once is not possible
    last_sent_at: datetime | None
    waiting: int  # open rows, due or not
    held: int
    dead: int
    oldest_due_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Numbers for the top of the first page, and for the metrics."""

    entries: int = 0
    sent_lately: int = 0  # in the last 24 hours
    waiting: int = 0  # neither sent nor settled otherwise; parked ones and those for later too
    held: int = 0
    dead: int = 0  # in the last 7 days


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """How long the deliveries of one UTC day took from due to sent."""

    day: datetime
    median: timedelta
    longest: timedelta
    count: int
