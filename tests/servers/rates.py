"""Rate limits as token buckets, and a watch on clients that come back before they were asked to."""

from __future__ import annotations

import math

from tests.servers.journal import Clock


class RateLimit:
    """`per_second` on average for each key, with `burst` at once; None switches it off."""

    def __init__(self, clock: Clock, *, per_second: float | None = None, burst: int = 1) -> None:
        self.per_second = per_second
        self.burst = burst
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait_for(self, key: str) -> float:
        """Take one; return 0, or the seconds until the next may come."""
        if self.per_second is None:
            return 0.0
        now = self._clock()
        tokens, since = self._buckets.get(key, (float(self.burst), now))
        tokens = min(float(self.burst), tokens + (now - since) * self.per_second)
        if tokens < 1:
            self._buckets[key] = (tokens, now)
            return (1 - tokens) / self.per_second
        self._buckets[key] = (tokens - 1, now)
        return 0.0


class PatienceWatch:
    """Remembers what a Retry-After asked for, and tells who did not wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._not_before: dict[str, float] = {}

    def ask(self, key: str, retry_after: str | None) -> None:
        try:
            seconds = float(retry_after or "")
        except ValueError:
            return  # an HTTP date or nonsense: no judgement
        if math.isfinite(seconds) and seconds > 0:
            self._not_before[key] = self._clock() + min(seconds, 86_400)  # nobody need wait more than a day

    def early_by(self, key: str) -> float:
        """Return how many seconds too soon a request came; 0 when it may come."""
        asked = self._not_before.get(key)
        if asked is None:
            return 0.0
        early = asked - self._clock()
        if early <= 0:
            del self._not_before[key]
            return 0.0
        return early
