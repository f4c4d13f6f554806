"""What holds for every test."""

import os

import pytest
from hypothesis import settings

# A developer's own bot must not colour a test; the harness's own names stay.
HARNESS = {"FEEDBELL_CASES", "FEEDBELL_CORPUS", "FEEDBELL_CRASH", "FEEDBELL_RUNNER"}
for name in [name for name in os.environ if name.startswith("FEEDBELL_") and name not in HARNESS]:
    del os.environ[name]

# A shared or slow machine is no reason to fail; examples are to be found by content, not by speed.
settings.register_profile("feedbell", deadline=None, print_blob=True)
settings.load_profile("feedbell")

# Files go to workers whole: begun last, a long one would leave the other worker idle.
LONG_FILES = ("tests/chaos/", "tests/cases/", "tests/process/", "tests/security/", "tests/validators/", "tests/deploy/")
# Much work in one process; the lines they run are run by smaller tests too, and to note them would double the work.
UNMEASURED = ("tests/chaos/simulation/", "tests/fuzz/", "tests/edge/test_layouts.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONG_FILES))
    for item in items:
        if item.nodeid.startswith(UNMEASURED):
            item.add_marker("no_cover")
