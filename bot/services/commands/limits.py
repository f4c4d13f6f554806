"""How often people may ask (T20)."""

from collections import OrderedDict, deque
from datetime import timedelta

WINDOW = timedelta(minutes=1)
PER_USER = 30
PER_PLACE = 120
COMPLETIONS = 300  # each key pressed asks for one
REMEMBERED = 10_000  # people and places; beyond that the one that was quiet longest is forgotten


class Limits:
    """Counts what was asked in the last minute. What is refused does not count, so that patience is rewarded."""

    def __init__(self, *, most: int, remembered: int = REMEMBERED) -> None:
        self._most = most
        self._remembered = remembered
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, key: str, now: float) -> timedelta | None:
        """Return how long until `key` may ask again; None: now. `now` is monotonic."""
        times = self._times.get(key)
        if times is None:
            return None
        while times and times[0] <= now - WINDOW.total_seconds():
            times.popleft()
        return timedelta(seconds=times[0] - now) + WINDOW if len(times) >= self._most else None

    def count(self, key: str, now: float) -> None:
        self._times.setdefault(key, deque()).append(now)
        self._times.move_to_end(key)
        if len(self._times) > self._remembered:
            self._times.popitem(last=False)
