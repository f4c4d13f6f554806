"""F5: a state that was put back, or stopped uncleanly, repeats nothing that its services can look up (R-15)."""

import asyncio
import shutil
from random import Random

import pytest

from tests.chaos.world import EXACTLY_ONCE, Kit, World

# Discord's own memory of nonces is switched off: what is copied comes back after hours, not minutes.
FORGETFUL = {"nonce_window": 0.0}
pytestmark = pytest.mark.asyncio(loop_scope="session")
QUICK = {"grace": "300ms", "look_again": "100ms"}


async def test_a_copy_put_back_repeats_neither_what_waited_nor_what_came_after_it(kit: Kit) -> None:
    world = World(kit, platforms=EXACTLY_ONCE, delivery=QUICK)
    kit.oracle.do("discord", "set", **FORGETFUL)
    await world.prime()
    world.publish(6)
    await world.crash_at("poll.after_commit:1")  # six are owed, none is tried
    backup = world.folder / "backup"
    shutil.copytree(world.database.parent, backup)
    await world.settle()
    world.publish(9)  # the copy knows nothing of the last three
    await world.settle()
    shutil.rmtree(world.database.parent)
    backup.rename(world.database.parent)
    world.publish(12)
    await world.settle()
    assert not world.faults()


async def test_a_copy_from_before_a_digest_finds_the_digest_again(kit: Kit) -> None:
    world = World(kit, platforms=EXACTLY_ONCE, delivery={**QUICK, "max_new_single": 3})
    kit.oracle.do("discord", "set", **FORGETFUL)
    await world.prime()
    world.publish(20)
    await world.crash_at("poll.after_commit:1")
    backup = world.folder / "backup"
    shutil.copytree(world.database.parent, backup)
    await world.settle()
    shutil.rmtree(world.database.parent)
    backup.rename(world.database.parent)
    child = await world.start()
    await world.until_quiet(child)
    await world.stop(child)
    assert not world.faults()


async def test_a_history_that_never_answers_does_not_silence_it_for_ever(kit: Kit) -> None:
    world = World(kit, platforms=("slack",), delivery=QUICK)
    await world.prime()
    world.publish(3)
    await world.crash_at("poll.after_commit:1")
    kit.oracle.do("slack", "set", scopes=["chat:write", "channels:read"])  # no history at all
    await world.settle()
    assert not world.faults()


async def _lose_the_end_of_its_log(kit: Kit, seed: int, times: int) -> World:
    """Kill it again and again; each time its log has lost what was behind a random byte, or holds garbage there."""
    random = Random(seed)
    world = World(kit, platforms=EXACTLY_ONCE, delivery=QUICK)
    kit.oracle.do("discord", "set", **FORGETFUL)
    await world.prime()
    while world.kills < times:
        world.publish(world.count + random.randrange(3))
        child = await world.start()
        await world.until_up(child)
        await asyncio.sleep(random.uniform(0, 0.8))
        await world.kill(child)
        log = world.database.with_name(f"{world.database.name}-wal")
        whole = log.read_bytes() if log.exists() else b""
        at = random.randrange(len(whole) + 1)
        log.write_bytes(whole[:at] + random.choice((b"", random.randbytes(len(whole) - at))))
    await world.settle()
    return world


async def test_a_log_that_lost_its_end_makes_it_repeat_and_forget_nothing(kit: Kit) -> None:
    worlds = await asyncio.gather(*(_lose_the_end_of_its_log(kit, seed, 5) for seed in (1, 2, 3)))
    assert not [fault for world in worlds for fault in world.faults()]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 20))
async def test_a_log_that_lost_its_end_again_and_again(kit: Kit, seed: int) -> None:
    worlds = await asyncio.gather(*(_lose_the_end_of_its_log(kit, seed * 10 + n, 25) for n in range(2)))
    assert not [fault for world in worlds for fault in world.faults()]
