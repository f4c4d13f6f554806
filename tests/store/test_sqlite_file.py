"""The SQLite file: what is refused, what is repaired, and what survives a death in the middle."""

import asyncio
import logging
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bot.core.errors import StoreHeld, StoreUnavailable, StoreUnusable, UsageError
from bot.store.migrate import newest
from bot.store.sqlite_file import file_system_of
from bot.store.store import Store, open_store
from tests.store.builders import LEASE, NOW, X, announced, entry, new, started


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bell.db"


async def opened(path: Path, *, exclusive: bool = True) -> Store:
    return await open_store(f"sqlite:///{path}", exclusive=exclusive)


async def filled(path: Path) -> None:
    store = await opened(path)
    await started(store)
    await announced(store, new(entry(1), X))
    await store.close(now=NOW)


async def test_the_folder_is_made_and_a_relative_path_begins_at_the_configuration(tmp_path: Path) -> None:
    store = await open_store("sqlite:///data/deep/bell.db", base=tmp_path, exclusive=True)
    await store.close(now=NOW)
    assert (tmp_path / "data/deep/bell.db").stat().st_size > 0
    assert not (tmp_path / "data/deep/bell.db-wal").exists()


async def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StoreUnusable, match=r"cannot write the state .*/file/bell\.db: .*FEEDBELL_STATE"):
        await opened(tmp_path / "file" / "bell.db")
    with pytest.raises(StoreUnusable, match="is a folder"):
        await opened(tmp_path, exclusive=False)


async def test_a_second_holder_is_told_who_holds_the_lock_and_readers_come_in(path: Path) -> None:
    store = await opened(path)
    await started(store)
    with pytest.raises(StoreHeld, match=r"bell\.db\.lock is held by process \d+"):
        await opened(path)
    reader = await opened(path, exclusive=False)
    assert len(await reader.feeds()) == 1
    await reader.close(now=NOW)
    await store.close(now=NOW)


async def test_one_file_under_two_names_has_one_holder(path: Path, tmp_path: Path) -> None:
    store = await opened(path)
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "other.db"
    link.symlink_to(path)
    with pytest.raises(StoreHeld, match=r"bell\.db\.lock is held by process \d+"):
        await opened(link)
    await store.close(now=NOW)
    assert [each.name for each in link.parent.iterdir()] == ["other.db"]
    again = await opened(path)
    assert again.was_clean
    assert again.last_write == NOW
    await again.close(now=NOW)


async def test_a_missing_or_emptied_state_is_refused_and_left_alone(path: Path) -> None:
    await filled(path)
    path.write_bytes(b"")
    with pytest.raises(StoreUnusable, match="is empty, though it held a state: restore a backup"):
        await opened(path)
    assert path.read_bytes() == b""
    path.unlink()
    with pytest.raises(StoreUnusable, match="is gone, though it held a state"):
        await opened(path, exclusive=False)
    assert not path.exists()


async def test_a_state_whose_first_start_died_early_begins_anew(path: Path) -> None:
    """Nothing was ever committed there, so nothing can have been told."""
    path.write_bytes(b"")
    store = await opened(path)
    assert await store.feeds() == []
    await store.close(now=NOW)


@pytest.mark.parametrize("where", ["header", "page"])
async def test_a_damaged_state_is_refused_with_a_way_out(path: Path, where: str) -> None:
    await filled(path)
    whole = bytearray(path.read_bytes())
    if where == "header":
        whole[:100] = b"garbage!" * 12 + b"...."
    else:
        for at in range(4096, len(whole), 4096):
            whole[at : at + 200] = b"\xff" * 200
    path.write_bytes(whole)
    with pytest.raises(StoreUnusable, match="restore a backup"):
        await opened(path)
    assert path.read_bytes() == whole


async def test_damage_is_found_after_an_unclean_stop(path: Path) -> None:
    await filled(path)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE meta SET value = '0' WHERE name = 'clean'")
        page = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'seen'").fetchall()[0][0]
    raw.close()
    whole = bytearray(path.read_bytes())
    whole[(page - 1) * 4096 : (page - 1) * 4096 + 500] = b"\x55" * 500
    path.write_bytes(whole)
    with pytest.raises(StoreUnusable, match="is damaged"):
        await opened(path)


