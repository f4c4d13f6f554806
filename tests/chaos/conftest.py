"""The witness and the nursery, started once for all proofs of a process."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.chaos.nursery import Nursery
from tests.chaos.oracle import Oracle
from tests.chaos.world import Kit


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_kit(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kit]:
    folder = tmp_path_factory.mktemp("chaos")
    async with Oracle(folder) as oracle, Nursery() as nursery:
        yield Kit(oracle=oracle, nursery=nursery, folder=folder)


@pytest.fixture
def kit(shared_kit: Kit) -> Iterator[Kit]:
    """All is well with the servers before each proof and after it."""
    shared_kit.oracle.log.read().violations.clear()
    yield shared_kit
    shared_kit.oracle.heal()
