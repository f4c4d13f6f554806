"""How polls ended in the last two days, hour by hour: what the status site draws without a Prometheus."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

HOURS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Polls:
    """The polls of one hour. One that found nothing new went well."""

    hour: datetime
    ok: int = 0
    failed: int = 0


class PollHistory:
    """Kept in memory alone: a restart begins it anew."""

    def __init__(self) -> None:
        self._hours: deque[Polls] = deque(maxlen=HOURS)

    def add(self, at: datetime, *, failed: bool) -> None:
        hour = at.replace(minute=0, second=0, microsecond=0)
        if not self._hours or self._hours[-1].hour != hour:
            self._hours.append(Polls(hour=hour))
        last = self._hours[-1]
        self._hours[-1] = replace(last, ok=last.ok + (not failed), failed=last.failed + failed)

    def hours(self) -> Sequence[Polls]:
        """Return those with a poll, oldest first."""
        return tuple(self._hours)
