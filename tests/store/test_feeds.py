"""Feeds: claims, leases, and what a change of the configuration does."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.core.errors import LeaseLost
from bot.core.model.feed import FeedAuth, FeedId, FeedMemory, Validators
from bot.store.status import FeedCounts
from bot.store.store import Store, open_store
from tests.store.builders import (
    LEASE,
    MINUTE,
    NOW,
    audited,
    change,
    claimed,
    entry,
    feed,
    key_of,
    new,
    next_due_at,
    plan,
    started,
)


async def test_a_new_feed_is_due_at_once_and_held_by_one_claim(store: Store) -> None:
    await store.sync_feeds([feed("a"), feed("b")], now=NOW)
    assert await next_due_at(store) == NOW
    first = await store.claim_feeds(now=NOW, lease=LEASE, limit=10)
    assert [state.feed.id for state in first] == ["a", "b"]
    assert await store.claim_feeds(now=NOW, lease=LEASE, limit=10) == []
    assert await next_due_at(store) == NOW + LEASE


async def test_many_new_feeds_are_spread_over_the_next_minutes(store: Store) -> None:
    many = [feed(f"feed{number}") for number in range(300)]
    await store.sync_feeds(many, now=NOW)
    at_once = await store.claim_feeds(now=NOW + timedelta(seconds=1), lease=LEASE, limit=300)
    soon = await store.claim_feeds(now=NOW + timedelta(seconds=7), lease=LEASE, limit=300)
    assert 0 < len(at_once) < 150
    assert len(at_once) + len(soon) == 300


async def test_the_most_overdue_feed_is_claimed_first(store: Store) -> None:
    await store.sync_feeds([feed("late")], now=NOW - timedelta(hours=1))
    await store.sync_feeds([feed("new"), feed("late")], now=NOW)
    (state,) = await store.claim_feeds(now=NOW, lease=LEASE, limit=1)
    assert state.feed.id == "late"


async def test_a_lease_that_ran_out_is_taken_over_and_the_old_holder_writes_nothing(store: Store) -> None:
    await started(store)
    (old,) = await store.claim_feeds(now=NOW, lease=LEASE, limit=1)
    (taken,) = await store.claim_feeds(now=NOW + LEASE, lease=LEASE, limit=1)
    assert taken.epoch == old.epoch + 1
    with pytest.raises(LeaseLost):
        await store.commit_intake(plan(old, new(entry())), urgent=True)
    with pytest.raises(LeaseLost):
        await store.renew_feed(old.no, epoch=old.epoch, until=NOW + LEASE)
    assert await store.latest() == []
    await store.commit_intake(plan(taken, new(entry())), urgent=True)
    assert [found.title for found in await store.latest()] == ["Post 1"]


async def test_a_released_feed_is_due_again_at_once_or_when_it_is_told(store: Store) -> None:
    await started(store)
    state = await claimed(store)
    await store.release_feed(state.no, epoch=state.epoch)
    state = await claimed(store)
    await store.release_feed(state.no, epoch=state.epoch, next_poll_at=NOW + MINUTE)
    assert await store.claim_feeds(now=NOW, lease=LEASE, limit=1) == []
    assert await next_due_at(store) == NOW + MINUTE


async def test_what_a_poll_learned_comes_back_with_the_next_claim(store: Store) -> None:
    await started(store)
    memory = FeedMemory(
        body_hash="b",
        section=("News",),
        ttl=timedelta(hours=2),
        redirect_since=NOW,
        skip_hours=(1, 2),
        empty_polls=2,
        links_shared=True,
    )
    learned = change(
        memory=memory,
        validators=Validators(etag='W/"é"', last_modified="Wed", url="https://other.example/"),
        listing=((b"i" * 16, key_of(1)), (b"j" * 16, key_of(2))),
        title="A blog",
        site_url="https://blog.example/",
        primed_at=NOW,
        new=True,
    )
    await store.commit_intake(plan(await claimed(store), feed_change=learned), urgent=False)
    later = NOW + timedelta(minutes=15)
    (state,) = await store.claim_feeds(now=later, lease=LEASE, limit=1)
    assert state.memory == memory
    assert state.validators == learned.validators
    assert state.listing == learned.listing
    assert (state.title, state.site_url) == ("A blog", "https://blog.example/")
    assert (state.primed_at, state.last_ok_at, state.last_new_at, state.last_poll_at) == (NOW, NOW, NOW, NOW)


async def test_failures_are_counted_until_a_poll_goes_well(store: Store) -> None:
    await started(store)
    for minutes in (0, 1):
        at = NOW + minutes * MINUTE
        failed = change(ok=False, at=at, error="HTTP 500")
        await store.commit_intake(plan(await claimed(store, at=at), at=at, feed_change=failed), urgent=True)
    (state,) = await store.feeds()
    assert (state.failures, state.failing_since, state.error) == (2, NOW, "HTTP 500")
    at = NOW + 2 * MINUTE
    await store.commit_intake(plan(await claimed(store, at=at), at=at), urgent=True)
    (state,) = await store.feeds()
    assert (state.failures, state.failing_since, state.error, state.last_ok_at) == (0, None, None, at)


async def test_once_takes_every_feed_but_those_a_server_asked_to_leave(store: Store) -> None:
    await started(store, "a", "b", "c")
    asked = change(asked_until=NOW + timedelta(hours=1), next_poll_at=NOW + timedelta(hours=1))
    await store.commit_intake(plan(await claimed(store, "a"), feed_change=asked), urgent=True)
    await store.commit_intake(plan(await claimed(store, "b")), urgent=True)
    states = await store.claim_all_feeds(now=NOW + MINUTE, lease=LEASE)
    assert [state.feed.id for state in states] == ["b", "c"]


@pytest.mark.parametrize("asked", [None, timedelta(hours=1)])
async def test_a_poke_during_a_poll_outlasts_it_but_not_what_the_server_asked(
    store: Store, asked: timedelta | None
) -> None:
    await started(store, "a")
    state = await claimed(store, "a")
    await store.poke(FeedId("a"), now=NOW + MINUTE)
    until = None if asked is None else NOW + asked
    tomorrow = change(next_poll_at=NOW + timedelta(days=1), ok=asked is None, asked_until=until)
    await store.commit_intake(replace(plan(state, feed_change=tomorrow), was_due_at=state.next_poll_at), urgent=True)
    (after,) = await store.feeds()
    assert after.next_poll_at == (until or NOW + MINUTE)
    assert not await store.claim_feeds(now=after.next_poll_at - timedelta(milliseconds=1), lease=LEASE, limit=1)
    (again,) = await store.claim_feeds(now=after.next_poll_at, lease=LEASE, limit=1)
    await store.commit_intake(replace(plan(again, feed_change=tomorrow), was_due_at=again.next_poll_at), urgent=True)
    assert (await store.feeds())[0].next_poll_at == NOW + timedelta(days=1)


async def test_a_poke_passes_over_backoff_but_not_over_what_the_server_asked(store: Store) -> None:
    await started(store, "a", "b")
    asked = change(asked_until=NOW + timedelta(hours=1), next_poll_at=NOW + timedelta(hours=2))
    await store.commit_intake(plan(await claimed(store, "a"), feed_change=asked), urgent=True)
    await store.commit_intake(plan(await claimed(store, "b")), urgent=True)
    assert await store.poke(FeedId("a"), now=NOW + MINUTE)
    assert await store.poke(FeedId("b"), now=NOW + MINUTE)
    assert not await store.poke(FeedId("none"), now=NOW)
    (state,) = await store.claim_feeds(now=NOW + MINUTE, lease=LEASE, limit=9)
    assert state.feed.id == "b"
    await store.release_feed(state.no, epoch=state.epoch, next_poll_at=NOW + timedelta(hours=2))
    (state,) = await store.claim_feeds(now=NOW + timedelta(hours=1), lease=LEASE, limit=9)
    assert state.feed.id == "a"


async def test_a_changed_url_keeps_everything_but_the_validators_and_the_move(store: Store) -> None:
    await started(store)
    memory = FeedMemory(moved_to="https://moved.example/", section=("News",))
    learned = change(memory=memory, validators=Validators(etag='"1"', url="u"), title="Title", primed_at=NOW)
    await store.commit_intake(plan(await claimed(store), new(entry()), feed_change=learned), urgent=True)
    await store.sync_feeds([feed(url="https://new.example/feed")], now=NOW + MINUTE)
    (state,) = await store.claim_feeds(now=NOW + MINUTE, lease=LEASE, limit=1)
    assert state.feed.url == "https://new.example/feed"
    assert state.validators == Validators()
    assert state.memory == FeedMemory(section=("News",))
    assert (state.title, state.primed_at) == ("Title", NOW)
    assert (await store.known(state.no, [key_of("blog", 1)])).total == 1


async def test_a_feed_gone_from_the_file_is_not_polled_and_returns_with_its_keys(store: Store) -> None:
    await started(store, "blog", "other")
    await store.commit_intake(plan(await claimed(store), new(entry())), urgent=True)
    await store.sync_feeds([feed("other")], now=NOW + MINUTE)
    assert [state.feed.id for state in await store.feeds()] == ["other"]
    assert await store.latest() == []
    await store.sync_feeds([feed("blog"), feed("other")], now=NOW + 2 * MINUTE)
    back = await claimed(store, at=NOW + 2 * MINUTE)
    assert back.resumed_at == NOW + 2 * MINUTE
    assert key_of("blog", 1) in (await store.known(back.no, [key_of("blog", 1)])).by_hash


async def test_a_paused_feed_rests_until_it_is_resumed(store: Store) -> None:
    await started(store)
    assert await store.pause_feed(FeedId("blog"), who="slack:U1", now=NOW)
    assert not await store.pause_feed(FeedId("blog"), who="slack:U1", now=NOW)
    assert await store.claim_feeds(now=NOW, lease=LEASE, limit=1) == []
    assert await next_due_at(store) is None
    assert await store.resume_feed(FeedId("blog"), who="slack:U1", now=NOW + MINUTE)
    state = await claimed(store, at=NOW + MINUTE)
    assert (state.paused_at, state.resumed_at) == (None, NOW + MINUTE)
    assert [what for _, what in await audited(store)] == ["resume blog", "pause blog"]


async def test_credentials_are_never_stored_but_come_with_the_configured_feed(store: Store, state: str) -> None:
    secret = feed(auth=FeedAuth(bearer="s3cret"), headers=(("X-Key", "s3cret"),), section="News", initial=2)
    await store.sync_feeds([secret], now=NOW)
    (found,) = await store.feeds()
    assert found.feed == secret
    reader = await open_store(state)
    (found,) = await reader.feeds()
    await reader.close(now=NOW)
    assert (found.feed.auth, found.feed.headers) == (None, ())
    assert (found.feed.section, found.feed.initial, found.feed.url) == ("News", 2, secret.url)


async def test_a_time_from_a_clock_that_ran_ahead_does_not_keep_a_feed_waiting(store: Store) -> None:
    await store.sync_feeds([feed()], now=NOW + timedelta(days=700))
    await store.sync_feeds([feed()], now=NOW)
    assert await next_due_at(store) == NOW


@pytest.mark.parametrize("by", [MINUTE, timedelta(days=1), timedelta(days=700)])
async def test_after_a_poll_by_a_clock_that_ran_ahead_the_next_one_is_no_further_away_than_it_was(
    store: Store, by: timedelta
) -> None:
    ahead, wait = NOW + by, 15 * MINUTE
    await store.sync_feeds([feed()], now=ahead)
    (state,) = await store.claim_feeds(now=ahead, lease=LEASE, limit=1)
    asked = change(at=ahead, asked_until=ahead + wait)
    await store.commit_intake(plan(state, at=ahead, feed_change=asked), urgent=True)
    for _ in range(2):
        await store.set_right(now=NOW)
        assert await next_due_at(store) == NOW + wait
    (found,) = await store.feeds()
    assert found.asked_until == NOW + wait


@pytest.mark.parametrize("wait", [timedelta(days=3), timedelta(days=31)])
async def test_neither_a_start_nor_a_reload_polls_before_the_time_that_a_server_asked_for(
    store: Store, wait: timedelta
) -> None:
    await started(store)
    state, until = await claimed(store), NOW + wait
    asked = change(ok=False, error="the server says 429", next_poll_at=until, asked_until=until)
    await store.commit_intake(plan(state, feed_change=asked), urgent=True)
    await store.sync_feeds([state.feed], now=NOW + MINUTE)
    (found,) = await store.feeds()
    assert (found.next_poll_at, found.asked_until) == (until, until)
    assert await store.claim_all_feeds(now=NOW + MINUTE, lease=LEASE) == []


async def test_neither_a_pause_nor_an_absence_shortens_what_a_server_asked_for(store: Store) -> None:
    await started(store)
    state, until = await claimed(store), NOW + timedelta(days=1)
    asked = change(ok=False, error="the server says 429", next_poll_at=until, asked_until=until)
    await store.commit_intake(plan(state, feed_change=asked), urgent=True)
    assert await store.pause_feed(state.feed.id, who="slack:U1", now=NOW)
    assert await store.resume_feed(state.feed.id, who="slack:U1", now=NOW)
    assert await next_due_at(store) == until
    await store.sync_feeds([], now=NOW)
    assert await next_due_at(store) is None
    await store.sync_feeds([state.feed], now=NOW)
    assert await next_due_at(store) == until


async def test_a_feed_with_a_long_interval_is_not_polled_early_by_a_start(store: Store) -> None:
    weekly = feed(interval=timedelta(days=7))
    await store.sync_feeds([weekly], now=NOW)
    (state,) = await store.claim_feeds(now=NOW, lease=LEASE, limit=1)
    week = change(next_poll_at=NOW + timedelta(days=7))
    await store.commit_intake(plan(state, feed_change=week), urgent=True)
    await store.sync_feeds([weekly], now=NOW + MINUTE)
    assert await next_due_at(store) == NOW + timedelta(days=7)


async def test_a_feed_is_late_when_nobody_polled_it_for_three_intervals_and_should_have(store: Store) -> None:
    await started(store)
    state = await claimed(store, at=NOW)
    await store.commit_intake(plan(state, at=NOW, feed_change=change(ok=False, at=NOW, error="HTTP 500")), urgent=True)
    (state,) = await store.feeds()
    due, patience = state.next_poll_at, 3 * state.feed.interval
    assert await store.feed_counts(now=due + patience) == FeedCounts(feeds=1, failing=1)
    assert await store.late_feeds(now=due + patience) == []
    later = due + patience + MINUTE
    assert await store.feed_counts(now=later) == FeedCounts(feeds=1, failing=1, late=1)
    assert await store.late_feeds(now=later) == [(FeedId("blog"), due)]
    await store.pause_feed(FeedId("blog"), who="slack:U1", now=later)
    assert await store.feed_counts(now=later) == FeedCounts(feeds=1, failing=1)
    assert await store.late_feeds(now=later) == []
