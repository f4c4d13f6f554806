"""The system's clock keeps the promises of ports.Clock."""

import asyncio
from datetime import UTC, timedelta

from bot.clock import SystemClock
from bot.ports import Clock


def test_now_is_aware_and_in_utc() -> None:
    clock: Clock = SystemClock()
    assert clock.now().tzinfo is UTC


def test_rolls_stay_below_one() -> None:
    rolls = [SystemClock().roll() for _ in range(1000)]
    assert all(0 <= roll < 1 for roll in rolls)
    assert len(set(rolls)) > 900


def test_monotonic_never_goes_back() -> None:
    clock = SystemClock()
    seen = [clock.monotonic() for _ in range(1000)]
    assert seen == sorted(seen)


async def test_wait_tells_an_event_from_the_end_of_patience() -> None:
    clock = SystemClock()
    event = asyncio.Event()
    assert await clock.wait(event, timedelta(milliseconds=5)) is False
    event.set()
    assert await clock.wait(event, timedelta(seconds=5)) is True
    await clock.sleep(timedelta(0))
