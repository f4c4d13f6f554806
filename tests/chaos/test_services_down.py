"""F7 and F8: storms of 429, an hour of 5xx, revoked tokens, closed channels; and nobody waits for a dead neighbour."""

import asyncio
from collections.abc import Callable

import pytest

from tests.chaos.killing import GRACE
from tests.chaos.strikes import RETRY_AFTER, SENDS, SERVER
from tests.chaos.world import ALL, EXACTLY_ONCE, Kit, World
from tests.servers.faults import Fault

pytestmark = pytest.mark.asyncio(loop_scope="session")
P99_MOVED = 1.0  # seconds that a dead destination may cost another one


async def queue_of(kit: Kit, count: int, platforms: tuple[str, ...] = ALL, **delivery: object) -> World:
    """A bot that owes `count` entries to each place and has tried none."""
    world = World(kit, platforms=platforms, delivery={**GRACE, **delivery})
    await world.prime()
    world.publish(count)
    await world.crash_at("poll.after_commit:1")
    return world


async def test_a_storm_of_429_in_all_spellings_costs_neither_order_nor_patience(kit: Kit) -> None:
    world = await queue_of(kit, 12, ("slack", "slack-webhook", "discord", "webhook"))
    for platform in world.platforms:
        storm = [Fault(kind="rate", match=SENDS[platform], retry_after=word, every=2, times=2) for word in RETRY_AFTER]
        kit.oracle.faults(SERVER[platform], storm, whose=platform)
    await world.settle(seconds=80)
    assert kit.oracle.log.struck >= 20
    assert not world.faults()


async def test_an_hour_of_5xx_half_of_which_stored_ends_with_each_entry_once(kit: Kit) -> None:
    world = await queue_of(kit, 12)
    for platform in ALL:
        match, times = SENDS[platform], 6
        lies = Fault(kind="status", match=match, status=452 if platform == "email" else 500, every=2, times=times)
        faults = [lies, Fault(kind="rst", match=match, store=True, every=3, times=times)]
        if platform in EXACTLY_ONCE:
            faults.append(Fault(kind="status", match=match, status=502, store=True, every=2, times=times))
        kit.oracle.faults(SERVER[platform], faults, whose=platform)
    await world.settle(seconds=80)
    assert kit.oracle.log.struck >= 30
    assert not world.faults()


async def test_what_a_service_commits_after_it_broke_off_is_waited_for_and_not_sent_again(kit: Kit) -> None:
    """C10: neither the answer nor the history shows it at first."""
    world = await queue_of(kit, 3, EXACTLY_ONCE, grace="7s", look_again="1s")
    kit.oracle.do("discord", "set", nonce_window=0.0)
    for platform in EXACTLY_ONCE:
        late = [Fault(kind="rst", match=SENDS[platform], store=True, late=5.0, times=1)]
        kit.oracle.faults(SERVER[platform], late, whose=platform)
    await world.settle(seconds=80)
    await asyncio.sleep(5)  # what an impatient bot would have sent twice is there by now
    assert not world.faults()


async def test_closed_in_the_middle_of_a_queue_it_waits_and_goes_on_when_opened(kit: Kit) -> None:
    oracle = kit.oracle
    world = await queue_of(kit, 40, EXACTLY_ONCE)
    channel, number = (world.destinations[name].partition(":")[2] for name in EXACTLY_ONCE)
    doors: list[tuple[Callable[[], object], Callable[[], object]]] = [
        (
            lambda: oracle.do("slack", "set_channel", channel=channel, archived=True),
            lambda: oracle.do("slack", "set_channel", channel=channel, archived=False),
        ),
        (lambda: oracle.do("slack", "set", auth_error="token_revoked"), lambda: oracle.do("slack", "set")),
        (
            lambda: oracle.do("discord", "set_permissions", channel=number, deny=["SEND_MESSAGES"]),
            lambda: oracle.do("discord", "set_permissions", channel=number),
        ),
        (lambda: oracle.do("slack", "set_channel", channel=channel, member=False),) * 1
        + (lambda: oracle.do("slack", "set_channel", channel=channel, member=True),),
    ]
    for close, open_again in doors:
        child = await world.start()
        await world.until_up(child)
        close()
        world.publish(world.count + 5)
        await asyncio.sleep(1.5)
        await world.kill(child)
        open_again()
    for platform in EXACTLY_ONCE:
        await world.call("resume", world.destinations[platform])
    await world.settle(seconds=80)
    assert not world.faults()


async def test_a_message_that_was_given_up_is_sent_by_replay_and_by_nothing_else(kit: Kit) -> None:
    world = await queue_of(kit, 4, ("slack",))
    kit.oracle.faults("slack", [Fault(kind="error", match="chat.postMessage", error="msg_too_long", times=2)])
    await world.settle(done=lambda: len(world.came()) == 3)
    lost = set(world.wanted) - world.came()
    code, words = await world.call("replay", "--since", "2026-01-01")
    assert code == 0, words
    await world.settle()
    told = [name for arrival in world.arrivals("slack") for name in arrival.entries]
    assert told == [*sorted(set(world.wanted) - lost), *lost]


async def test_a_destination_that_hangs_does_not_hold_up_the_others(kit: Kit) -> None:
    calm = await _longest_wait(kit, hanging=False)
    beside_the_dead = await _longest_wait(kit, hanging=True)
    assert beside_the_dead - calm < P99_MOVED


async def _longest_wait(kit: Kit, *, hanging: bool) -> float:
    """Seconds from the first arrival of twenty entries at Discord to the last."""
    world = await queue_of(kit, 20, ("slack", "discord", "email"), timeout="30s")
    if hanging:
        kit.oracle.faults("slack", [Fault(kind="hang", match="chat.postMessage", seconds=60, times=None)])
    child = await world.start()
    for _ in range(300):
        if len({name for arrival in world.arrivals("discord") for name in arrival.entries}) == world.count:
            break
        await asyncio.sleep(0.1)
    times = [arrival.at for arrival in world.arrivals("discord")]
    await world.kill(child)
    kit.oracle.faults("slack")
    assert len(times) == world.count
    return max(times) - min(times)
