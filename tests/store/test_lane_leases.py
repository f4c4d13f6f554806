"""Lanes over time: interrupted sends, renewals, what is told, kept and dead."""

import asyncio

import pytest

from bot.core.errors import LeaseLost
from bot.core.model.delivery import (
    Dead,
    DeliveryState,
    RetryAt,
    Settlement,
    Unknown,
)
from bot.core.model.plan import Notice
from bot.core.model.route import DestinationUid
from bot.store.store import GRACE, Store
from tests.store.builders import LEASE, MINUTE, NOW, OPS, X, Y, announced, entry, new, next_due_at, started
from tests.store.lane_steps import HOUR, SENT, attempt, give_back, owing, take


async def test_what_a_dead_process_was_sending_is_unknown_after_the_grace(store: Store) -> None:
    await owing(store, 2)
    lane = await take(store)
    await store.begin(lane.owed[0].delivery, {"text": "hello"}, epoch=lane.destination.epoch, now=NOW)
    # Nobody releases the lease: the process is gone, and another one finds it when the lease has run out.
    assert await store.claim_lane(now=NOW + MINUTE, lease=LEASE, limit=5) is None
    found = await take(store, NOW + LEASE)
    assert found.owed[0].delivery.state is DeliveryState.UNKNOWN
    with pytest.raises(LeaseLost):
        await store.settle(lane.owed[0].delivery, SENT, epoch=lane.destination.epoch, now=NOW)


async def test_nothing_passes_an_interrupted_send_within_the_grace(store: Store) -> None:
    await owing(store, 2)
    lane = await take(store)
    await store.begin(lane.owed[0].delivery, {}, epoch=lane.destination.epoch, now=NOW)
    await give_back(store, lane)
    assert await store.claim_lane(now=NOW, lease=LEASE, limit=5) is None
    assert await next_due_at(store) == NOW + GRACE
    lane = await take(store, NOW + GRACE)
    assert [owed.delivery.state for owed in lane.owed] == [DeliveryState.UNKNOWN, DeliveryState.PENDING]


@pytest.mark.parametrize("result", [RetryAt(at=NOW + HOUR, why="429"), Unknown(look_at=NOW + HOUR, why="reset")])
async def test_nothing_passes_what_waits_though_its_sender_died_before_giving_the_lane_back(
    store: Store, result: Settlement
) -> None:
    await owing(store, 2)
    lane = await take(store)
    await store.begin(lane.owed[0].delivery, {}, epoch=lane.destination.epoch, now=NOW)
    await store.settle(lane.owed[0].delivery, result, epoch=lane.destination.epoch, now=NOW)
    for later in (LEASE, HOUR - MINUTE):
        assert await store.claim_lane(now=NOW + later, lease=LEASE, limit=5) is None
    found = await take(store, NOW + HOUR)
    assert [owed.delivery.idem for owed in found.owed] == [owed.delivery.idem for owed in lane.owed]


async def test_a_row_is_begun_once_and_only_by_the_holder(store: Store) -> None:
    await owing(store, 1)
    lane = await take(store)
    delivery = lane.owed[0].delivery
    await store.begin(delivery, {}, epoch=lane.destination.epoch, now=NOW)
    with pytest.raises(LeaseLost):
        await store.begin(delivery, {}, epoch=lane.destination.epoch, now=NOW)
    with pytest.raises(LeaseLost):
        await store.begin(delivery, {}, epoch=lane.destination.epoch + 1, now=NOW)


async def test_a_renewed_lane_stays_ours(store: Store) -> None:
    await owing(store, 1)
    lane = await take(store)
    await store.renew_lane(X, epoch=lane.destination.epoch, until=NOW + HOUR)
    assert await store.claim_lane(now=NOW + LEASE, lease=LEASE, limit=1) is None


async def test_a_settlement_tells_the_operator_in_the_same_transaction(store: Store) -> None:
    await owing(store, 1)
    lane = await take(store)
    delivery = lane.owed[0].delivery
    await store.begin(delivery, {}, epoch=lane.destination.epoch, now=NOW)
    notice = Notice(key="dead|x", words="given up")
    await store.settle(delivery, Dead(why="bad"), epoch=lane.destination.epoch, now=NOW, notices=[notice])
    lane = await take(store)
    assert (lane.destination.uid, lane.owed[0].delivery.notice) == (OPS, "given up")


async def test_only_the_last_twenty_attempts_are_kept(store: Store) -> None:
    await owing(store, 1)
    lane = await take(store)
    for number in range(25):
        delivery = await attempt(store, lane, RetryAt(at=NOW, why=f"try {number}"))
    ((_, attempts),) = await store.deliveries_of(delivery.entry_id or 0)
    assert [each.answer for each in attempts] == [f"try {number}" for number in range(5, 25)]


async def test_what_is_owed_to_a_destination_that_nothing_names_is_dead(store: Store) -> None:
    await owing(store, 2, X, Y)
    assert await store.sync_destinations([Y], now=NOW) == 2
    assert (await take(store)).destination.uid == Y
    assert await store.claim_lane(now=NOW, lease=LEASE, limit=1) is None
    dead = await store.recent(states=frozenset({DeliveryState.DEAD}), destination=X)
    assert {row.delivery.error for row in dead} == {"no route names this destination any more"}


async def test_what_is_due_later_waits_and_is_not_waiting(store: Store) -> None:
    await started(store)
    await announced(store, new(entry(1), X, due_at=NOW + HOUR, bundle="digest"), new(entry(2), Y))
    lane = await take(store)
    assert lane.destination.uid == Y
    await store.renew_lane(Y, epoch=lane.destination.epoch, until=NOW + 2 * HOUR)
    assert await store.claim_lane(now=NOW, lease=LEASE, limit=1) is None
    assert await store.waiting(now=NOW) == 1
    lane = await take(store, NOW + HOUR)
    assert (lane.destination.uid, lane.owed[0].delivery.bundle) == (X, "digest")
    assert [row.id for row in await store.due_rows(X, now=NOW + HOUR)] == [lane.owed[0].delivery.id]
    assert [each.delivery.id for each in await store.owed(X, now=NOW + HOUR, limit=1)] == [lane.owed[0].delivery.id]


async def test_many_claims_at_once_never_share_a_destination(store: Store) -> None:
    uids = tuple(DestinationUid(f"slack:#{number}") for number in range(30))
    await started(store, destinations=uids)
    await announced(store, new(entry(1), *uids))
    lanes = await asyncio.gather(*(store.claim_lane(now=NOW, lease=LEASE, limit=1) for _ in range(40)))
    found = [lane.destination.uid for lane in lanes if lane is not None]
    assert sorted(found) == sorted(uids)
