"""What the outbox tells whoever watches it."""

from dataclasses import dataclass
from datetime import timedelta

from bot.core.model.delivery import DeliveryKind, Settlement


@dataclass(frozen=True, slots=True, kw_only=True)
class SendEvent:
    """What became of one attempt, for logs and metrics."""

    destination: str
    kind: DeliveryKind
    result: Settlement
    delay: timedelta  # since the delivery was due
    idem: str
    looked: bool = False  # a look-up of an unknown outcome, not a send
