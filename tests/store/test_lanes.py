"""Lanes: one destination, in order, under a lease; and what each settlement writes."""

from dataclasses import replace

import pytest

from bot.core.errors import LeaseLost
from bot.core.model.delivery import (
    Dead,
    Delivery,
    DeliveryKind,
    DeliveryState,
    Held,
    Parked,
    Probe,
    RetryAt,
    Settlement,
    Unknown,
)
from bot.core.model.route import DestinationUid
from bot.store.store import Store
from tests.store.builders import LEASE, MINUTE, NOW, OPS, X, Y, announced, entry, new, next_due_at, started
from tests.store.lane_steps import HOUR, SENT, attempt, give_back, owing, take, titles


async def test_a_lane_brings_what_is_due_in_order_and_is_held_by_one(store: Store) -> None:
    await owing(store, 5)
    lane = await take(store, limit=3)
    assert titles(lane) == ["Post 1", "Post 2", "Post 3"]
    assert (lane.waiting, lane.oldest_due_at, lane.destination.uid) == (5, NOW, X)
    assert await store.claim_lane(now=NOW, lease=LEASE, limit=3) is None
    assert await next_due_at(store) == NOW + LEASE
    await give_back(store, lane)
    assert titles(await take(store, limit=1)) == ["Post 1"]


async def test_each_destination_is_a_lane_of_its_own_and_services_can_be_left_out(store: Store) -> None:
    hook, other = DestinationUid("webhook:a"), DestinationUid("webhook:b")
    await started(store, destinations=(X, Y, hook, other))
    await announced(store, new(entry(1), X, Y, hook, other))
    skip = frozenset({"slack", "webhook:a"})
    found = set()
    while lane := await store.claim_lane(now=NOW, lease=LEASE, skip=skip, limit=1):
        found.add(lane.destination.uid)
    assert found == {Y, other}


async def test_sent_ends_a_delivery_and_heals_the_destination(store: Store) -> None:
    await owing(store, 1)
    lane = await take(store)
    await attempt(store, lane, RetryAt(at=NOW, why="503"))
    await give_back(store, lane)
    lane = await take(store)
    assert (lane.destination.failures, lane.destination.unwell_since) == (1, NOW)
    sent = await attempt(store, lane, SENT)
    await give_back(store, lane)
    ((row, attempts),) = await store.deliveries_of(sent.entry_id or 0)
    assert (row.state, row.remote_ref, row.attempts, row.payload) == (DeliveryState.SENT, "1.2", 2, None)
    assert row.rendered_hash == "rendered"
    assert [each.outcome for each in attempts] == ["retry", "sent"]
    (x,) = [row for row in await store.destination_rows() if row.destination.uid == X]
    assert (x.destination.failures, x.destination.unwell_since, x.destination.remote_id) == (0, None, "C1")
    assert await store.waiting(now=NOW) == 0
    assert await next_due_at(store) == NOW + 15 * MINUTE


async def test_a_retry_holds_the_whole_destination_back(store: Store) -> None:
    await owing(store, 2)
    lane = await take(store)
    await attempt(store, lane, RetryAt(at=NOW + MINUTE, why="503"))
    await give_back(store, lane)
    assert await store.claim_lane(now=NOW, lease=LEASE, limit=5) is None
    assert await next_due_at(store) == NOW + MINUTE
    assert await store.waiting(now=NOW) == 2
    assert titles(await take(store, NOW + MINUTE)) == ["Post 1", "Post 2"]


async def test_a_rate_limit_is_no_failure_but_makes_unwell(store: Store) -> None:
    await owing(store, 1)
    lane = await take(store)
    await attempt(store, lane, RetryAt(at=NOW + MINUTE, why="429", throttled=True))
    await give_back(store, lane)
    lane = await take(store, NOW + MINUTE)
    assert (lane.destination.failures, lane.destination.unwell_since) == (0, NOW)


async def test_what_fails_alone_steps_aside_and_is_late(store: Store) -> None:
    await owing(store, 2)
    lane = await take(store)
    await attempt(store, lane, RetryAt(at=NOW + HOUR, why="502", alone=True))
    await give_back(store, lane)
    lane = await take(store)
    assert titles(lane) == ["Post 2"]
    await attempt(store, lane, SENT)
    await give_back(store, lane)
    assert await store.waiting(now=NOW) == 1
    lane = await take(store, NOW + HOUR)
    assert (titles(lane), lane.owed[0].delivery.late) == (["Post 1"], True)


async def test_a_rejected_rich_form_is_tried_plain_at_once_in_its_place(store: Store) -> None:
    await owing(store, 2)
    lane = await take(store)
    await attempt(store, lane, RetryAt(at=NOW, why="invalid_blocks", plain=True, alone=True))
    await give_back(store, lane)
    lane = await take(store)
    head = lane.owed[0].delivery
    assert (titles(lane), head.plain, head.late) == (["Post 1", "Post 2"], True, False)
    assert lane.destination.failures == 0


