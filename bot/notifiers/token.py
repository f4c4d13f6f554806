"""A token that its service refuses is not tried again on every channel: services ban those who insist (T29)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from bot.core.errors import DestinationDown, Scope
from bot.ports import Clock

# Enough for all channels that ask at about the same time, and too short for a person who has put it right meanwhile.
REFUSED_FOR: Final = timedelta(seconds=5)
UNPROVEN_AT_ONCE: Final = 2  # one may hang, so that the other can prove the token


class TokenGate:
    """One token. Until an answer has shown that it is taken, only few requests at a time find out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turns = asyncio.Semaphore(UNPROVEN_AT_ONCE)
        self._proven = False
        self._refused_until = 0.0
        self._why = ""

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until the token may be used. Raises DestinationDown, for the whole account, while it is refused."""
        if self._proven:
            yield
            return
        async with self._turns:
            if self._clock.monotonic() < self._refused_until:
                raise DestinationDown(self._why, scope=Scope.ACCOUNT)
            yield

    def taken(self) -> None:
        """An answer showed that the token is good."""
        self._proven = True

    def refused(self, why: str) -> None:
        """The service does not know the token, or not any more."""
        self._proven = False
        self._refused_until = self._clock.monotonic() + REFUSED_FOR.total_seconds()
        self._why = why
