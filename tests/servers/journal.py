"""What a server saw and did, one JSON object a line, so that it outlives every process but its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.servers.faults import Json

Clock = Callable[[], float]  # seconds since 1970


def wall_clock() -> float:
    return datetime.now(UTC).timestamp()


class SettableClock:
    """A clock that a test moves by hand."""

    def __init__(self, start: float = 1_790_000_000.0) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


class Journal:
    """An append-only record; several servers may share one file."""

    def __init__(self, path: Path | None = None) -> None:
        self._file = path.open("a", encoding="utf-8") if path else None

    def write(self, server: str, what: str, now: float, facts: Json) -> None:
        if self._file is None:
            return
        line = {"server": server, "what": what, "at": round(now, 6), **facts}
        self._file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
        self._file.flush()  # the kernel has it now; a kill of this process loses nothing

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def read_journal(path: Path) -> list[Json]:
    """Return all whole lines of a journal that may still be written to."""
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