async def test_an_unknown_outcome_blocks_the_lane_until_its_look_up(store: Store) -> None:
    await owing(store, 2)
    lane = await take(store)
    await attempt(store, lane, Unknown(look_at=NOW + MINUTE, why="time-out"))
    await give_back(store, lane)
    assert await store.claim_lane(now=NOW, lease=LEASE, limit=5) is None
    lane = await take(store, NOW + MINUTE)
    head = lane.owed[0].delivery
    assert (head.state, head.payload, head.looks) == (DeliveryState.UNKNOWN, {"text": "hello"}, 0)
    epoch = lane.destination.epoch
    await store.settle(head, Unknown(look_at=NOW + MINUTE, why="history is down"), epoch=epoch, now=NOW + MINUTE)
    absent = Unknown(look_at=NOW + 2 * MINUTE, why="not there", absent=True)
    await store.settle(head, absent, epoch=epoch, now=NOW + MINUTE)
    await give_back(store, lane)
    lane = await take(store, NOW + 2 * MINUTE)
    head = lane.owed[0].delivery
    assert (head.looks, head.looked_at) == (1, NOW + MINUTE)
    await store.settle(head, RetryAt(at=NOW + 2 * MINUTE, why="absent"), epoch=lane.destination.epoch, now=NOW)
    await give_back(store, lane)
    lane = await take(store, NOW + 2 * MINUTE)
    again = await attempt(store, lane, Unknown(look_at=NOW + HOUR, why="time-out"), at=NOW + 2 * MINUTE)
    ((row, attempts),) = await store.deliveries_of(again.entry_id or 0)
    assert (row.looks, row.looked_at, row.attempts) == (0, None, 2)
    assert [each.outcome for each in attempts] == ["unknown", "unknown", "absent", "retry", "unknown"]


async def test_an_unknown_outcome_that_is_its_own_affair_holds_up_nobody(store: Store) -> None:
    await owing(store, 2)
    lane = await take(store)
    await attempt(store, lane, Unknown(look_at=NOW + MINUTE, why="500", alone=True))
    await give_back(store, lane)
    assert titles(await take(store)) == ["Post 2"]


async def test_two_that_were_tried_are_both_waited_for(store: Store) -> None:
    await owing(store, 3)
    lane = await take(store)
    await attempt(store, lane, Unknown(look_at=NOW + HOUR, why="500"))
    await attempt(store, lane, Unknown(look_at=NOW + MINUTE, why="500"), row=1)
    await give_back(store, lane)
    assert await store.claim_lane(now=NOW + MINUTE, lease=LEASE, limit=5) is None
    assert titles(await take(store, NOW + HOUR)) == ["Post 1", "Post 2", "Post 3"]


async def test_a_parked_destination_waits_for_its_probe_then_for_its_unparking(store: Store) -> None:
    await owing(store, 2)
    lane = await take(store)
    await attempt(store, lane, Parked(why="is_archived", probe_at=NOW + HOUR))
    await give_back(store, lane)
    assert await store.claim_lane(now=NOW, lease=LEASE, limit=5) is None
    assert await store.waiting(now=NOW) == 0
    lane = await take(store, NOW + HOUR)
    assert (lane.destination.parked, lane.owed[0].delivery.state) == ("is_archived", DeliveryState.PENDING)
    await store.put_off_probe(X, reason="still archived", probe_at=NOW + 2 * HOUR)
    await give_back(store, lane)
    assert await store.claim_lane(now=NOW + HOUR, lease=LEASE, limit=5) is None
    await store.unpark(X, probe=Probe(remote_id="C1", can_look_up=True))
    lane = await take(store, NOW + HOUR)
    assert (lane.destination.parked, lane.destination.remote_id, lane.destination.can_look_up) == (None, "C1", True)
    assert titles(lane) == ["Post 1", "Post 2"]


async def test_a_refused_token_parks_every_destination_that_uses_it(store: Store) -> None:
    friend = DestinationUid("slack:U1")
    await started(store, destinations=(X, Y, friend))
    await announced(store, new(entry(1), X, Y, friend))
    while (lane := await take(store)).destination.uid != X:
        pass
    await attempt(store, lane, Parked(why="token_revoked", probe_at=NOW + HOUR, account=True))
    parked = {row.destination.uid for row in await store.destination_rows() if row.destination.parked}
    assert parked == {X, friend, OPS}


