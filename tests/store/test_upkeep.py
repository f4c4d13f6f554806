"""What is given up, forgotten and kept, and what a start finds."""

from datetime import timedelta

from bot.core.model.delivery import Dead, Delivery, DeliveryKind, DeliveryState, Parked
from bot.core.model.feed import FeedId
from bot.store.store import GRACE, Store, open_store
from tests.store.builders import (
    LEASE,
    MINUTE,
    NOW,
    OPS,
    X,
    Y,
    announced,
    change,
    claimed,
    entry,
    feed,
    new,
    next_due_at,
    plan,
    started,
)

DAY = timedelta(days=1)


async def test_a_parked_destination_keeps_seven_days_and_so_many_rows(store: Store) -> None:
    await started(store)
    await announced(store, new(entry(0), X, Y, due_at=NOW - 8 * DAY), *(new(entry(n), X, Y) for n in range(1, 6)))
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=1)
    assert lane is not None
    uid, epoch = lane.destination.uid, lane.destination.epoch
    parked = Parked(why="archived", probe_at=NOW + MINUTE)
    await store.settle(lane.owed[0].delivery, parked, epoch=epoch, now=NOW)
    assert await store.kill_old(now=NOW, max_rows=3) == {uid: 3}
    assert await store.kill_old(now=NOW, max_rows=3) == {}
    dead = await store.recent(states=frozenset({DeliveryState.DEAD}))
    assert [row.title for row in dead] == ["Post 2", "Post 1", "Post 0"]
    assert (await store.delivery_counts())[DeliveryState.PENDING] == 9


async def test_a_digest_given_up_takes_its_members_along(store: Store) -> None:
    await started(store)
    await announced(store, *(new(entry(n), X, due_at=NOW - 8 * DAY) for n in range(3)))
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=5)
    assert lane is not None
    digest = Delivery(idem="d" * 32, destination=X, kind=DeliveryKind.DIGEST, due_at=NOW - 8 * DAY, created_at=NOW)
    epoch = lane.destination.epoch
    await store.bind_digest(X, epoch=epoch, digest=digest, members=[each.delivery.id for each in lane.owed])
    (owed,) = await store.owed(X, now=NOW, limit=5)
    await store.settle(owed.delivery, Parked(why="archived", probe_at=NOW + MINUTE), epoch=epoch, now=NOW)
    await store.kill_old(now=NOW)
    for each in lane.owed:
        ((row, _),) = await store.deliveries_of(each.delivery.entry_id or 0)
        assert row.state is DeliveryState.DEAD
    assert await store.owe([lane.owed[0].delivery], now=NOW) == 1
    ((row, _),) = await store.deliveries_of(lane.owed[0].delivery.entry_id or 0)
    assert row.state is DeliveryState.PENDING


async def test_old_texts_go_but_keys_tags_and_titles_stay(store: Store) -> None:
    await started(store)
    old = NOW - 200 * DAY
    listed = entry(0, at=old - DAY, text="still listed")
    learned = change(listing=((b"h" * 16, listed.key),))
    entries = [new(listed), *(new(entry(n, at=old + n * MINUTE, tags=("BGP",))) for n in range(1, 510))]
    await store.commit_intake(plan(await claimed(store), *entries, feed_change=learned), urgent=True)
    assert await store.prune(now=NOW) == 9
    assert await store.prune(now=NOW) == 0
    first = await store.entry(entry(1).key.hex())
    assert first is not None
    assert (first.text, first.title, first.tags) == ("", "Post 1", ("BGP",))
    kept = await store.entry(listed.key.hex())
    assert kept is not None
    assert kept.text == "still listed"
    assert len((await store.known(1, [entry(n).key for n in range(510)])).by_hash) == 510
    assert [each.title for each in await store.search(["post", "1", "bgp"], limit=1000)][-1] == "Post 1"


