"""The time of a case: servers and bot live in it, and a test moves it.

The dates in a case's files stay as they are; the bot's process is told how far its clock is from the machine's.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path


class CaseClock:
    """A clock that goes on by itself from wherever it was set; `file` tells other processes where it stands."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._ahead = timedelta(0)
        self._tell()

    def __call__(self) -> float:
        return self.now.timestamp()

    @property
    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def set(self, moment: datetime) -> None:
        self._ahead = moment - datetime.now(UTC)
        self._tell()

    def move(self, by: timedelta) -> None:
        self._ahead += by
        self._tell()

    def _tell(self) -> None:
        fresh = self.file.with_suffix(".new")
        fresh.write_text(repr(self._ahead.total_seconds()))
        os.replace(fresh, self.file)
