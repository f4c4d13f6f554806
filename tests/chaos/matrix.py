"""The crash matrix: at each of the 24 named points, on each platform, at the first three passages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bot.crash import POINTS
from tests.chaos.strikes import SERVER, broken, rejected
from tests.chaos.world import Kit, World
from tests.servers.faults import Fault

QUICK = {"grace": "300ms", "look_again": "100ms"}  # nothing is late here: kills are the only fault
PASSAGES = (1, 2, 3)
POLLING = tuple(point for point in POINTS if point.startswith("poll."))
SENDING = tuple(point for point in POINTS if point.startswith("send."))
LOOKING = (*(point for point in POINTS if point.startswith("rec.")), "retry.before_commit")
QUEUE = 150  # entries: more than all the crashes of one world deliver; two points pass once in 20 of them


async def poll_worlds(kit: Kit, passages: Sequence[int] = PASSAGES) -> list[World]:
    """Kill at each point of a poll, a world for each passage."""

    async def one(passage: int) -> World:
        world = World(kit, delivery=QUICK)
        await world.prime()
        for point in POLLING:
            # A document that is new at each poll, so that each poll passes every point.
            world.publish(*(world.count + step for step in range(1, passage + 1)))
            await world.crash_at(f"{point}:{passage}")
        await world.settle()
        return world

    return await asyncio.gather(*(one(passage) for passage in passages))


async def send_worlds(kit: Kit, platform: str, passages: Sequence[int] = PASSAGES) -> list[World]:
    """Fill a queue, then kill at each point of sending, looking and retrying, a world for each passage."""
    worlds = await _filled(kit, platform, passages, QUEUE)
    for point in SENDING:
        await _crash(worlds, passages, point)
        if platform == "slack":
            intents = [fault for world in worlds for fault in world.intent_faults()]
            assert not intents, intents
    for point in LOOKING:
        await _struck(worlds, passages, point, broken(platform))
    await asyncio.gather(*(world.settle() for world in worlds))
    return worlds


async def dead_worlds(kit: Kit, platform: str, passages: Sequence[int] = PASSAGES) -> list[World]:
    """Kill between giving a message up and telling the operator.

    The end of the one at which it dies is not recorded: it is looked for, not found, and sent after all.
    """
    worlds = await _filled(kit, platform, passages, 10)
    await _struck(worlds, passages, "dead.before_alert", rejected(platform))

    def settled(world: World, passage: int) -> bool:
        return len(world.came()) == world.count - (passage - 1)

    await asyncio.gather(
        *(
            world.settle(done=lambda world=world, passage=passage: settled(world, passage))  # type: ignore[misc]
            for world, passage in zip(worlds, passages, strict=True)
        )
    )
    return worlds


async def _filled(kit: Kit, platform: str, passages: Sequence[int], count: int) -> list[World]:
    worlds = [World(kit, platforms=(platform,), delivery=QUICK) for _ in passages]
    await asyncio.gather(*(world.prime() for world in worlds))
    for world in worlds:
        world.publish(count)
    await asyncio.gather(*(world.crash_at("poll.after_commit:1") for world in worlds))
    return worlds


async def _crash(worlds: Sequence[World], passages: Sequence[int], point: str) -> None:
    crashes = [world.crash_at(f"{point}:{passage}") for world, passage in zip(worlds, passages, strict=True)]
    await asyncio.gather(*crashes)


async def _struck(worlds: Sequence[World], passages: Sequence[int], point: str, fault: Fault) -> None:
    oracle, platform = worlds[0].kit.oracle, worlds[0].platforms[0]
    oracle.faults(SERVER[platform], [fault], whose=platform)
    await _crash(worlds, passages, point)
    oracle.faults(SERVER[platform], whose=platform)
