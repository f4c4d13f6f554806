"""What intake and outbox tell whoever watches them: logs, metrics, `once`."""

from dataclasses import dataclass
from datetime import timedelta

from bot.core.model.delivery import DeliveryKind, Settlement
from bot.core.model.feed import FeedId


@dataclass(frozen=True, slots=True, kw_only=True)
class PollEvent:
    """How one poll ended."""

    feed: FeedId
    outcome: str  # new, nothing, failed, lost, put off
    new: int = 0
    owed: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendEvent:
    """What became of one attempt."""

    destination: str
    kind: DeliveryKind
    result: Settlement
    delay: timedelta  # since the delivery was due
    idem: str
    looked: bool = False  # a look-up of an unknown outcome, not a send
