"""Redirects: followed at once, believed late (N23)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.core.model.feed import Feed, FeedId, FeedMemory, FeedState, NotModified, Validators
from bot.core.moves import follow_redirects, polled_url

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
STATE = FeedState(no=1, feed=Feed(id=FeedId("x"), url="https://old.example/x"), next_poll_at=NOW)
NEW = "https://new.example/x"


def answer(*statuses: int, url: str = NEW) -> NotModified:
    return NotModified(url=url, validators=Validators(), hops=tuple((status, url) for status in statuses))


def polls(count: int, every: timedelta, *statuses: int) -> tuple[FeedMemory, int]:
    memory, told = FeedMemory(), 0
    for number in range(count):
        memory, notices = follow_redirects(
            STATE, answer(*statuses), memory, is_same_feed=True, now=NOW + every * number
        )
        told += len(notices)
    return memory, told


def test_a_feed_moves_after_three_polls_over_three_days() -> None:
    memory, told = polls(4, timedelta(days=1), 301)
    assert (memory.moved_to, told) == (NEW, 1)
    assert polled_url(replace(STATE, memory=memory)) == NEW
    assert polled_url(STATE) == "https://old.example/x"


@pytest.mark.parametrize(
    ("count", "every", "statuses"),
    [
        (2, timedelta(days=5), (301,)),
        (50, timedelta(hours=1), (308,)),
        (9, timedelta(days=1), (302,)),
        (9, timedelta(days=1), (301, 307)),
        (9, timedelta(days=1), ()),
    ],
)
def test_anything_else_is_only_followed(count: int, every: timedelta, statuses: tuple[int, ...]) -> None:
    memory, told = polls(count, every, *statuses)
    assert (memory.moved_to, told) == (None, 0)


def test_a_redirect_to_a_page_that_is_not_this_feed_starts_from_nothing() -> None:
    memory, _ = polls(3, timedelta(days=1), 301)
    memory, _ = follow_redirects(STATE, answer(301), memory, is_same_feed=False, now=NOW + timedelta(days=9))
    assert memory == FeedMemory()


def test_another_target_starts_from_nothing() -> None:
    memory, _ = polls(3, timedelta(days=1), 301)
    other = answer(301, url="https://other.example/x")
    memory, _ = follow_redirects(STATE, other, memory, is_same_feed=True, now=NOW + timedelta(days=9))
    assert (memory.redirect_to, memory.redirect_polls) == ("https://other.example/x", 1)
