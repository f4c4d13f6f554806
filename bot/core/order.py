"""Which way a document lists its entries: by their dates, and by where its news stands (N22)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

CLEAR = 4  # times as many neighbours one way as the other

Place = tuple[datetime | None, bool]  # of an item: its date, and whether it is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a document shows of its order."""

    oldest_first: bool  # this document
    habit: bool  # what is to be expected of the feed's next one
    is_none: bool  # by title, by fame, by chance: news stands amid what is known, and its place says nothing


def find_order(places: Sequence[Place], *, remembered: bool) -> Order:
    """Return the order of a document's items; `remembered` is the feed's habit so far.

    The majority of its neighbours' dates decides for the document; only a clear one says anything about the next, for
    a document that came in disorder once is no habit. Nor does one that is not clear turn a document around whose news
    stands at the end where it always stood: some of its dates may be wrong.
    """
    dates = [date for date, _ in places if date is not None]
    rising = sum(earlier < later for earlier, later in pairwise(dates))
    falling = sum(earlier > later for earlier, later in pairwise(dates))
    if rising == falling == 0:
        return Order(oldest_first=remembered, habit=remembered, is_none=False)
    if max(rising, falling) >= CLEAR * min(rising, falling):
        return Order(oldest_first=rising > falling, habit=rising > falling, is_none=False)
    grows = _ends_that_grow([known for _, known in places])
    is_turned = rising != falling and remembered not in grows
    return Order(
        oldest_first=rising > falling if is_turned else remembered,
        habit=remembered,
        is_none=not grows and len({known for _, known in places}) > 1,
    )


def _ends_that_grow(is_known: list[bool]) -> frozenset[bool]:
    """Where all that is unknown stands: in front of all that is known (False), behind it (True), or nowhere such."""
    if len(set(is_known)) < 2:
        return frozenset()
    return frozenset(end for end in (False, True) if is_known == sorted(is_known, reverse=end))
