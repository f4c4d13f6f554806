"""Random kills, with and without a network that fails, and connections cut at any byte."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random

from tests.chaos.oracle import PROXIED
from tests.chaos.strikes import SERVER, any_fault
from tests.chaos.world import ALL, Kit, World
from tests.servers.faults import Fault, Json

LATE = 0.4  # seconds that a commit or a history may lag; the grace is far longer, also on a busy machine
GRACE = {"grace": "1500ms", "look_again": "400ms", "timeout": "2s"}
LONGEST_LIFE = 0.8  # seconds until a kill
CUT_WITHIN = 2000  # bytes of a connection: one or two requests


async def random_kills(
    kit: Kit, seed: int, kills: int, *, network: bool, digest: bool = False, state: str = "", tidy: bool = True
) -> World:
    """Kill one bot again and again at random moments while its feed grows; then let it come to rest.

    `network`: faults of all kinds strike meanwhile. `digest`: what comes at once is told in digests.
    """
    random = Random(seed)
    world = World(
        kit, delivery=GRACE | ({"max_new_single": 5} if digest else {}), **({"state": state} if state else {})
    )
    await world.prime()
    world.publish(40 if digest else 30)
    await world.crash_at("poll.after_commit:1")  # a queue to begin with: polls take longer than many a life
    while world.kills < kills:
        if network and (world.kills == 0 or random.random() < 0.4):
            strike_at_random(world, random)
        child = await world.start()
        if random.random() < 0.6:  # half of a short life is the start; see that the rest is lived through, too
            await world.until_up(child)
        await asyncio.sleep(random.uniform(0, LONGEST_LIFE))
        if not digest and random.random() < 0.3:
            world.publish(world.count + random.randrange(1, 6))
        await world.kill(child)
    if network:
        for platform in ALL:
            kit.oracle.faults(SERVER[platform], whose=f"{world.name} {platform}")
    if tidy:
        await world.settle(seconds=70)
    return world


def strike_at_random(world: World, random: Random) -> None:
    """Replace the faults of this world by some others; they are the servers', and strike its neighbours too."""
    for platform in ALL:
        faults = [any_fault(platform, random, late=LATE) for _ in range(random.randrange(1, 4))]
        world.kit.oracle.faults(SERVER[platform], faults, whose=f"{world.name} {platform}")
    lag = random.choice((0.0, 0.0, LATE))
    world.kit.oracle.do("slack", "set", history_lag=lag)
    world.kit.oracle.do("discord", "set", history_lag=lag)


async def cut_connections(kit: Kit, seed: int, cuts: int, *, worlds: int = 4) -> list[World]:
    """Break connections of every service at random bytes of the request or the answer, `cuts` in all."""
    random = Random(seed)
    made = [World(kit, delivery=GRACE, proxied=True) for _ in range(worlds)]
    await asyncio.gather(*(world.prime() for world in made))
    for server in PROXIED:
        kit.oracle.cut(server, *(_any_cut(random) for _ in range(cuts // len(PROXIED))))
    for world in made:
        world.publish(40)
    await asyncio.gather(*(world.settle(seconds=90) for world in made))
    return made


def cuts_made(kit: Kit) -> int:
    return sum(passed["cut"] for server in PROXIED for passed in kit.oracle.passed(server))


def _any_cut(random: Random) -> Json:
    return {
        "side": random.choice(("request", "response")),
        "at": random.randrange(CUT_WITHIN),
        "how": random.choice(("rst", "fin", "stall")),
        "seconds": 0.2,
    }


def storm(platform: str, spelling: str | None, times: int) -> Fault:
    """A service that answers nothing but 429, or, for mail, its like."""
    if platform == "email":
        return Fault(kind="status", match="MAIL", status=452, body="4.3.1 slow down", times=times)
    match: Sequence[str] = {
        "slack": "chat.post",
        "slack-webhook": "/services/",
        "discord": "/messages",
        "webhook": "/w",
    }[platform]
    return Fault(kind="rate", match=str(match), retry_after=spelling, times=times)
