"""F9 to F11 and F13: a full disk, a state that is damaged, missing or too new, and two processes that want one file."""

import asyncio
import os
import resource
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.chaos.world import EXACTLY_ONCE, Kit, World

pytestmark = pytest.mark.asyncio(loop_scope="session")
QUICK = {"grace": "300ms", "look_again": "100ms"}
NOBODY = 65534


@pytest_asyncio.fixture(loop_scope="session")
async def world(kit: Kit) -> World:
    """One that has told three entries and was stopped in order."""
    found = World(kit, platforms=EXACTLY_ONCE, delivery=QUICK)
    await found.prime()
    found.publish(3)
    await found.settle()
    return found


async def test_a_second_process_leaves_with_75_and_names_the_first(world: World) -> None:
    first = await world.start()
    await world.until_up(first)
    code, words = await world.call("run")
    assert (code, str(first.pid) in words, "feedbell.db.lock" in words) == (75, True, True)
    await world.stop(first)


async def test_after_a_kill_the_next_process_takes_over_at_once(world: World) -> None:
    for _ in range(10):
        child = await world.start()
        await world.until_up(child)
        world.publish(world.count + 1)
        await asyncio.sleep(0.1)
        await world.kill(child)
    await world.settle()
    assert not world.faults()


def _take_away(state: Path) -> None:
    state.unlink()


def _empty(state: Path) -> None:
    state.write_bytes(b"")


def _overwrite_the_head(state: Path) -> None:
    state.write_bytes(b"no database at all" + state.read_bytes()[18:])


def _overwrite_a_page(state: Path) -> None:
    whole = bytearray(state.read_bytes())
    whole[4096 * 3 : 4096 * 5] = os.urandom(8192)
    state.write_bytes(bytes(whole))
    _mark_unclean(state)


def _cut_in_half(state: Path) -> None:
    whole = state.read_bytes()
    state.write_bytes(whole[: len(whole) // 8192 * 4096])
    _mark_unclean(state)


def _come_from_the_future(state: Path) -> None:
    connection = sqlite3.connect(state)
    connection.execute("UPDATE meta SET value = '9999' WHERE name = 'schema'")
    connection.commit()
    connection.close()


def _mark_unclean(state: Path) -> None:
    """Only then is the whole file looked at; damage that is noticed later ends in the same words."""
    try:
        connection = sqlite3.connect(state)
        connection.execute("UPDATE meta SET value = '0' WHERE name = 'clean'")
        connection.commit()
        connection.close()
    except sqlite3.DatabaseError:
        return


@pytest.mark.parametrize(
    "harm",
    [_take_away, _empty, _overwrite_the_head, _overwrite_a_page, _cut_in_half, _come_from_the_future],
    ids=lambda harm: harm.__name__.strip("_"),
)
async def test_a_state_that_cannot_be_trusted_is_refused_with_a_way_out(
    world: World, harm: Callable[[Path], None]
) -> None:
    good = world.database.read_bytes()
    harm(world.database)
    harmed = world.database.read_bytes() if world.database.exists() else None
    world.publish(5)
    for command in ("run", "once"):
        code, words = await world.call(command)
        assert code == 78, words
        assert "restore a backup" in words
        assert len(words.strip().splitlines()) == 1, words
    assert (world.database.read_bytes() if world.database.exists() else None) == harmed
    assert world.came() == {f"{world.name}n0000{number}" for number in range(3)}
    for rest in world.database.parent.glob("feedbell.db-*"):
        rest.unlink()
    world.database.write_bytes(good)
    await world.settle()
    assert not world.faults()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody without rights")
async def test_a_state_that_cannot_be_written_is_refused_and_tells_nothing(world: World) -> None:
    world.publish(5)
    for path in (world.folder, *world.folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for above in world.folder.parents[:3]:
        above.chmod(above.stat().st_mode | 0o055)
    log = world.folder / "refused.log"
    child = await world.kit.nursery.start(world.folder, ["once"], world.environ, log, user=NOBODY)
    assert await child.wait() in (75, 78), log.read_text()
    assert "feedbell.db" in log.read_text()
    assert len(world.came()) == 3
    for path in (world.folder, *world.folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    await world.settle()
    assert not world.faults()


async def test_on_a_full_disk_it_sends_nothing_and_goes_on_by_itself_when_there_is_room(kit: Kit) -> None:
    worlds = [World(kit, platforms=EXACTLY_ONCE, delivery=QUICK) for _ in range(3)]
    await asyncio.gather(
        *(_fill_and_free(world, room) for world, room in zip(worlds, (0, 20_000, 70_000), strict=True))
    )
    assert not [fault for world in worlds for fault in world.faults()]


async def _fill_and_free(world: World, room: int) -> None:
    """Leave so many bytes of room behind the larger of the state's files, then let entries come.

    A log that was checkpointed is written again from its beginning, so some may be told even without any room; what
    must hold is that nothing is told without its intent on the disk, and that all is well when there is room again.
    """
    await world.prime()
    child = await world.start()
    await world.until_up(child)
    await asyncio.sleep(0.5)
    largest = max(path.stat().st_size for path in world.database.parent.iterdir())
    unlimited = resource.prlimit(child.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (largest + room, unlimited[1]))
    for _ in range(6):
        world.publish(world.count + 10)
        await asyncio.sleep(0.5)
    assert child.status is None, world.tail()
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, unlimited)
    child.signal(signal.SIGCONT)
    for _ in range(400):
        if world.all_arrived():
            break
        await asyncio.sleep(0.1)
    await world.until_quiet(child)
    await world.stop(child)


async def _suffer(kit: Kit, seed: int, starts: int) -> World:
    """Live on a disk where commits fail, for a second or two each time, then on a sound one."""
    world = World(kit, platforms=EXACTLY_ONCE, delivery=QUICK)
    await world.prime()
    for number in range(starts):
        world.publish(world.count + 3)
        child = await world.start(sick=1 + seed * 100 + number)
        await asyncio.sleep(1)
        assert child.status in (None, 75), world.tail()  # 75: whoever started it tries again
        child.signal(signal.SIGTERM if number % 2 else signal.SIGKILL)
        await child.wait(20)
        assert not world.intent_faults()
    await world.settle()
    return world


async def test_commits_that_fail_by_an_io_error_lose_and_double_nothing(kit: Kit) -> None:
    worlds = await asyncio.gather(*(_suffer(kit, seed, 3) for seed in (1, 2, 3)))
    assert not [fault for world in worlds for fault in world.faults()]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 20))
async def test_commits_that_fail_for_long_lose_and_double_nothing(kit: Kit, seed: int) -> None:
    worlds = await asyncio.gather(*(_suffer(kit, seed * 10 + n, 10) for n in range(2)))
    assert not [fault for world in worlds for fault in world.faults()]
