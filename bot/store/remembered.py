"""The answer to a question that is asked at every poll and that hardly ever changes."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """Asks once, and again after `forget`; where other processes may change the answer (`keeps` False), each time."""

    def __init__(self, ask: Callable[[], Awaitable[T]], *, keeps: bool) -> None:
        self._ask = ask
        self._keeps = keeps
        self._answer: T | None = None
        self._changes = 0

    async def get(self) -> T:
        if self._answer is not None:
            return self._answer
        changes = self._changes
        answer = await self._ask()
        # What was asked before a change may have been answered after it.
        if self._keeps and changes == self._changes:
            self._answer = answer
        return answer

    def forget(self) -> None:
        self._changes += 1
        self._answer = None
