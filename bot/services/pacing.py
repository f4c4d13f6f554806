"""How fast messages may leave: a token bucket for each destination and for each service (R-19)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from bot.ports import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """`burst` messages at once, then one each `every`; a zero interval is no limit."""

    every: timedelta
    burst: int


@dataclass(slots=True)
class _Bucket:
    """Holds the moment at which the bucket will be full again (a GCRA's theoretical arrival time)."""

    full_at: float = 0.0

    def delay(self, pace: Pace, now: float) -> float:
        every = pace.every.total_seconds()
        start = max(self.full_at, now)
        self.full_at = start + every
        return max(0.0, start - now - every * (pace.burst - 1))


class Pacer:
    """Waits before a send until the service's and the destination's pace allow it.

    Paces are keyed by scheme: `destinations` holds for each destination of the scheme, `services` for all together.
    """

    def __init__(self, clock: Clock, *, destinations: Mapping[str, Pace], services: Mapping[str, Pace]) -> None:
        self._clock = clock
        self._destinations = destinations
        self._services = services
        self._buckets: dict[str, _Bucket] = {}

    async def wait(self, uid: str) -> None:
        scheme = uid.partition(":")[0]
        now = self._clock.monotonic()
        delay = max(
            self._take(uid, self._destinations.get(scheme), now),
            self._take(scheme, self._services.get(scheme), now),
        )
        if delay > 0:
            await self._clock.sleep(timedelta(seconds=delay))

    def _take(self, name: str, pace: Pace | None, now: float) -> float:
        if pace is None or not pace.every:
            return 0.0
        return self._buckets.setdefault(name, _Bucket()).delay(pace, now)


def service_of(uid: str) -> str:
    """What shares a fate: the platform; but each generic webhook is a server of its own."""
    scheme = uid.partition(":")[0]
    return uid if scheme == "webhook" else scheme
