"""Who has ended a subscription gets nothing of it, on either engine, until a person takes that back."""

from datetime import timedelta

import pytest

from bot.core.model.delivery import DeliveryState
from bot.core.model.feed import FeedId
from bot.core.model.route import DestinationUid
from bot.store.store import Store
from tests.store.builders import LEASE, NOW, OPS, X, announced, delivery, entry, key_of, new, started

MAIL = DestinationUid("email:reader@example.org")
BLOG = FeedId("blog")
LATER = NOW + timedelta(hours=1)


async def subscribed(store: Store) -> None:
    """Two feeds that go to a mailbox and to a channel, with one entry of each owed."""
    await started(store, "blog", "news", destinations=(X, MAIL))
    await announced(store, new(entry(1), X, MAIL))
    await announced(store, new(entry(1, of="news"), X, MAIL), name="news")


async def states_at(store: Store, uid: DestinationUid) -> list[tuple[str, str | None]]:
    rows = await store.recent(destination=uid)
    return [(row.delivery.state.value, row.delivery.error) for row in reversed(rows)]


async def test_one_feed_ends_at_one_mailbox_and_nowhere_else(store: Store) -> None:
    await subscribed(store)
    assert await store.unsubscribe(MAIL, BLOG, now=NOW)
    assert await states_at(store, MAIL) == [("dead", "its reader has unsubscribed"), ("pending", None)]
    assert await states_at(store, X) == [("pending", None), ("pending", None)]
    await announced(store, new(entry(2), X, MAIL), at=LATER)
    await announced(store, new(entry(2, of="news"), X, MAIL), name="news", at=LATER)
    assert len(await store.recent(destination=MAIL)) == 3
    assert len(await store.recent(destination=X)) == 4


async def test_every_feed_ends_with_one_click(store: Store) -> None:
    await subscribed(store)
    assert await store.unsubscribe(MAIL, now=NOW)
    assert [state for state, _ in await states_at(store, MAIL)] == ["dead", "dead"]
    await announced(store, new(entry(2), X, MAIL), at=LATER)
    assert len(await store.recent(destination=MAIL)) == 2
    (row,) = [row for row in await store.destination_rows() if row.destination.uid == MAIL]
    assert row.destination.unsubscribed


async def test_a_second_click_is_no_mistake_and_the_operator_is_told_once(store: Store) -> None:
    await subscribed(store)
    assert await store.unsubscribe(MAIL, BLOG, now=NOW)
    assert await store.unsubscribe(MAIL, BLOG, now=LATER)
    ((_, words),) = await store.notices()
    assert "unsubscribed from feed blog" in words
    assert f"feedbell resume {MAIL}" in words
    assert len(await store.recent(destination=OPS)) == 1


async def test_a_mailbox_that_nobody_names_can_not_be_unsubscribed(store: Store) -> None:
    await started(store)
    assert not await store.unsubscribe(MAIL, BLOG, now=NOW)
    assert await store.notices() == []


@pytest.mark.parametrize("feed", [BLOG, None])
async def test_resume_takes_it_back_for_what_comes(store: Store, feed: FeedId | None) -> None:
    await subscribed(store)
    await store.unsubscribe(MAIL, feed, now=NOW)
    assert await store.resume(MAIL, now=NOW)
    await announced(store, new(entry(2), MAIL), at=LATER)
    owed = await store.recent(destination=MAIL, states=frozenset({DeliveryState.PENDING}))
    assert owed[0].title == "Post 2"
    found = set()
    while lane := await store.claim_lane(now=LATER, lease=LEASE, limit=9):
        found.add(lane.destination.uid)
    assert MAIL in found


async def test_replay_brings_nothing_back_to_who_has_left(store: Store) -> None:
    await subscribed(store)
    stored = await store.entry("https://blog.example/1")
    assert stored is not None
    await store.unsubscribe(MAIL, BLOG, now=NOW)
    assert await store.owe([delivery(stored, MAIL, entry_id=stored.id)], now=LATER) == 0
    assert [state for state, _ in await states_at(store, MAIL)] == ["dead", "pending"]


async def test_a_story_that_one_feed_may_not_tell_is_told_by_the_other(store: Store) -> None:
    await started(store, "blog", "news", destinations=(MAIL,))
    await store.unsubscribe(MAIL, BLOG, now=NOW)
    story = key_of("one story")
    await announced(store, new(entry(1), MAIL, story=story))
    await announced(store, new(entry(1, of="news"), MAIL, story=story), name="news")
    assert [row.title for row in await store.recent(destination=MAIL)] == ["Post 1"]


async def test_what_may_have_left_already_is_left_alone(store: Store) -> None:
    await subscribed(store)
    lane = await store.claim_lane(now=NOW, lease=LEASE, skip=frozenset({"slack"}), limit=1)
    assert lane is not None
    await store.begin(lane.owed[0].delivery, {"text": "hello"}, epoch=lane.destination.epoch, now=NOW)
    await store.unsubscribe(MAIL, now=NOW)
    assert [state for state, _ in await states_at(store, MAIL)] == ["sending", "dead"]
