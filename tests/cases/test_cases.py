"""The cases, each played against the real process; FEEDBELL_CASES names another folder of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.case import Case, all_cases
from tests.cases.player import play


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.folder.name)
async def test_subscribers_see_what_the_case_expects(case: Case, tmp_path: Path) -> None:
    left_out = await play(case, tmp_path)
    if left_out:
        pytest.skip(f"{case.id}: not played: {'; '.join(left_out)}")
