"""Everything that can happen to two entries for two destinations: each fault, to a depth of three, and each await."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.chaos.simulation.small import DISCORD, LASTS, SLACK, Act, Ending, Small, primed, try_out

FAULTS = (None, "lost before", "lost after", "late", "429", "500", "500 stored", "refused")
AFTER_ERRORS = 7200.0  # seconds; a poll that fails by a fault of ours is not repeated for half an hour

Script = dict[str, tuple[str | None, ...]]


@pytest.fixture(scope="module")
def state(folder: Path) -> bytes:
    return primed(folder)


def _scripts(depth: int) -> Iterator[Script]:
    """Every list of faults of that length for one destination, and another one for the other."""
    for faults in product(FAULTS, repeat=depth):
        yield {SLACK: faults, DISCORD: tuple(reversed(faults))}


def _no_memory(_: Small) -> None:
    raise MemoryError


def _bad(script: Script, ending: Ending, cut: int | None = None) -> list[str]:
    where = "" if cut is None else f", await {cut} ({ending.cut_at})"
    return [f"{script}{where}: {words}" for words in ending.wrong]


def _without_cuts(state: bytes, folder: Path, depth: int) -> list[str]:
    return [words for script in _scripts(depth) for words in _bad(script, try_out(state, folder, script))]


def _everywhere(
    state: bytes, folder: Path, depth: int, *, step: int = 1, act: Act | None = None, lasts: float = LASTS
) -> list[str]:
    """Let it happen at each `step`-th await of each script; the first one moves, so that all have their turn."""
    wrong = []
    for number, script in enumerate(_scripts(depth)):
        awaits = try_out(state, folder, script).moments
        for at in range(1 + number % step, awaits + 1, step):
            wrong += _bad(script, try_out(state, folder, script, at=at, act=act, lasts=lasts), at)
    return wrong


def test_two_faults_in_a_row_lose_double_and_disorder_nothing(state: bytes, folder: Path) -> None:
    assert _without_cuts(state, folder, 2) == []


def test_a_power_cut_at_any_await_loses_doubles_and_disorders_nothing(state: bytes, folder: Path) -> None:
    assert _everywhere(state, folder, 1, step=12) == []


def test_no_memory_left_at_any_await_loses_doubles_and_disorders_nothing(state: bytes, folder: Path) -> None:
    assert _everywhere(state, folder, 0, step=3, act=_no_memory, lasts=AFTER_ERRORS) == []


@pytest.mark.long
def test_three_faults_in_a_row_lose_double_and_disorder_nothing(state: bytes, folder: Path) -> None:
    assert _without_cuts(state, folder, 3) == []


@pytest.mark.long
def test_a_power_cut_at_every_await_of_every_two_faults_is_harmless(state: bytes, folder: Path) -> None:
    assert _everywhere(state, folder, 2) == []


@pytest.mark.long
def test_a_power_cut_between_any_three_faults_is_harmless(state: bytes, folder: Path) -> None:
    assert _everywhere(state, folder, 3, step=11) == []


@pytest.mark.long
def test_no_memory_left_at_any_await_of_a_fault_is_harmless(state: bytes, folder: Path) -> None:
    assert _everywhere(state, folder, 1, act=_no_memory, lasts=AFTER_ERRORS) == []
