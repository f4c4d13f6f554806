"""How long a fetch may still take, and what is to be said when that is over."""

import asyncio
from datetime import timedelta
from types import TracebackType
from typing import Self

from bot.core.errors import FetchError


class Patience:
    """One timer for a whole fetch: each phase has its own limit, and all of them together one (T6)."""

    def __init__(self, total: timedelta) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + total.total_seconds()
        self._total_reason = f"the answer took longer than {total.total_seconds():g} s in all"
        self._reason = self._total_reason
        self._timer = asyncio.timeout(None)

    def allow(self, limit: timedelta, reason: str) -> None:
        """Give the next phase its time; when it passes, what runs inside is cancelled and FetchError says `reason`."""
        when = self._loop.time() + limit.total_seconds()
        self._reason = reason
        if when > self._end:
            when, self._reason = self._end, self._total_reason
        self._timer.reschedule(when)

    async def __aenter__(self) -> Self:
        await self._timer.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._timer.__aexit__(kind, error, trace)
        except TimeoutError as late:
            raise FetchError(self._reason) from late
