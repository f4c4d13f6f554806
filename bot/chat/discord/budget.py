"""How often we may start at Discord's gateway: above 1,000 IDENTIFYs a day it resets the bot's token (R-8)."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol

from bot.chat.discord.api import ChatApi
from bot.chat.discord.sync import MetaStore
from bot.core.errors import FeedbellError
from bot.ports import Clock

DAILY = 1_000
RESERVE = 50  # never spent: other programs of the same bot may need some
APART = timedelta(seconds=5)  # Discord takes one IDENTIFY in five seconds
NAME = "discord_starts"
QUICK = timedelta(minutes=10)  # a start that soon after the last one may be a crash loop
FREE = 2  # quick starts without a delay: somebody tries something
FIRST_DELAY, LONGEST_DELAY = timedelta(seconds=5), timedelta(minutes=10)


class BudgetStore(MetaStore, Protocol):
    """The part of the store that remembers starts."""

    async def count_identify(self, *, now: datetime) -> int:
        """Count one more; how many in the last 24 hours."""


class BudgetSpent(FeedbellError):
    """No IDENTIFY is left; the next try may find some."""


class Budget:
    """Asked before each IDENTIFY."""

    def __init__(self, api: ChatApi, store: BudgetStore, clock: Clock) -> None:
        self._api = api
        self._store = store
        self._clock = clock
        self._last: float | None = None

    async def spend(self) -> Mapping[str, object]:
        """Count an IDENTIFY before it is sent, at least five seconds after the last; return where the gateway is.

        Raises BudgetSpent, and NotifyError where Discord can't be asked.
        """
        answer = await self._api.get("/gateway/bot")
        check(answer)
        count = await self._store.count_identify(now=self._clock.now())
        if count > DAILY - RESERVE:
            raise BudgetSpent(f"{count} starts at Discord's gateway in a day: pausing before it resets the token")
        if self._last is not None:
            passed = timedelta(seconds=self._clock.monotonic() - self._last)
            await self._clock.sleep(max(APART - passed, timedelta(0)))
        self._last = self._clock.monotonic()
        return answer


class Starts:
    """Delays starts that follow each other quickly, across processes."""

    def __init__(self, store: MetaStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def wait(self) -> None:
        """Wait as long as a crash loop asks for, and note this start."""
        last_at, quick = await self._read()
        now = self._clock.now()
        is_quick = last_at is not None and timedelta(0) <= now - last_at < QUICK
        quick = quick + 1 if is_quick else 0
        await self._write(now, quick)
        await self._clock.sleep(delay(quick))

    async def went_well(self) -> None:
        """The session lives, or was stopped in order: the next start is none of a loop."""
        await self._write(self._clock.now(), 0)

    async def _read(self) -> tuple[datetime | None, int]:
        try:
            found = json.loads(await self._store.meta(NAME) or "{}")
            return datetime.fromisoformat(found["at"]), int(found["quick"])
        except (ValueError, KeyError, TypeError):
            return None, 0

    async def _write(self, at: datetime, quick: int) -> None:
        await self._store.put_meta(NAME, json.dumps({"at": at.isoformat(), "quick": quick}))


def delay(quick: int) -> timedelta:
    """Return how long the `quick`th quick start in a row waits."""
    if quick < FREE:
        return timedelta(0)
    return min(FIRST_DELAY * (1 << min(quick - FREE, 10)), LONGEST_DELAY)


def check(answer: Mapping[str, object]) -> None:
    """Raises BudgetSpent where Discord itself says that few starts are left."""
    limit = answer.get("session_start_limit")
    remaining = limit.get("remaining") if isinstance(limit, dict) else None
    if isinstance(remaining, int) and remaining <= RESERVE:
        raise BudgetSpent(f"Discord leaves only {remaining} starts at its gateway today")