async def test_a_newer_schema_is_refused(path: Path) -> None:
    await filled(path)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE meta SET value = :newer WHERE name = 'schema'", {"newer": str(newest() + 1)})
    raw.close()
    with pytest.raises(StoreUnusable, match=f"schema {newest() + 1}"):
        await opened(path)


async def test_the_database_of_another_program_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE notes (id INTEGER)")
    raw.close()
    with pytest.raises(StoreUnusable, match="something else"):
        await opened(path)


async def test_a_write_lock_from_outside_is_waited_for_then_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.sqlite.BUSY_MS", 100)
    store = await opened(path)
    await started(store)
    outside = sqlite3.connect(path, isolation_level=None)
    outside.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        await announced(store, new(entry(1), X))
    assert len(await store.feeds()) == 1
    outside.execute("COMMIT")
    outside.close()
    await announced(store, new(entry(1), X))
    await store.close(now=NOW)


async def test_a_full_disk_stops_writing_and_heals(path: Path) -> None:
    store = await opened(path)
    await started(store)
    connection = store._db._connection
    assert connection is not None
    pages = connection.rows("PRAGMA page_count")[0]["page_count"]
    connection.rows(f"PRAGMA max_page_count = {pages}")
    huge = new(entry(1, content_html="x" * 500_000), X)
    with pytest.raises(StoreUnavailable, match="full"):
        await announced(store, huge)
    assert await store.latest() == []
    if store._db._connection is connection:
        connection.rows(f"PRAGMA max_page_count = {pages + 10_000}")
    await announced(store, huge, at=NOW + LEASE)
    assert len(await store.latest()) == 1
    await store.close(now=NOW)


async def test_one_failed_work_takes_no_other_along(path: Path) -> None:
    store = await opened(path)
    await started(store)

    async def fails() -> None:
        await store._db.write(lambda tx: tx.run("INSERT INTO meta (name, value) VALUES ('half', '1')") / 0)

    results = await asyncio.gather(
        store.put_meta("before", "1"), fails(), store.put_meta("after", "1"), return_exceptions=True
    )
    assert [type(result).__name__ for result in results] == ["NoneType", "ZeroDivisionError", "NoneType"]
    assert (await store.meta("before"), await store.meta("half"), await store.meta("after")) == ("1", None, "1")
    await store.close(now=NOW)


async def test_a_closed_store_says_so(path: Path) -> None:
    store = await opened(path)
    await store.close(now=NOW)
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.ping()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.feeds()


async def test_a_file_that_vanishes_is_not_made_anew(path: Path) -> None:
    store = await opened(path)
    await started(store)
    await store.put_meta("a", "b")
    path.rename(path.with_name("elsewhere"))
    store._db._disconnect()
    with pytest.raises(StoreUnusable, match="is gone"):
        await store.put_meta("a", "c")
    assert not path.exists()


async def test_a_backup_is_whole_while_others_write(path: Path, tmp_path: Path) -> None:
    store = await opened(path)
    await started(store)
    await announced(store, new(entry(1), X))
    target = tmp_path / "copy.db"
    await asyncio.gather(store.backup(target), *(store.put_meta(str(n), "x") for n in range(50)))
    (tmp_path / "link").symlink_to(path)
    for itself in ("bell.db", "bell.db-wal", "bell.db-shm", "bell.db.lock", "bell.db.exists", "link"):
        with pytest.raises(UsageError, match="the state itself"):
            await store.backup(tmp_path / itself)
    await store.close(now=NOW)
    copy = await opened(target)
    assert not copy.was_clean
    assert await copy.integrity() == ()
    assert [each.title for each in await copy.latest()] == ["Post 1"]
    await copy.close(now=NOW)
    assert sorted(each.name for each in tmp_path.glob("copy*")) == ["copy.db", "copy.db.exists", "copy.db.lock"]


