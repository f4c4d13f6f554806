"""The PostgreSQL engine: the same SQL by psycopg, shared by replicas that take leases (decision 5)."""

import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from bot.core.errors import StoreError, StoreUnavailable, StoreUnusable
from bot.store import meta
from bot.store.migrate import migrate, newest
from bot.store.sql import Row, Tx, Value, portions

log = logging.getLogger(__name__)

# A server that is gone without a word is noticed within half a minute, not after the kernel's two hours.
ALIVE = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}

_NAME = re.compile(r"(?<![:\w]):([a-z_]\w*)")


@lru_cache(maxsize=2048)
def translate(sql: str) -> str:
    """From `:name` to psycopg's `%(name)s`."""
    return _NAME.sub(r"%(\1)s", sql.replace("%", "%%"))


class PostgresConnection:
    """Implements database.Connection."""

    greatest = "GREATEST"
    for_update = " FOR UPDATE"
    skip_locked = " FOR UPDATE SKIP LOCKED"
    shared = True

    def __init__(self, url: str, *, readonly: bool) -> None:
        options: dict[str, Any] = ALIVE
        self._raw = psycopg.connect(url, autocommit=True, row_factory=dict_row, application_name="feedbell", **options)
        self._raw.read_only = readonly

    def _execute(self, sql: str, params: Any) -> "psycopg.Cursor[Row]":
        try:
            return self._raw.execute(sql.encode(), params)
        except errors.ReadOnlySqlTransaction:
            # A session keeps what it was told at its beginning, also when its server takes writes again.
            self.close()
            raise

    def run(self, sql: str, **params: Value) -> int:
        return self._execute(translate(sql), params or None).rowcount

    def rows(self, sql: str, **params: Value) -> Sequence[Row]:
        return self._execute(translate(sql), params or None).fetchall()

    def row(self, sql: str, **params: Value) -> Row | None:
        return self._execute(translate(sql), params or None).fetchone()

    def run_many(self, sql: str, params: Sequence[Mapping[str, Value]]) -> None:
        if params:
            with self._raw.cursor() as cursor:
                cursor.executemany(translate(sql).encode(), params)

    def insert(self, head: str, rows: Sequence[tuple[Value, ...]], tail: str = "") -> Sequence[Row]:
        found: list[Row] = []
        for part in portions(rows):
            line = f"({', '.join(['%s'] * len(part[0]))})"
            sql = f"{head} VALUES {', '.join([line] * len(part))} {tail}"
            cursor = self._execute(sql, [value for row in part for value in row])
            found += cursor.fetchall() if cursor.description else []
        return found

    def begin(self) -> None:
        self._raw.execute("BEGIN")

    def commit(self) -> None:
        self._raw.execute("COMMIT")

    def savepoint(self) -> None:
        self._raw.execute("SAVEPOINT work")

    def release(self) -> None:
        self._raw.execute("RELEASE SAVEPOINT work")

    def undo(self) -> None:
        self._raw.execute("ROLLBACK TO SAVEPOINT work")

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._raw.close()

    @property
    def usable(self) -> bool:
        return not self._raw.closed


class PostgresEngine:
    """Implements database.Engine."""

    errors: type[Exception] = psycopg.Error

    def __init__(self, url: str) -> None:
        self._url = url

    def connect(self, *, readonly: bool) -> PostgresConnection:
        return PostgresConnection(self._url, readonly=readonly)

    def to_error(self, error: Exception) -> StoreError:
        words = " ".join(str(error).split())
        if isinstance(error, errors.InvalidCatalogName | errors.InvalidPassword | errors.InsufficientPrivilege):
            return StoreUnusable(f"PostgreSQL refuses: {words}")
        return StoreUnavailable(f"PostgreSQL: {words}")

    def lost_race(self, error: Exception) -> bool:
        return isinstance(error, errors.DeadlockDetected | errors.SerializationFailure)


def open_postgres(url: str) -> tuple[PostgresEngine, datetime | None]:
    """Reach the server, bring its schema up to date, and say when it was last written to.

    Several processes may do so at once. Raises StoreUnavailable, StoreUnusable. Blocks: call it in a thread.
    """
    _check_address(url)
    engine = PostgresEngine(url)
    try:
        connection = engine.connect(readonly=False)
        try:
            _bring_up(connection)
            return engine, meta.last_write(connection)
        finally:
            connection.close()
    except psycopg.Error as error:
        raise engine.to_error(error) from error


def _check_address(url: str) -> None:
    """The library repeats what it can't read of an address, or all of it; the password may be in there."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error as error:
        words = re.sub(r'".*"', '"…"', " ".join(str(error).split()))
    else:
        # An @ or a / in a password makes a host or a port of a part of it; "@…" alone is an abstract socket.
        if "@" not in str(parts.get("host", ""))[1:] and re.fullmatch(r"[0-9,]*", str(parts.get("port", ""))):
            return
        words = "what stands where the host and the port should is neither"
    raise StoreUnusable(
        f"PostgreSQL can't read the address of the state: {words}; in a password % is %25, @ is %40, / is %2F"
    )


def _bring_up(connection: PostgresConnection) -> None:
    """One row is the lock under which the schema changes: advisory locks break behind pgbouncer (R-24)."""
    if _has_meta(connection) and _version(connection) == newest():
        return
    try:
        connection.run("CREATE TABLE IF NOT EXISTS migrating (one BIGINT PRIMARY KEY)")
    except (errors.UniqueViolation, errors.DuplicateTable, errors.DuplicateObject):
        log.debug("another process made the table of the migration lock in this very moment")
    connection.run("INSERT INTO migrating (one) VALUES (1) ON CONFLICT DO NOTHING")
    connection.begin()
    connection.rows("SELECT one FROM migrating FOR UPDATE")
    migrate(connection, _version(connection) if _has_meta(connection) else 0)
    connection.commit()


def _has_meta(tx: Tx) -> bool:
    # Not by to_regclass: within a transaction it may answer from a cache that knows nothing of another's commit.
    row = tx.row(
        "SELECT 1 AS one FROM pg_catalog.pg_tables"
        " WHERE tablename = 'meta' AND schemaname = ANY(current_schemas(false))"
    )
    return row is not None


def _version(tx: Tx) -> int:
    return int(meta.get(tx, "schema") or 0)
