"""What the operator hears of a feed's polls, and what a first poll tells."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.core.model.delivery import DIGEST_MEMBERS
from bot.core.model.entry import ParsedEntry
from bot.core.model.feed import Feed, FeedId, FeedMemory, FeedState, NotModified, Validators
from bot.core.plan import EMPTY_POLLS, plan_unchanged
from bot.core.telling import MAX_DIGESTS_PER_DAY
from tests.core.polling import START, Reader, post


def test_a_feed_that_stays_empty_is_told_once_and_only_where_it_ever_brought_something() -> None:
    silent, reader = Reader(), Reader()
    reader.poll(post("a"))
    reader.poll(post("b"), post("a"))
    for _ in range(2 * EMPTY_POLLS):
        assert (reader.poll(), silent.poll()) == ([], [])
    (notice,) = reader.notices
    assert "has been empty for 3 polls; nothing is forgotten" in notice.words
    assert silent.notices == []
    assert reader.poll(post("b"), post("a")) == []


def test_a_document_that_is_too_long_is_told_once() -> None:
    reader = Reader()
    for _ in range(3):
        reader.poll(post("a"), post("b"), total=9_000)
    assert [notice.words for notice in reader.notices] == [
        "feed feed lists 9000 entries; only its first and last are read."
    ]


@pytest.mark.parametrize("oldest_first", [False, True])
def test_what_moves_up_to_where_a_long_document_is_cut_is_no_news(oldest_first: bool) -> None:
    """Of nine entries the middle ones are left out; then some are deleted, and what is new stands at its end."""
    reader = Reader()

    def poll(*days: int, total: int) -> list[str]:
        listed = [post(str(day), day) for day in days]
        return reader.poll(*(reversed(listed) if oldest_first else listed), total=total)

    assert poll(9, 8, 7, 3, 2, 1, total=9) == []
    assert poll(9, 7, 6, 3, 2, 1, total=8) == []
    assert poll(9, 7, 6, 5, 3, 1, total=7) == []
    assert poll(11, 10, 9, 5, 3, 1, total=9) == ["10", "11"]
    assert poll(14, 13, 12, 5, 3, 1, total=12) == ["12", "13", "14"]  # a whole half, and nobody knows what lies between


def test_what_goes_beyond_a_days_digests_is_stored_and_the_operator_hears_of_it() -> None:
    reader = Reader()
    reader.poll(post("old", -1))
    most = MAX_DIGESTS_PER_DAY * DIGEST_MEMBERS
    told = reader.poll(*(post(f"flood {number}", 0) for number in range(most + 7)), post("old", -1))
    assert len(told) == most
    words = [notice.words for notice in reader.notices]
    assert any(f"brought {most + 7} new entries at once; {most} of them go as a digest" in each for each in words)
    assert any("7 new entries are stored but told to nobody" in each for each in words)
    assert reader.poll(*(post(f"flood {number}", 0) for number in range(most + 7)), post("old", -1)) == []


@pytest.mark.parametrize("newest_first", [True, False])
def test_corrections_of_one_poll_are_told_oldest_first(newest_first: bool) -> None:
    def in_order(*items: ParsedEntry) -> tuple[ParsedEntry, ...]:
        return items[::-1] if newest_first else items

    before = in_order(*(post(name, hour) for hour, name in enumerate("abc")))
    after = in_order(*(replace(post(name, hour), content_html="corrected") for hour, name in enumerate("abc")))
    reader = Reader()
    reader.poll(*before)
    reader.poll(*after)
    assert reader.edited == ["a", "b", "c"]


def test_a_first_poll_after_another_bot_tells_what_that_one_had_not_told_yet() -> None:
    items = post("newest"), post("middle"), post("oldest")
    after = frozenset({"https://example.org/middle", "https://example.org/oldest"})
    assert Reader().poll(*items, told=after) == ["newest"]
    assert Reader().poll(*items, told=frozenset({"named otherwise"})) == []
    assert Reader().poll(*items) == []


def test_a_feed_that_was_told_broken_is_told_well_again_and_an_ordinary_one_is_not() -> None:
    feed = Feed(id=FeedId("blog"), url="https://example.org/feed.xml")
    broken = FeedState(
        no=1,
        feed=feed,
        next_poll_at=START,
        failures=7,
        failing_since=START,
        memory=FeedMemory(told_broken_at=START, gone_polls=1),
    )
    answer = NotModified(url=feed.url, validators=Validators(etag="x", url=feed.url))
    for hours, words in ((5, "5 hours"), (60, "2 days")):
        plan = plan_unchanged(broken, answer, now=START + timedelta(hours=hours), roll=0.0)
        (notice,) = plan.notices
        assert f"can be read again, after {words}" in notice.words
        assert plan.change.memory == FeedMemory()
    well = replace(broken, failures=0, failing_since=None, memory=FeedMemory())
    assert plan_unchanged(well, answer, now=START, roll=0.0).notices == ()


def test_a_feed_that_names_its_entries_anew_at_each_poll_is_told_once_until_it_rests_for_a_week() -> None:
    reader = Reader()

    def poll(ids: str) -> int:
        reader.poll(*[post(str(day), day, guid=f"{ids}{day}") for day in range(6, 0, -1)])
        return len(reader.notices)

    assert [poll(ids) for ids in "abcd"] == [0, 1, 1, 1]
    reader.now += timedelta(days=8)
    assert (poll("d"), poll("e"), poll("f")) == (1, 2, 2)


def test_what_a_document_listed_is_remembered_also_where_its_entries_have_no_bytes_of_their_own() -> None:
    """JSON, UTF-16, bad markup: what a deletion makes room for is no news there either."""
    reader, posts = Reader(), [post(str(day), -day) for day in range(8)]
    reader.poll(*posts[:5])
    assert reader.poll(posts[0], *posts[2:6]) == []
    assert len(reader.state.listing) == 5
    reader.poll(*posts[:3], total=4)
    assert reader.state.listing == ()
