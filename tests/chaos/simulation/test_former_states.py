"""A copy of the state from any moment, its log cut off at any byte, put back when all was told (F5, R-15)."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.chaos.simulation.small import DISCORD, SLACK, primed, try_out, try_twice

CALM: tuple[str | None, ...] = ()
ROUGH = ("lost after", "500", "500 stored")


@pytest.fixture(scope="module")
def state(folder: Path) -> bytes:
    return primed(folder)


def _put_back(state: bytes, folder: Path, faults: Sequence[str | None], *, step: int, seed: int) -> list[str]:
    """Copies from each `step`-th await: one as it was, one whose log ends anywhere."""
    script, random, wrong = {SLACK: faults, DISCORD: faults[::-1]}, Random(seed), []
    for at in range(1 + seed % step, try_out(state, folder, script).moments + 1, step):
        for cut in (1.0, random.random()):
            ending = try_twice(state, folder, script, at=at, cut=cut)
            wrong += [f"await {at}, {cut} of the log: {words}" for words in ending.wrong]
    return wrong


def test_a_former_state_put_back_tells_nothing_twice_and_forgets_nothing(state: bytes, folder: Path) -> None:
    assert _put_back(state, folder, CALM, step=5, seed=1) == []


def test_the_same_after_messages_whose_fate_was_unknown(state: bytes, folder: Path) -> None:
    assert _put_back(state, folder, ROUGH, step=11, seed=2) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_a_former_state_from_every_await_and_any_byte_of_its_log(state: bytes, folder: Path, seed: int) -> None:
    assert _put_back(state, folder, ROUGH[seed % 4 :], step=1, seed=seed) == []
