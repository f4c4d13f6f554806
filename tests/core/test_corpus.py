"""The real feeds of the corpus, where it is at hand: FEEDBELL_CORPUS, or `shared/feeds` beside the project."""

import os
from pathlib import Path

import pytest

from tests.corpus import reason, score

CORPUS = Path(os.environ.get("FEEDBELL_CORPUS") or Path(__file__).parents[3] / "shared" / "feeds")
OPEN = CORPUS / "open"


@pytest.mark.skipif(not (OPEN / "index.jsonl").exists(), reason=f"THE CORPUS IS NOT THERE: {OPEN}; set FEEDBELL_CORPUS")
def test_ninety_nine_of_a_hundred_known_values_are_read_right() -> None:
    values = list(score(OPEN))
    misses = [value for value in values if not value.right]
    assert len(values) > 3_000
    assert len(misses) <= len(values) / 100, [(miss.path, miss.field, reason(miss)) for miss in misses]
