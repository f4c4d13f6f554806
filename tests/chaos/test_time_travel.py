"""F5: a state that was put back, or stopped uncleanly, repeats nothing that its services can look up (R-15)."""

import shutil

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
