"""What the status site asks of the store."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.core.model.delivery import WITHOUT_HISTORY, Dead, DeliveryState, Parked, Receipt, Sent
from bot.core.model.feed import FeedId
from bot.core.model.route import DestinationUid
from bot.core.model.status import Delay, Totals
from bot.store.store import Store
from tests.store.builders import LEASE, MINUTE, NOW, X, Y, announced, entry, key_of, new, started


async def test_an_empty_store_answers_everything(store: Store) -> None:
    assert await store.entry_counts() == {}
    assert await store.totals(now=NOW) == Totals()
    assert await store.recent() == []
    assert [count for _, count in await store.entries_by_week(now=NOW, weeks=3)] == [0, 0, 0]
    assert await store.delays_by_day(now=NOW, days=3) == []


async def test_rows_and_numbers_say_what_was_sent_waits_and_was_given_up(store: Store) -> None:
    await started(store)
    await announced(store, *(new(entry(n), X, Y) for n in range(3)))
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=3)
    assert lane is not None
    uid, epoch = lane.destination.uid, lane.destination.epoch
    first, second, third = (owed.delivery for owed in lane.owed)
    await store.settle(first, Sent(receipt=Receipt(remote_ref="1")), epoch=epoch, now=NOW + MINUTE)
    await store.settle(second, Dead(why="rejected"), epoch=epoch, now=NOW + MINUTE)
    await store.settle(third, Parked(why="archived", probe_at=NOW), epoch=epoch, now=NOW + MINUTE)

    assert await store.entry_counts() == {FeedId("blog"): 3}
    assert await store.totals(now=NOW + MINUTE) == Totals(entries=3, sent_lately=1, waiting=4, held=0, dead=1)
    later = await store.totals(now=NOW + timedelta(days=8))
    assert (later.sent_lately, later.dead) == (0, 0)

    rows = await store.recent(destination=uid)
    assert [(row.title, row.delivery.state, row.parked) for row in rows] == [
        ("Post 2", DeliveryState.PENDING, True),
        ("Post 1", DeliveryState.DEAD, True),
        ("Post 0", DeliveryState.SENT, True),
    ]
    assert (rows[0].entry_key, rows[0].feed_id) == (key_of("blog", 2).hex(), "blog")
    assert [row.title for row in await store.recent(states=frozenset({DeliveryState.SENT}))] == ["Post 0"]
    assert await store.recent(feed=FeedId("other")) == []
    newest = await store.recent(feed=FeedId("blog"), limit=2)
    older = await store.recent(before=newest[-1].delivery.id)
    assert len(newest) + len(older) == 6
    assert max(row.delivery.id for row in older) < newest[-1].delivery.id

    day = datetime(2026, 9, 16, tzinfo=UTC)
    assert await store.delays_by_day(now=NOW + MINUTE, days=14) == [
        Delay(day=day, median=MINUTE, longest=MINUTE, count=1)
    ]


async def test_weeks_begin_on_monday_and_none_is_left_out(store: Store) -> None:
    await started(store)
    monday = datetime(2026, 9, 14, tzinfo=UTC)
    moments = (monday, monday - timedelta(milliseconds=1), monday + timedelta(days=2), monday - timedelta(weeks=9))
    await announced(store, *(new(entry(n, at=at)) for n, at in enumerate(moments)))
    weeks = await store.entries_by_week(now=NOW, weeks=3)
    assert weeks == [(monday - timedelta(weeks=2), 0), (monday - timedelta(weeks=1), 1), (monday, 2)]


async def test_a_destination_without_a_history_says_so_before_anybody_has_asked(store: Store) -> None:
    mail = DestinationUid("email:reader@example.org")
    await started(store, destinations=(X, mail))
    rows = {row.destination.uid: row for row in await store.destination_rows()}
    assert (rows[mail].destination.can_look_up, rows[mail].why_not) == (False, WITHOUT_HISTORY["email"])
    assert (rows[X].destination.can_look_up, rows[X].why_not) == (None, None)


@pytest.mark.parametrize("name", ["a\0b", "a\udcffb"])
async def test_names_that_no_database_can_hold_are_names_of_nothing(store: Store, name: str) -> None:
    await started(store)
    assert not await store.poke(FeedId(name), now=NOW)
    assert await store.meta(f"websub|{name}") is None
    assert await store.entry(name) is None
    assert await store.latest(tag=name) == []
    assert await store.latest(feed=FeedId(name)) == []
    assert await store.search([name], limit=3) == []
    assert await store.recent(destination=DestinationUid(name)) == []
    assert await store.recent(feed=FeedId(name)) == []
