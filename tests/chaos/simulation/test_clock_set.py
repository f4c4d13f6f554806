"""Somebody sets the machine's clock: by seconds or years, at any moment, for a minute or for good (F12)."""

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.chaos.simulation.small import DISCORD, SLACK, Ending, Small, primed, try_out

# Where a clock leaps over years, a message that its service commits late is beyond any look-up by that clock.
SURE = {SLACK: ("lost after", "429"), DISCORD: ("500", "refused")}
SCRIPT = {SLACK: ("lost after", "429"), DISCORD: ("500", "late")}
A_WHILE = 60.0
LONG_ENOUGH = 3 * 3600.0
A_DAY_AND_MORE = 27 * 3600.0  # a wait of a day may be right, so it is kept
YEAR = timedelta(days=365)


@pytest.fixture(scope="module")
def state(folder: Path) -> bytes:
    return primed(folder)


def _set(small: Small, *, by: timedelta, back: bool) -> None:
    small.clock.shift += by
    small.platforms.forgive()  # waits are kept by the clock that is being set
    if back:
        small.loop.call_later(A_WHILE, _set_back, small)


def _set_back(small: Small) -> None:
    small.clock.shift = timedelta(0)


def _at_each(state: bytes, folder: Path, by: timedelta, *, back: bool, step: int) -> list[str]:
    wrong, script = [], SURE if back else SCRIPT
    awaits = try_out(state, folder, script).moments
    for at in range(1 + int(by.total_seconds()) % step, awaits + 1, step):
        ending = try_out(state, folder, script, at=at, act=partial(_set, by=by, back=back), lasts=LONG_ENOUGH)
        wrong += _words(ending, at)
    return wrong


def _words(ending: Ending, at: int) -> list[str]:
    return [f"await {at} ({ending.cut_at}): {words}" for words in ending.wrong]


@pytest.mark.parametrize("hours", [-1.0, -1 / 60, 1.0, 24.0])
def test_a_clock_that_is_set_for_good_loses_doubles_and_disorders_nothing(
    state: bytes, folder: Path, hours: float
) -> None:
    assert _at_each(state, folder, timedelta(hours=hours), back=False, step=40) == []


@pytest.mark.parametrize("years", [-10, 10])
def test_a_clock_that_is_years_wrong_for_a_minute_holds_up_nothing_for_long(
    state: bytes, folder: Path, years: int
) -> None:
    assert _at_each(state, folder, years * YEAR, back=True, step=20) == []


@pytest.mark.parametrize("days", [-730, -1, 730])
def test_a_start_with_a_wrong_clock_tells_everything_once(state: bytes, folder: Path, days: int) -> None:
    ending = try_out(state, folder, SCRIPT, later=timedelta(days=days), lasts=A_DAY_AND_MORE)
    assert ending.wrong == []
