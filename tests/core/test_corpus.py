"""The real feeds of the corpus, where it is at hand: FEEDBELL_CORPUS, or `shared/feeds` beside the project."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from bot.core.errors import NotAFeed
from bot.core.model.entry import Key
from bot.core.parse.document import parse
from tests.core.documents import URL
from tests.core.test_trim import assert_same, keys_of
from tests.corpus import reason, score

CORPUS = Path(os.environ.get("FEEDBELL_CORPUS") or Path(__file__).parents[3] / "shared" / "feeds")
OPEN = CORPUS / "open"


needs_corpus = pytest.mark.skipif(
    not (OPEN / "index.jsonl").exists(), reason=f"THE CORPUS IS NOT THERE: {OPEN}; set FEEDBELL_CORPUS"
)


@needs_corpus
def test_ninety_nine_of_a_hundred_known_values_are_read_right() -> None:
    values = list(score(OPEN))
    misses = [value for value in values if not value.right]
    assert len(values) > 3_000
    assert len(misses) <= len(values) / 100, [(miss.path, miss.field, reason(miss)) for miss in misses]


def snapshots() -> list[tuple[Path, Path]]:
    """Each document with itself, and successive documents of one site with each other."""
    if not (OPEN / "index.jsonl").exists():
        return []
    with (OPEN / "index.jsonl").open(encoding="utf-8") as index:
        rows = [row for row in map(json.loads, index) if "Content-Encoding" not in row["headers"]]
    groups: dict[str, list[Path]] = {}
    for row in rows:
        groups.setdefault(row.get("group") or row["path"], []).append(OPEN / row["path"])
    pairs = [pair for paths in groups.values() for pair in pairwise(paths)]
    return [*pairs, *((path, path) for paths in groups.values() for path in paths)]


@needs_corpus
def test_real_feeds_read_the_same_trimmed_and_whole() -> None:
    trimmed = 0
    for before, after in snapshots():
        try:
            first, whole = (parse(path.read_bytes(), url=URL, content_type=None) for path in (before, after))
        except NotAFeed:
            continue
        if not (first.trim_ok and whole.trim_ok):
            continue
        keys = list(keys_of(first).items())
        listed: dict[bytes, Key] = dict(keys[1:] if before == after else keys)
        assert_same(parse(after.read_bytes(), url=URL, content_type=None, listed=listed), whole)
        trimmed += 1
    assert trimmed > 200