async def test_what_a_feed_has_beyond_its_quota_is_forgotten_oldest_first_names_and_all(store: Store) -> None:
    await started(store)
    listed, owed = entry(0), entry(1)
    await store.commit_intake(
        plan(
            await claimed(store),
            new(listed),
            new(owed, X),
            *(new(entry(n, tags=("BGP", f"made up {n}"))) for n in range(2, 1300)),
            feed_change=change(listing=((b"h" * 16, listed.key),)),
        ),
        urgent=True,
    )
    assert await store.prune(now=NOW, keep_keys=700) == 600
    assert await store.prune(now=NOW, keep_keys=700) == 0
    known = await store.known(1, [entry(n).key for n in range(1300)])
    assert set(known.by_hash) == {entry(n).key for n in (0, 1, *range(602, 1300))}
    assert dict(await store.tags())["BGP"] == 698
    assert len(await store.tags()) == 699
    assert await store.entry(entry(2).key.hex()) is None
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=5)
    assert lane is not None
    assert [each.entries[0].title for each in lane.owed] == ["Post 1"]


async def test_the_keys_of_a_gone_feed_stay_thirty_days(store: Store) -> None:
    await started(store, "blog", "other")
    await announced(store, new(entry(1, tags=("BGP",)), X))
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=1)
    assert lane is not None
    await store.sync_feeds([feed("other")], now=NOW)
    await store.prune(now=NOW + 29 * DAY)
    assert (await store.sizes())["seen"] == 1
    # What is still owed keeps its entry.
    await store.prune(now=NOW + 31 * DAY)
    assert (await store.sizes())["entry"] == 1
    await store.settle(lane.owed[0].delivery, Dead(why="bad"), epoch=lane.destination.epoch, now=NOW)
    await store.prune(now=NOW + 31 * DAY)
    sizes = await store.sizes()
    assert (sizes["seen"], sizes["entry"], sizes["feed"], sizes["delivery"]) == (0, 0, 1, 1)
    await store.sync_feeds([feed("blog"), feed("other")], now=NOW)
    assert (await claimed(store, "blog")).primed_at is None


async def test_a_start_finds_what_was_being_sent_unknown(store: Store) -> None:
    await started(store)
    await announced(store, new(entry(1), X))
    lane = await store.claim_lane(now=NOW, lease=MINUTE, limit=1)
    assert lane is not None
    await store.begin(lane.owed[0].delivery, {"text": "hi"}, epoch=lane.destination.epoch, now=NOW)
    at = NOW + MINUTE
    await store.recover(now=at)
    found = await store.claim_lane(now=at + GRACE, lease=LEASE, limit=1)
    assert found is not None
    assert (found.owed[0].delivery.state, found.owed[0].delivery.payload) == (DeliveryState.UNKNOWN, {"text": "hi"})


async def test_times_of_a_clock_that_ran_ahead_do_not_hold_a_delivery(store: Store) -> None:
    await started(store)
    await announced(store, new(entry(1), X, due_at=NOW + 700 * DAY), new(entry(2), Y, due_at=NOW + 6 * DAY))
    await store.recover(now=NOW)
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=1)
    assert lane is not None
    assert lane.destination.uid == X
    assert await store.claim_lane(now=NOW, lease=LEASE, limit=1) is None


async def test_what_waited_when_the_clock_was_set_back_is_not_overtaken_by_what_came_after(store: Store) -> None:
    await started(store)
    later = NOW + DAY / 2
    announcement = (new(entry(1), X, due_at=NOW, created_at=NOW), new(entry(2), X, due_at=later, created_at=NOW))
    await announced(store, *announcement)
    back = NOW - DAY / 24
    await store.set_right(now=back)
    await announced(store, new(entry(3), X, due_at=back, created_at=back), at=back)
    lane = await store.claim_lane(now=back, lease=LEASE, limit=5)
    assert lane is not None
    # The second waits for an hour of its route, which the clock of the wall has now.
    assert [owed.entries[0].title for owed in lane.owed] == ["Post 1", "Post 3"]
    assert await store.due_rows(X, now=later) != ()