async def test_a_backup_takes_nothing_away_that_is_no_file(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(path)
    pipe, elsewhere = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    elsewhere.symlink_to(pipe)
    for target in (pipe, elsewhere, tmp_path, Path()):
        with pytest.raises(UsageError, match="is no file"):
            await store.backup(target)
    for target in (path / "below a file", tmp_path / "no folder" / "copy.db", tmp_path / ("long" * 100)):
        with pytest.raises(UsageError, match="cannot write the backup"):
            await store.backup(target)
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError, match=r"cannot write the backup copy\.db"):
        await store.backup(Path("copy.db"))
    await store.close(now=NOW)
    assert pipe.is_fifo()
    assert not list(tmp_path.glob("*.part"))


async def test_a_state_that_is_no_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for exclusive in (True, False):
        with pytest.raises(StoreUnusable, match="is no file but a device or a pipe"):
            await opened(pipe, exclusive=exclusive)
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


WRITER = """
import asyncio, sys
from bot.store.store import open_store
from tests.store.builders import LEASE, NOW, X, announced, entry, new, started

async def main():
    store = await open_store(sys.argv[1], exclusive=True)
    await started(store)
    for n in range(100000):
        await announced(store, new(entry(n), X))
        print(n, flush=True)

asyncio.run(main())
"""


async def test_kill_9_loses_no_commit_and_frees_the_lock(path: Path) -> None:
    """The entry with the number that was printed is there, with what it owes; nothing is there by half."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, f"sqlite:///{path}"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    last = -1
    for line in process.stdout:
        last = int(line)
        if last == 30:
            process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    store = await opened(path)
    assert not store.was_clean
    await store.recover(now=NOW)
    sizes = await store.sizes()
    assert sizes["entry"] == sizes["seen"] == sizes["delivery"]
    assert last + 1 <= sizes["entry"] <= last + 2
    assert await store.integrity() == ()
    await store.close(now=NOW)


KILLED_IN_MIGRATION = """
import sys, os, signal
from pathlib import Path
import bot.store.sqlite as engine
from bot.store.sqlite_file import open_sqlite
run, left = engine.SqliteConnection.run, [int(sys.argv[2])]

def dying(self, sql, **params):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return run(self, sql, **params)

engine.SqliteConnection.run = dying
open_sqlite(Path(sys.argv[1]), exclusive=True)
"""


@pytest.mark.parametrize("statement", [1, 12, 30])
async def test_a_kill_in_a_migration_leaves_the_old_schema_or_the_new(path: Path, statement: int) -> None:
    child = subprocess.run([sys.executable, "-c", KILLED_IN_MIGRATION, str(path), str(statement)], check=False)
    assert child.returncode == -signal.SIGKILL
    await filled(path)


@pytest.mark.parametrize("attempt", range(5))
async def test_ten_commands_that_start_at_once_on_a_new_state_agree(path: Path, attempt: int) -> None:
    stores = await asyncio.gather(*(opened(path, exclusive=False) for _ in range(10)))
    await started(stores[0])
    for store in stores:
        assert len(await store.feeds()) == 1
        await store.close(now=NOW)


def test_the_file_system_is_that_of_the_longest_mount() -> None:
    mounts = "dev / ext4 rw 0 0\nnas:/x /data nfs4 rw 0 0\nnas:/y /data/a\\040b cifs rw 0 0\n"
    assert file_system_of(Path("/var/bell.db"), mounts) == "ext4"
    assert file_system_of(Path("/data/bell.db"), mounts) == "nfs4"
    assert file_system_of(Path("/data/a b/bell.db"), mounts) == "cifs"
    assert file_system_of(Path("/database/bell.db"), mounts) == "ext4"


async def test_a_network_file_system_is_warned_of(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("nas:/ / nfs4 rw 0 0\n")
    monkeypatch.setattr("bot.store.sqlite_file.MOUNTS", mounts)
    with caplog.at_level(logging.WARNING):
        await (await opened(path)).close(now=NOW)
    assert "network file system" in caplog.text
