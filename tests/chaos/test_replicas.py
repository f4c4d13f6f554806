"""F13 and F14: three processes on one PostgreSQL, each killed, frozen and started anew, and the server with them."""

import asyncio
import shutil
import signal
from collections.abc import Iterator
from random import Random

import pytest

from tests.chaos.killing import GRACE
from tests.chaos.nursery import Child
from tests.chaos.world import EXACTLY_ONCE, Kit, World
from tests.store.conftest import Server, postgres_url, server

pytestmark = pytest.mark.asyncio(loop_scope="session")
LEASE = 3.0  # seconds
REPLICAS = 3
__all__ = ["postgres_url", "server"]


class Replicas:
    """The processes, each with a log of its own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.children: list[Child] = []

    async def start(self, number: int) -> None:
        child = await self.world.start(lease=LEASE, log=self.world.folder / f"replica-{number}.log")
        self.children[number : number + 1] = [child]

    async def kill(self, number: int) -> None:
        await self.world.kill(self.children[number])

    async def freeze(self, number: int, seconds: float) -> None:
        self.children[number].signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        self.children[number].signal(signal.SIGCONT)

    async def stop(self) -> None:
        for child in self.children:
            await self.world.stop(child)

    def senders(self) -> int:
        logs = [path.read_text() for path in self.world.folder.glob("replica-*.log")]
        return sum(" sent " in log for log in logs)


@pytest.fixture
def world(kit: Kit, server: Server, postgres_url: str) -> Iterator[World]:
    found = World(kit, platforms=EXACTLY_ONCE, delivery=GRACE, state=postgres_url)
    yield found
    shutil.rmtree(found.folder, ignore_errors=True)


async def _three(world: World) -> Replicas:
    await world.prime()
    replicas = Replicas(world)
    for number in range(REPLICAS):
        await replicas.start(number)
    return replicas


async def _settled(replicas: Replicas) -> None:
    world = replicas.world
    for _ in range(900):
        if world.all_arrived():
            break
        await asyncio.sleep(0.1)
    await world.until_quiet(replicas.children[0])
    await replicas.stop()


async def test_replicas_that_are_killed_and_frozen_tell_each_entry_once_and_in_order(world: World) -> None:
    random = Random(1)
    replicas = await _three(world)
    for step in range(12):
        world.publish(world.count + 4)
        number = random.randrange(REPLICAS)
        await asyncio.sleep(random.uniform(0.1, 0.8))
        if step % 4 == 3:
            await replicas.freeze(number, LEASE + 1.5)
        else:
            await replicas.kill(number)
            await replicas.start(number)
    await _settled(replicas)
    assert replicas.senders() > 1
    assert not world.faults()


async def test_replicas_whose_server_dies_and_comes_back_tell_each_entry_once_and_in_order(
    world: World, server: Server
) -> None:
    replicas = await _three(world)
    for _ in range(3):
        world.publish(world.count + 6)
        await asyncio.sleep(0.7)
        await asyncio.to_thread(server.stop)
        await asyncio.sleep(0.5)
        await asyncio.to_thread(server.start)
        await asyncio.sleep(1)
    await _settled(replicas)
    assert not world.faults()
