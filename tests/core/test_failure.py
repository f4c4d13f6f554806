"""What failed polls write, and when the operator hears of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.core.failure import plan_failure
from bot.core.model.feed import Feed, FeedId, FeedMemory, FeedState

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
STATE = FeedState(no=7, epoch=3, feed=Feed(id=FeedId("x"), url="https://example.org/x"), next_poll_at=NOW)


def test_a_failed_poll_changes_nothing_but_the_feeds_row() -> None:
    plan = plan_failure(STATE, "the server says 500", now=NOW, roll=0.0, status=500)
    assert (plan.feed_no, plan.epoch, plan.entries, plan.notices) == (7, 3, (), ())
    assert plan.change.error == "the server says 500"
    assert plan.change.validators is None
    assert plan.change.listing is None
    assert not plan.change.ok


def test_failures_in_a_row_wait_longer_and_longer_but_never_over_a_day() -> None:
    waits = [
        plan_failure(replace(STATE, failures=n), "x", now=NOW, roll=0.0).change.next_poll_at - NOW
        for n in (0, 1, 2, 50)
    ]
    assert waits == sorted(waits)
    assert waits[0] < waits[1] < waits[2]
    assert waits[3] == timedelta(hours=24)


def test_what_the_server_asked_for_is_kept() -> None:
    change = plan_failure(STATE, "429", now=NOW, roll=0.5, status=429, asked=timedelta(days=3)).change
    assert change.next_poll_at >= NOW + timedelta(days=3)
    assert change.asked_until == NOW + timedelta(days=3)


def test_gone_is_asked_once_a_day_and_believed_at_the_third_time() -> None:
    first = plan_failure(STATE, "410", now=NOW, roll=0.0, status=410)
    assert first.change.stopped is None
    assert first.change.next_poll_at >= NOW + timedelta(days=1)
    third = plan_failure(replace(STATE, memory=FeedMemory(gone_polls=2)), "410", now=NOW, roll=0.0, status=410)
    assert third.change.stopped is not None
    assert len(third.notices) == 1
    other = plan_failure(replace(STATE, memory=FeedMemory(gone_polls=2)), "500", now=NOW, roll=0.0, status=500)
    assert other.change.memory.gone_polls == 0


def test_the_operator_is_told_once_after_failures_and_time() -> None:
    broken = replace(STATE, failures=4, failing_since=NOW - timedelta(hours=2))
    plan = plan_failure(broken, "no answer", now=NOW, roll=0.0)
    assert ["no answer" in notice.words for notice in plan.notices] == [True]
    assert plan.change.memory.told_broken_at == NOW
    again = replace(broken, memory=plan.change.memory)
    assert plan_failure(again, "no answer", now=NOW, roll=0.0).notices == ()


def test_a_blip_is_not_told() -> None:
    few = replace(STATE, failures=3, failing_since=NOW - timedelta(hours=9))
    soon = replace(STATE, failures=9, failing_since=NOW - timedelta(minutes=9))
    assert plan_failure(few, "x", now=NOW, roll=0.0).notices == ()
    assert plan_failure(soon, "x", now=NOW, roll=0.0).notices == ()


def test_a_page_that_is_missing_is_told_after_a_week() -> None:
    days = [
        len(
            plan_failure(
                replace(STATE, failures=20, failing_since=NOW - timedelta(days=days)),
                "404",
                now=NOW,
                roll=0.0,
                status=404,
            ).notices
        )
        for days in (6, 7)
    ]
    assert days == [0, 1]
