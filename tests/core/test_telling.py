"""Floods: what many new entries at once are told as, and where it ends (N17, T30)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

from bot.core.model.delivery import DIGEST_MEMBERS
from bot.core.model.entry import Identity, Key, ParsedEntry
from bot.core.model.feed import Feed, FeedId, FeedMemory, FeedState, Validators
from bot.core.novelty import Fresh, News
from bot.core.telling import MAX_DIGESTS_PER_DAY, MAX_NEW_PER_DAY, Telling, decide_telling

START = datetime(2026, 9, 10, tzinfo=UTC)
STATE = FeedState(
    no=1,
    feed=Feed(id=FeedId("f"), url="https://example.org/"),
    primed_at=START - timedelta(days=30),
    last_ok_at=START,
    next_poll_at=START,
)


@cache
def news_of(count: int) -> News:
    def fresh(number: int) -> Fresh:
        key = Key(number.to_bytes(16, "big"))
        return Fresh(parsed=ParsedEntry(title=f"Post {number}"), identity=Identity(key=key))

    new = tuple(map(fresh, range(count)))
    return News(items=(), new=new, slid_in=(), renamed=(), oldest_first=False, habit=False, rekeyed=False)


def tell(memory: FeedMemory, count: int, *, now: datetime = START) -> tuple[Telling, FeedMemory]:
    return decide_telling(STATE, news_of(count), memory, now=now, max_single=10, told=frozenset())


def test_a_feed_that_only_says_last_modified_is_polled_often_and_so_is_soon_away() -> None:
    feed = replace(STATE.feed, blind_floor=timedelta(hours=6))
    for validators in (Validators(etag='"x"'), Validators(last_modified="Thu, 10 Sep 2026 00:00:00 GMT")):
        state = replace(STATE, feed=feed, validators=validators)
        now = START + timedelta(hours=30)
        telling, _ = decide_telling(state, news_of(13), FeedMemory(), now=now, max_single=10, told=frozenset())
        assert telling.bundle is not None
        assert telling.bundle.heading == "While away"


def test_ten_go_one_by_one_and_an_eleventh_makes_a_digest() -> None:
    few, _ = tell(FeedMemory(), 10)
    assert (few.bundle, len(few.items)) == (None, 10)
    many, memory = tell(FeedMemory(), 13)
    assert (many.bundled, len(many.items), many.untold) == (3, 13, 0)
    assert many.bundle is not None
    assert (many.bundle.due_at, memory.flooded_at) == (START, START)


def test_a_second_flood_waits_for_its_hour_and_what_follows_joins_it() -> None:
    _, memory = tell(FeedMemory(), 13)
    names = set()
    for minutes, count in ((15, 20), (30, 20), (45, 1)):
        telling, memory = tell(memory, count, now=START + timedelta(minutes=minutes))
        assert telling.bundle is not None
        names.add(telling.bundle.name)
        assert (telling.bundled, telling.bundle.due_at) == (count, START + timedelta(hours=1))
    assert len(names) == 1
    after, _ = tell(memory, 1, now=START + timedelta(minutes=75))
    assert after.bundle is None


def test_a_flood_under_a_clock_that_ran_ahead_does_not_keep_what_comes_after_it_waiting() -> None:
    _, memory = tell(FeedMemory(), 13, now=START + timedelta(days=700))
    telling, memory = tell(memory, 2)
    assert (telling.bundle, len(telling.items), telling.untold) == (None, 2, 0)
    telling, _ = tell(memory, 13)
    assert telling.bundle is not None
    assert telling.bundle.due_at == START


def test_a_poll_that_brings_nothing_makes_no_digest_though_one_waits() -> None:
    waiting = FeedMemory(flooded_at=START + timedelta(minutes=30), flood_size=3)
    telling, memory = tell(waiting, 0)
    assert (telling.bundle, telling.items, memory.flood_size) == (None, (), 3)


@pytest.mark.parametrize("count", [1, 11, 15, 60, 700, 5000])
def test_a_feed_with_new_names_at_each_poll_makes_no_more_than_24_digests_a_day_for_30_days(count: int) -> None:
    memory, members, days = FeedMemory(), Counter[str](), dict[str, str]()
    now = START
    for _ in range(30 * 24 * 12):  # polled each 5 minutes, as soon as any feed is
        telling, memory = tell(memory, count, now=now)
        assert len(telling.items) + telling.untold == count
        if telling.bundle is not None:
            assert telling.bundle.due_at <= now + timedelta(hours=1)
            members[telling.bundle.name] += telling.bundled
            days[telling.bundle.name] = telling.bundle.due_at.date().isoformat()
        now += timedelta(minutes=5)
    digests = Counter[str]()
    for name, size in members.items():
        digests[days[name]] += -(-size // DIGEST_MEMBERS)
    assert max(digests.values(), default=0) <= MAX_DIGESTS_PER_DAY
    assert len(digests) >= (30 if count * 288 > MAX_NEW_PER_DAY else 0)


def test_more_than_a_thousand_new_entries_a_day_are_told_in_digests_alone() -> None:
    memory = FeedMemory(new_day="2026-09-10", new_today=MAX_NEW_PER_DAY)
    telling, _ = tell(memory, 1)
    assert telling.bundled == 1
