"""Each door in a few seconds: what was found before, and some new attempts. `make fuzz` takes its time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.mutations import inputs
from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
FINDINGS = sorted(path for path in CORPUS.rglob("*") if path.is_file())
ATTEMPTS = {"port": 15, "render": 15, "parse": 40, "settings": 40}


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_before_is_read_or_refused(path: Path) -> None:
    TARGETS[path.parent.name].check(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_is_read_or_refused(name: str) -> None:
    for data in TARGETS[name].seeds:
        TARGETS[name].check(data)


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_comes_is_read_or_refused(name: str) -> None:
    target = TARGETS[name]

    @seed(1)  # the same attempts on every machine; chance is for `make fuzz`
    @settings(
        max_examples=ATTEMPTS.get(name, 100),
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs(target))
    def attempt(data: bytes) -> None:
        target.check(data)

    attempt()
