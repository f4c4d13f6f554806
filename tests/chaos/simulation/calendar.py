"""What goes wrong and when: decided by the seed before the first second passes."""

import random
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HOUR = 3600.0
DAY = 24 * HOUR
QUIET = 14 * DAY  # at the end nothing goes wrong any more, so that all debts are paid; shorter in short runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One kind of fault: how often a day, how long in hours, and how many of the requests it strikes."""

    kind: str
    per_day: float
    hours: tuple[float, float]


SITES = (
    Trouble(kind="down", per_day=0.05, hours=(0.2, 30)),
    Trouble(kind="500", per_day=0.05, hours=(0.1, 6)),
    Trouble(kind="503", per_day=0.03, hours=(0.5, 6)),
    Trouble(kind="429", per_day=0.05, hours=(0.5, 6)),
    Trouble(kind="404", per_day=0.01, hours=(1, 60)),
    Trouble(kind="page", per_day=0.03, hours=(1, 10)),
    Trouble(kind="nothing", per_day=0.02, hours=(1, 6)),
    Trouble(kind="cut", per_day=0.03, hours=(1, 6)),
    Trouble(kind="stale", per_day=0.05, hours=(1, 6)),
    Trouble(kind="rotating", per_day=0.02, hours=(1, 12)),
    Trouble(kind="deaf", per_day=0.03, hours=(1, 12)),
)
SERVICES = (
    Trouble(kind="flaky", per_day=0.3, hours=(0.5, 5)),
    Trouble(kind="storm", per_day=0.1, hours=(0.2, 2)),
    Trouble(kind="refused", per_day=0.08, hours=(0.1, 20)),
    Trouble(kind="5xx", per_day=0.1, hours=(0.2, 2)),
    Trouble(kind="hangs", per_day=0.06, hours=(0.2, 2)),
    Trouble(kind="archived", per_day=0.03, hours=(2, 72)),
    Trouble(kind="blind", per_day=0.1, hours=(0.5, 3)),
)
ACCOUNTS = (Trouble(kind="revoked", per_day=0.02, hours=(0.2, 8)),)


class _Windows:
    """When one name is in which trouble; at most one at a time."""

    def __init__(self, found: list[tuple[float, float, str]]) -> None:
        self._windows: list[tuple[float, float, str]] = []
        for window in sorted(found):
            if not self._windows or window[0] >= self._windows[-1][1]:
                self._windows.append(window)
        self._starts = [start for start, _, _ in self._windows]

    def at(self, now: float) -> str | None:
        place = bisect_right(self._starts, now) - 1
        if place < 0 or now >= self._windows[place][1]:
            return None
        return self._windows[place][2]

    def lately(self, now: float, within: float) -> bool:
        """Whether there was any trouble in the last while."""
        place = bisect_right(self._starts, now) - 1
        return place >= 0 and now < self._windows[place][1] + within


class Calendar:
    """All trouble of a run; none begins or lasts later than `end`."""

    def __init__(
        self,
        seed: int,
        *,
        end: float,
        sites: Sequence[str],
        services: Iterable[str],
        accounts: Iterable[str],
        harm: float = 1.0,
    ) -> None:
        self._chance = random.Random(f"calendar {seed}")
        self._end = end
        self._harm = harm
        self._sites = {name: self._windows(SITES) for name in sites}
        self._services = {name: self._windows(SERVICES) for name in services}
        self._accounts = {name: self._windows(ACCOUNTS) for name in accounts}

    def of_site(self, name: str, now: float) -> str | None:
        return self._sites[name].at(now)

    def of_service(self, uid: str, now: float) -> str | None:
        account = self._accounts.get(uid.partition(":")[0])
        found = account.at(now) if account is not None else None
        return found or (self._services[uid].at(now) if uid in self._services else None)

    def troubled(self, uid: str, now: float, within: float) -> bool:
        account = self._accounts.get(uid.partition(":")[0])
        lately = account is not None and account.lately(now, within)
        return lately or (uid in self._services and self._services[uid].lately(now, within))

    def _windows(self, kinds: Sequence[Trouble]) -> _Windows:
        found = []
        for trouble in kinds:
            at = 0.0
            while True:
                at += self._chance.expovariate(max(1e-9, trouble.per_day * self._harm) / DAY)
                if at >= self._end:
                    break
                length = self._chance.uniform(*trouble.hours) * HOUR
                found.append((at, min(at + length, self._end), trouble.kind))
        return _Windows(found)
