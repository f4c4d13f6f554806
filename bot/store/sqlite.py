"""The SQLite engine: a connection that never loses a commit, and errors by what can be done about them."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bot.core.errors import StoreError, StoreUnavailable, StoreUnusable
from bot.store.sql import Row, Value, portions

BUSY_MS = 5000  # how long a write waits for somebody outside (a backup tool, a command) to let go
PRAGMAS = (f"busy_timeout = {BUSY_MS}", "foreign_keys = ON", "synchronous = FULL")
READER = ("query_only = ON",)
WRITER = (
    "cache_size = -8000",  # KB; with SQLite's 2 MB each commit reads back what the last one had touched
    "wal_autocheckpoint = 4000",  # pages; the same ones are written again and again, and folded in once
)

_UNUSABLE = {"SQLITE_CORRUPT", "SQLITE_NOTADB"}
RECOVERY = (
    "restore a backup to {path} (remove {path}-wal and {path}-shm first), or, to begin anew, move {path} and "
    "{marker} away: nothing is posted then until a feed has something new. Nothing was changed"
)


class SqliteConnection:
    """Implements database.Connection."""

    greatest = "max"
    for_update = ""
    skip_locked = ""
    shared = False

    def __init__(self, path: Path, *, readonly: bool) -> None:
        self._raw = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
        self._columns: dict[str, tuple[str, ...]] = {}
        for pragma in (*PRAGMAS, *(READER if readonly else WRITER)):
            self._raw.execute(f"PRAGMA {pragma}")
        self._readonly = readonly

    def run(self, sql: str, **params: Value) -> int:
        return self._raw.execute(sql, params).rowcount

    def rows(self, sql: str, **params: Value) -> Sequence[Row]:
        return self._named(sql, self._raw.execute(sql, params))

    def row(self, sql: str, **params: Value) -> Row | None:
        found = self._named(sql, self._raw.execute(sql, params))
        return found[0] if found else None

    def run_many(self, sql: str, params: Sequence[Mapping[str, Value]]) -> None:
        self._raw.executemany(sql, params)

    def insert(self, head: str, rows: Sequence[tuple[Value, ...]], tail: str = "") -> Sequence[Row]:
        found: list[Row] = []
        for part in portions(rows):
            line = f"({', '.join('?' * len(part[0]))})"
            sql = f"{head} VALUES {', '.join([line] * len(part))} {tail}"
            found += self._named(sql, self._raw.execute(sql, [value for row in part for value in row]))
        return found

    def _named(self, sql: str, cursor: sqlite3.Cursor) -> list[Row]:
        """As dicts, which wide rows are read from much faster than from sqlite3.Row's linear search."""
        found = cursor.fetchall()
        if not found:
            return []
        names = self._columns.get(sql)
        if names is None:
            names = self._columns[sql] = tuple(column[0] for column in cursor.description)
        return [dict(zip(names, row, strict=True)) for row in found]

    def begin(self) -> None:
        # A deferred transaction that turns to writing fails at once when somebody else writes.
        self._raw.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._raw.execute("COMMIT")

    def savepoint(self) -> None:
        self._raw.execute("SAVEPOINT work")

    def release(self) -> None:
        self._raw.execute("RELEASE work")

    def undo(self) -> None:
        self._raw.execute("ROLLBACK TO work")
        self._raw.execute("RELEASE work")

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._raw.close()

    @property
    def usable(self) -> bool:
        # A full disk or an I/O error may have rolled everything back; then the savepoints are gone too.
        return self._readonly or self._raw.in_transaction


class SqliteEngine:
    """Implements database.Engine."""

    errors: type[Exception] = sqlite3.Error

    def __init__(self, path: Path) -> None:
        self.path = path
        self.marker = marker_of(path)

    def connect(self, *, readonly: bool) -> SqliteConnection:
        if not self.path.exists():
            # SQLite would make an empty one, and everything would be new.
            raise StoreUnusable(f"{self.path} is gone: {self.recovery()}")
        return SqliteConnection(self.path, readonly=readonly)

    def to_error(self, error: Exception) -> StoreError:
        name: str = getattr(error, "sqlite_errorname", None) or ""
        if any(name.startswith(bad) for bad in _UNUSABLE):
            return StoreUnusable(f"{self.path} is damaged ({error}): {self.recovery()}")
        return StoreUnavailable(f"{self.path}: {error}")

    def lost_race(self, error: Exception) -> bool:
        return False

    def recovery(self) -> str:
        return RECOVERY.format(path=self.path, marker=self.marker)


def marker_of(path: Path) -> Path:
    """The file that says that this database held something once; see R-14."""
    return path.with_name(f"{path.name}.exists")
