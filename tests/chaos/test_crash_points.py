"""F1: it dies at every named point, on every platform, and still tells each entry once and in order."""

import asyncio

import pytest

from tests.chaos.matrix import LOOKING, POLLING, SENDING, dead_worlds, poll_worlds, send_worlds
from tests.chaos.world import ALL, Kit, World

pytestmark = pytest.mark.asyncio(loop_scope="session")


def faults_of(worlds: list[World]) -> list[str]:
    return [fault for world in worlds for fault in world.faults()]


async def test_a_crash_at_any_point_of_a_poll_loses_and_doubles_nothing(kit: Kit) -> None:
    worlds = await poll_worlds(kit)
    assert sum(world.kills for world in worlds) == 3 * len(POLLING)
    assert not faults_of(worlds)


@pytest.mark.parametrize("platforms", [ALL[:2], ALL[2:]], ids="+".join)
async def test_a_crash_at_any_point_of_a_delivery_loses_and_doubles_nothing(
    kit: Kit, platforms: tuple[str, ...]
) -> None:
    for worlds in await asyncio.gather(*(send_worlds(kit, platform) for platform in platforms)):
        assert sum(world.kills for world in worlds) == 3 * (1 + len(SENDING) + len(LOOKING))
        assert not faults_of(worlds)


async def test_a_crash_between_giving_up_and_the_alert_gives_up_nothing_else(kit: Kit) -> None:
    for worlds in await asyncio.gather(*(dead_worlds(kit, platform) for platform in ALL)):
        assert not [fault for world in worlds for fault in world.faults(sorted(world.came()))]
