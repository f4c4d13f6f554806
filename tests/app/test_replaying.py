"""`replay` from the command line down."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from bot.cli.managing import MOST, _replay
from bot.core.errors import UsageError
from bot.core.model.entry import Entry
from tests.store.builders import NOW, entry


class Long:
    """A store of very many entries."""

    async def entries_since(self, at: datetime, *, limit: int, feeds: object) -> Sequence[Entry]:
        return [entry()] * limit


async def test_a_replay_of_more_than_is_looked_through_is_refused_instead_of_cut() -> None:
    store: Any = Long()
    with pytest.raises(UsageError, match=f"more than {MOST:,} entries"):
        await _replay(store, [], NOW, dry_run=True)
