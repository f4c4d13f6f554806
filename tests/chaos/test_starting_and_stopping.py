"""F3: killed while it starts, makes its state, primes a feed or stops; here each start is a real interpreter's."""

import asyncio
import signal
from random import Random

import pytest

from tests.chaos.world import EXACTLY_ONCE, Kit, World
from tests.servers.faults import Fault

pytestmark = pytest.mark.asyncio(loop_scope="session")
QUICK = {"grace": "300ms", "look_again": "100ms"}


async def test_killed_while_it_makes_its_state_it_still_begins_in_silence(kit: Kit) -> None:
    async def one(seed: int) -> World:
        random = Random(seed)
        world = World(kit, platforms=EXACTLY_ONCE, delivery=QUICK)
        world.publish(8)
        for _ in range(6):
            process = await world.start_slowly("run")
            await asyncio.sleep(random.uniform(0.3, 1.6))
            if process.returncode is None:
                process.kill()
            assert await process.wait() == -signal.SIGKILL, world.tail()
        assert (await world.call("once"))[0] == 0
        return world

    worlds = await asyncio.gather(*(one(seed) for seed in range(2)))
    for world in worlds:
        primed = world.came()
        world.publish(11)
        fresh = world.wanted[8:]
        await world.settle(done=lambda world=world, fresh=fresh: set(fresh) <= world.came())
        assert not primed
        assert not world.faults(fresh)


async def test_killed_while_it_stops_it_goes_on_where_it_was(kit: Kit) -> None:
    async def one(seed: int) -> World:
        random = Random(seed)
        world = World(kit, delivery=QUICK)
        await world.prime()
        for _ in range(8):
            world.publish(world.count + 5)
            child = await world.start()
            await world.until_up(child)
            await asyncio.sleep(random.uniform(0, 0.6))
            child.signal(signal.SIGTERM)
            await asyncio.sleep(random.uniform(0, 0.3))
            await world.kill(child)
            assert child.status in (0, -signal.SIGKILL, -signal.SIGTERM), world.tail()
        await world.settle()
        return world

    worlds = await asyncio.gather(*(one(seed) for seed in range(3)))
    assert not [fault for world in worlds for fault in world.faults()]


async def test_told_to_stop_in_the_middle_of_a_send_it_ends_within_its_time_with_0(kit: Kit) -> None:
    world = World(kit, platforms=("slack",), delivery={**QUICK, "drain": "1s"})
    await world.prime()
    kit.oracle.faults("slack", [Fault(kind="hang", match="chat.postMessage", store=True, seconds=5)])
    world.publish(3)
    child = await world.start()
    for _ in range(100):
        if world.came():
            break
        await asyncio.sleep(0.1)
    await world.stop(child)
    kit.oracle.faults("slack")
    await world.settle()
    assert not world.faults()