async def test_a_clock_that_is_set_right_while_the_bot_runs_holds_nothing_up(store: Store) -> None:
    await started(store)
    ahead = NOW + 3650 * DAY
    await announced(store, new(entry(1), X, due_at=ahead), at=ahead)
    assert await store.claim_feeds(now=NOW, lease=LEASE, limit=1) == []
    await store.set_right(now=NOW)
    assert len(await store.claim_feeds(now=NOW + 15 * MINUTE, lease=LEASE, limit=1)) == 1  # its interval
    assert await store.claim_lane(now=NOW, lease=LEASE, limit=1) is not None


async def test_what_a_replica_with_a_wrong_clock_held_when_it_died_is_taken_over(postgres_url: str) -> None:
    dead, other = await open_store(postgres_url, ops=OPS), await open_store(postgres_url, ops=OPS)
    await started(dead)
    await announced(dead, new(entry(1), X))
    ahead = NOW + 3650 * DAY
    lane = await dead.claim_lane(now=ahead, lease=LEASE, limit=1)
    assert lane is not None
    await dead.begin(lane.owed[0].delivery, {}, epoch=lane.destination.epoch, now=ahead)
    assert await dead.claim_feeds(now=ahead, lease=LEASE, limit=9) != []
    assert await dead.take_lease("chat", now=ahead, until=ahead + LEASE) is not None
    await dead.set_right(now=NOW)  # its own it knows to be its own
    assert await other.claim_lane(now=NOW, lease=LEASE, limit=1) is None
    await dead.close(now=NOW)
    await other.recover(now=NOW)
    assert await other.claim_lane(now=NOW, lease=LEASE, limit=1) is None  # in doubt, and not before its grace
    found = await other.claim_lane(now=NOW + GRACE, lease=LEASE, limit=1)
    assert found is not None
    assert found.owed[0].delivery.state is DeliveryState.UNKNOWN
    assert await other.claim_feeds(now=NOW + DAY, lease=LEASE, limit=9) != []
    assert await other.take_lease("chat", now=NOW, until=NOW + LEASE) is not None
    await other.close(now=NOW)


async def test_recovery_leaves_alone_what_another_replica_holds(postgres_url: str) -> None:
    first, second = await open_store(postgres_url, ops=OPS), await open_store(postgres_url, ops=OPS)
    await started(first)
    await announced(first, new(entry(1), X))
    lane = await first.claim_lane(now=NOW, lease=LEASE, limit=1)
    assert lane is not None
    await first.begin(lane.owed[0].delivery, {}, epoch=lane.destination.epoch, now=NOW)
    await second.recover(now=NOW + MINUTE)
    await first.settle(lane.owed[0].delivery, Dead(why="bad"), epoch=lane.destination.epoch, now=NOW)
    await first.close(now=NOW)
    await second.close(now=NOW)


async def test_the_state_tells_its_size_and_its_next_due_time(store: Store) -> None:
    assert await next_due_at(store) is None
    await started(store)
    sizes = await store.sizes()
    assert (sizes["feed"], sizes["destination"]) == (1, 3)
    assert sizes["bytes"] > 0
    await store.ping()
    assert await store.integrity() == ()
    assert await store.overdue(now=NOW) == []
    await announced(store, new(entry(1), X))
    assert await store.overdue(now=NOW) == [(X, NOW)]
    assert [row.waiting for row in await store.destination_rows() if row.destination.uid == X] == [1]
    await store.sync_destinations([Y], now=NOW)
    await announced(store, new(entry(2), X))  # by a poll that had begun with the routes of before
    assert await store.overdue(now=NOW) == []
    await store.put_meta("backoff", "5")
    assert await store.meta("backoff") == "5"


async def test_recent_deliveries_come_by_feed_and_by_page(store: Store) -> None:
    await started(store, "a", "b")
    await announced(store, *(new(entry(n, of="a"), X) for n in range(3)), name="a")
    await announced(store, new(entry(9, of="b"), X), name="b")
    page = await store.recent(feed=FeedId("a"), limit=2)
    assert [row.title for row in page] == ["Post 2", "Post 1"]
    rest = await store.recent(feed=FeedId("a"), before=page[-1].delivery.id)
    assert [row.title for row in rest] == ["Post 0"]
