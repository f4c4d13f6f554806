"""F2 and F6: killed at random moments, with a network that fails, and with connections cut at any byte."""

import asyncio

import pytest

from tests.chaos.killing import cut_connections, cuts_made, random_kills
from tests.chaos.world import Kit

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_killed_at_random_it_tells_each_entry_once_and_in_order(kit: Kit) -> None:
    runs = [random_kills(kit, seed, 25, network=False, digest=seed == 4) for seed in range(5)]
    worlds = await asyncio.gather(*runs)
    assert sum(world.kills for world in worlds) >= 125
    assert not [fault for world in worlds for fault in world.faults()]


async def test_killed_at_random_while_the_network_fails_it_tells_each_entry_once_and_in_order(kit: Kit) -> None:
    runs = [random_kills(kit, 100 + seed, 25, network=True, digest=seed == 4) for seed in range(5)]
    worlds = await asyncio.gather(*runs)
    assert sum(world.kills for world in worlds) >= 125
    assert kit.oracle.log.struck > 30
    assert not [fault for world in worlds for fault in world.faults()]


async def test_a_connection_cut_at_any_byte_loses_and_doubles_nothing(kit: Kit) -> None:
    worlds = await cut_connections(kit, 200, 200)
    assert cuts_made(kit) > 120
    assert not [fault for world in worlds for fault in world.faults()]
