"""How much of a document is taken: its first and its last entries (T8)."""

from collections.abc import Sequence
from typing import TypeVar

MAX_ENTRIES = 5_000

T = TypeVar("T")


def pick(entries: Sequence[T]) -> Sequence[T]:
    """Return all entries, or of a longer document the first and the last half of MAX_ENTRIES.

    Which end is the newest is not known yet, so both are kept.
    """
    if len(entries) <= MAX_ENTRIES:
        return entries
    half = MAX_ENTRIES // 2
    return [*entries[:half], *entries[-half:]]