async def test_a_park_found_by_a_look_up_leaves_the_outcome_unknown(store: Store) -> None:
    await owing(store, 1)
    lane = await take(store)
    await attempt(store, lane, Unknown(look_at=NOW, why="reset"))
    head = lane.owed[0].delivery
    parked = Parked(why="not_in_channel", probe_at=NOW + HOUR)
    await store.settle(head, parked, epoch=lane.destination.epoch, now=NOW)
    await give_back(store, lane)
    await store.resume(X, now=NOW)
    assert (await take(store)).owed[0].delivery.state is DeliveryState.UNKNOWN


@pytest.mark.parametrize(("end", "became"), [(Held(why="h"), DeliveryState.HELD), (Dead(why="d"), DeliveryState.DEAD)])
async def test_what_is_held_or_dead_lets_the_next_pass(store: Store, end: Settlement, became: DeliveryState) -> None:
    await owing(store, 2)
    lane = await take(store)
    ended = await attempt(store, lane, end)
    await give_back(store, lane)
    assert titles(await take(store)) == ["Post 2"]
    (row,) = await store.recent(states=frozenset({became}))
    why = end.why if isinstance(end, Held | Dead) else ""
    assert (row.delivery.id, row.title, row.delivery.error) == (ended.id, "Post 1", why)
    assert (await store.delivery_counts())[became] == 1


async def test_a_person_resumes_what_is_held_and_replays_what_is_dead(store: Store) -> None:
    await owing(store, 2)
    lane = await take(store)
    await attempt(store, lane, Held(why="unknown"))
    dead = await attempt(store, lane, Dead(why="bad"), row=1)
    await give_back(store, lane)
    assert await store.claim_lane(now=NOW, lease=LEASE, limit=5) is None
    assert await store.resume(X, now=NOW + MINUTE)
    assert await store.owe([dead], now=NOW + MINUTE) == 1
    assert not await store.resume(DestinationUid("slack:#none"), now=NOW)
    assert titles(await take(store, NOW + MINUTE)) == ["Post 1", "Post 2"]


async def test_replay_owes_what_was_not_owed_and_what_is_dead_but_never_what_was_sent(store: Store) -> None:
    await owing(store, 3)
    lane = await take(store)
    deliveries = [owed.delivery for owed in lane.owed]
    await attempt(store, lane, SENT)
    await attempt(store, lane, Dead(why="bad"), row=1)
    await give_back(store, lane)
    fresh = replace(deliveries[0], idem="f" * 32, destination=Y)
    assert await store.owe([*deliveries, fresh], now=NOW) == 2
    lanes = [await take(store), await take(store)]
    assert {lane.destination.uid: titles(lane) for lane in lanes} == {X: ["Post 2", "Post 3"], Y: ["Post 1"]}


async def test_a_replay_keeps_its_order_though_some_of_it_was_owed_before(store: Store) -> None:
    await owing(store, 4)
    lane = await take(store)
    one, two, three, four = [owed.delivery for owed in lane.owed]
    for row, end in enumerate((SENT, Dead(why="bad"), SENT, Dead(why="bad"))):
        await attempt(store, lane, end, row=row)
    await give_back(store, lane)
    never_owed = [replace(one, idem="e" * 32), replace(three, idem="f" * 32)]
    assert await store.owe([never_owed[0], two, never_owed[1], four], now=NOW) == 4
    assert titles(await take(store)) == ["Post 1", "Post 2", "Post 3", "Post 4"]


async def test_a_digest_takes_its_members_place_and_their_fate(store: Store) -> None:
    await owing(store, 4)
    lane = await take(store)
    ids = [owed.delivery.id for owed in lane.owed]
    digest = Delivery(idem="d" * 32, destination=X, kind=DeliveryKind.DIGEST, due_at=NOW, created_at=NOW)
    epoch = lane.destination.epoch
    await store.bind_digest(X, epoch=epoch, digest=digest, members=ids[1:3])
    owed = (await store.owed(X, now=NOW, limit=5))[1]
    assert [each.title for each in owed.entries] == ["Post 2", "Post 3"]
    assert [member.digest_id for member in owed.members] == [owed.delivery.id] * 2
    assert owed.delivery.seq == ids[1]
    with pytest.raises(LeaseLost):
        await store.bind_digest(X, epoch=epoch, digest=replace(digest, idem="e" * 32), members=ids[2:])
    await give_back(store, lane)
    lane = await take(store)
    assert [(each.delivery.kind.value, len(each.entries)) for each in lane.owed] == [
        ("entry", 1),
        ("digest", 2),
        ("entry", 1),
    ]
    assert lane.waiting == 3
    await attempt(store, lane, SENT, row=1)
    for entry_id in (lane.owed[1].members[0].entry_id, lane.owed[1].members[1].entry_id):
        ((row, attempts),) = await store.deliveries_of(entry_id or 0)
        assert (row.state, row.remote_ref, len(attempts)) == (DeliveryState.SENT, "1.2", 1)
    assert (await store.delivery_counts())[DeliveryState.SENT] == 1
