"""Opening a SQLite state: what must be true of the file before anything is read from it or written to it."""

import logging
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bot.core.errors import StoreError, StoreUnavailable, StoreUnusable
from bot.store import meta
from bot.store.lock import InstanceLock, turn_in
from bot.store.migrate import migrate, newest
from bot.store.sqlite import SqliteConnection, SqliteEngine

log = logging.getLogger(__name__)

MOUNTS = Path("/proc/mounts")
# Their locks or their shared memory do not hold what WAL needs of them (sqlite.org/wal.html, "same host").
NETWORK = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "gluster", "lustre", "fuse.", "virtiofs", "vboxsf", "vmhgfs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """How a state was found. `was_clean` False: the last holder did not say good-bye."""

    engine: SqliteEngine
    lock: InstanceLock | None
    was_clean: bool
    last_write: datetime | None


def open_sqlite(path: Path, *, exclusive: bool) -> Opened:
    """Check, create or migrate the file. `exclusive`: take the single-instance lock and the word on a clean stop.

    Raises StoreHeld, StoreUnusable, StoreUnavailable. Blocks: call it in a thread.
    """
    path = Path(os.path.realpath(path))  # one file under two names is still one, and has one lock
    _make_folder(path)
    lock = InstanceLock(path) if exclusive else None
    try:
        engine = SqliteEngine(path)
        was_clean, last_write = _prepare(engine, exclusive=exclusive)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    return Opened(engine=engine, lock=lock, was_clean=was_clean, last_write=last_write)


def close_cleanly(opened: Opened, *, now: datetime) -> None:
    """Write the clean-shutdown mark, fold the WAL into the file, give the lock back (R-22)."""
    if opened.lock is None:
        return
    try:
        connection = opened.engine.connect(readonly=False)
        try:
            connection.begin()
            meta.put(connection, "clean", "1")
            meta.touch(connection, now)
            connection.commit()
            connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()
    except (sqlite3.Error, StoreError) as error:
        log.warning("no clean-shutdown mark: the state will be checked at the next start", extra={"error": str(error)})
    finally:
        opened.lock.release()


def file_system_of(path: Path, mounts: str) -> str:
    """The type of the file system that `path` lies on, as /proc/mounts tells; "" if it does not."""
    best, found = "", ""
    for line in mounts.splitlines():
        _, _, rest = line.partition(" ")
        where, _, rest = rest.partition(" ")
        point = where.replace("\\040", " ")
        if len(point) >= len(best) and path.is_relative_to(point):
            best, found = point, rest.partition(" ")[0]
    return found


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # SQLite finds out late, and says only that it can't open the file. Not tried with the file itself: before it
        # would be taken away again, somebody else who starts now may have it open.
        if not path.exists():
            from tempfile import TemporaryFile  # most commands find the state there

            TemporaryFile(dir=path.parent).close()
    except OSError as error:
        elsewhere = "`state` or FEEDBELL_STATE can name another place"
        raise StoreUnusable(f"cannot write the state {path}: {error.strerror}; {elsewhere}") from error
    if path.is_dir():
        raise StoreUnusable(f"the state {path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise StoreUnusable(f"the state {path} is no file but a device or a pipe; name another one")


def _prepare(engine: SqliteEngine, *, exclusive: bool) -> tuple[bool, datetime | None]:
    _refuse_to_start_afresh(engine)
    _warn_of_network(engine.path)
    try:
        return _open(engine, exclusive=exclusive)
    except sqlite3.Error as error:
        raise _explain(engine, error) from error


def _open(engine: SqliteEngine, *, exclusive: bool) -> tuple[bool, datetime | None]:
    connection = _connected(engine)
    try:
        was_clean, last_write = meta.get(connection, "clean") == "1", meta.last_write(connection)
        if exclusive:
            if not was_clean:
                _quick_check(engine, connection)
            _alone(connection, lambda: meta.put(connection, "clean", "0"))
        return was_clean, last_write
    finally:
        connection.close()


def _connected(engine: SqliteEngine) -> SqliteConnection:
    with turn_in(engine.path.parent):
        connection = SqliteConnection(engine.path, readonly=False)
        try:
            connection.rows("PRAGMA journal_mode = WAL")
            _bring_up(engine, connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _refuse_to_start_afresh(engine: SqliteEngine) -> None:
    """An empty file opens as an empty database without an error, and every entry would be new (R-14)."""
    if not engine.marker.exists():
        return
    if not engine.path.exists():
        raise StoreUnusable(f"{engine.path} is gone, though it held a state: {engine.recovery()}")
    if engine.path.stat().st_size == 0:
        raise StoreUnusable(f"{engine.path} is empty, though it held a state: {engine.recovery()}")


def _bring_up(engine: SqliteEngine, connection: SqliteConnection) -> None:
    if _version(engine, connection) != newest():
        # Asked again under the lock: two commands may start on a new state at once.
        _alone(connection, lambda: migrate(connection, _version(engine, connection)))
    if not engine.marker.exists():
        engine.marker.write_text(
            f"{engine.path.name} beside this file holds the state of feedbell. While this file is here, feedbell "
            "does not start on an empty or missing state, for then it could not know what it has told already.\n"
        )


def _version(engine: SqliteEngine, connection: SqliteConnection) -> int:
    tables = {row["name"] for row in connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        if engine.marker.exists():
            raise StoreUnusable(f"{engine.path} is empty, though it held a state: {engine.recovery()}")
        return 0
    if not tables >= {"meta", "seen", "delivery"}:
        raise StoreUnusable(f"{engine.path} is a database of something else; name another file for the state")
    return int(meta.get(connection, "schema") or 0)


def _alone(connection: SqliteConnection, work: Callable[[], None]) -> None:
    connection.begin()
    work()
    connection.commit()


def _quick_check(engine: SqliteEngine, connection: SqliteConnection) -> None:
    found = [row["quick_check"] for row in connection.rows("PRAGMA quick_check(3)")]
    if found != ["ok"]:
        raise StoreUnusable(f"{engine.path} is damaged ({'; '.join(found)}): {engine.recovery()}")


def _explain(engine: SqliteEngine, error: sqlite3.Error) -> StoreError:
    name: str = getattr(error, "sqlite_errorname", None) or ""
    if name.startswith("SQLITE_CANTOPEN"):
        return StoreUnusable(f"cannot open the state {engine.path}: {error}")
    if name.startswith("SQLITE_READONLY"):
        return StoreUnavailable(f"cannot write the state {engine.path}: {error}")
    return engine.to_error(error)


def _warn_of_network(path: Path) -> None:
    try:
        kind = file_system_of(path, MOUNTS.read_text())
    except OSError:
        return
    if kind.startswith(NETWORK):
        log.warning("the state lies on a network file system, where SQLite may lose data", extra={"type": kind})
