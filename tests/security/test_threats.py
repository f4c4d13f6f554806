"""The table of docs/security.md: a row for each threat, whose modules and tests exist."""

from __future__ import annotations

import re

from tests.test_architecture import ROOT

TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = {row[0]: row for row in re.findall(r"^\| (T\d+) \| (.+?) \| (.+) \| (.+) \|$", TEXT, re.MULTILINE)}
THREATS = [f"T{number}" for number in range(1, 31)]


def test_every_threat_has_its_row_in_order() -> None:
    assert list(ROWS) == THREATS


def test_every_row_names_modules_that_exist() -> None:
    named = {number: re.findall(r"`((?:bot|deploy)/[\w/.]+|bootstrap\.py)`", row[2]) for number, row in ROWS.items()}
    assert all(named.values())
    assert {path for paths in named.values() for path in paths if not (ROOT / path).is_file()} == set()


def test_every_row_names_tests_that_exist() -> None:
    named = {number: re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row[3]) for number, row in ROWS.items()}
    assert all(named.values())
    lost = [
        f"{number}: {path}::{function}"
        for number, tests in named.items()
        for path, function in tests
        if not (ROOT / path).is_file() or f"def {function}(" not in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert lost == []
    every = {test for tests in named.values() for test in tests}
    print(f"{len(ROWS)} threats, {len(every)} tests in {len({path for path, _ in every})} files")


def test_every_row_says_what_was_taken_out() -> None:
    taken = TEXT.partition("## Taken out")[2]
    assert re.findall(r"^\| (T\d+) \|", taken, re.MULTILINE) == THREATS
