"""When: polls, digests, quiet hours."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.model.feed import Feed, FeedId, FeedMemory
from bot.core.model.route import DestinationUid, DigestRule, QuietHours, Route
from bot.core.schedule import (
    asked_until,
    digest_heading,
    due_at,
    first_poll_at,
    next_digest_at,
    next_poll_at,
    phase,
    poll_interval,
    quiet_ends,
    quiet_until,
)

NOW = datetime(2026, 9, 16, 14, 7, 30, tzinfo=UTC)  # a Wednesday
BERLIN = ZoneInfo("Europe/Berlin")
FEED = Feed(id=FeedId("f"), url="https://example.org/feed")
WEEK = frozenset(range(7))


def s(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def m(minutes: float) -> timedelta:
    return timedelta(minutes=minutes)


def h(hours: float) -> timedelta:
    return timedelta(hours=hours)


def d(days: float) -> timedelta:
    return timedelta(days=days)


# --- polls -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval", "own", "has_validators", "expected"),
    [
        (m(15), False, True, m(15)),
        (m(1), False, True, m(5)),
        (m(15), False, False, m(60)),
        (h(3), False, False, h(3)),
        (s(1), True, True, s(1)),
        (s(1), True, False, s(1)),
    ],
)
def test_interval_keeps_to_the_floor(interval: timedelta, own: bool, has_validators: bool, expected: timedelta) -> None:
    assert poll_interval(replace(FEED, interval=interval, own=own), has_validators=has_validators) == expected


POLLS = {
    "the plain interval": ({}, m(15)),
    "no validators, once an hour": ({"has_validators": False}, m(60)),
    "max-age longer than the interval": ({"max_age": m(40)}, m(40)),
    "max-age shorter than the interval": ({"max_age": m(4)}, m(15)),
    "max-age of zero": ({"max_age": s(0)}, m(15)),
    "max-age of a year is cut to a day": ({"max_age": d(365)}, d(1)),
    "the feed's own ttl": ({"ttl": h(2)}, h(2)),
    "ttl and max-age: the longer": ({"ttl": h(2), "max_age": h(3)}, h(3)),
    "first failure": ({"failures": 1}, m(30)),
    "third failure": ({"failures": 3}, m(120)),
    "failures stop at a day": ({"failures": 5_000}, d(1)),
    "failures on top of a ttl": ({"failures": 1, "ttl": h(2)}, h(4)),
    "Retry-After longer": ({"asked": h(3), "failures": 1}, h(3)),
    "Retry-After shorter": ({"asked": m(3), "failures": 1}, m(30)),
    "Retry-After of weeks": ({"asked": d(20)}, d(20)),
    "Retry-After of years": ({"asked": d(2000)}, d(31)),
    "Retry-After in the past": ({"asked": s(-5)}, m(15)),
    "gone": ({"gone": True, "failures": 1}, d(1)),
    "gone, and asked for more": ({"gone": True, "asked": d(3)}, d(3)),
}


@pytest.mark.parametrize(("given_", "wait"), POLLS.values(), ids=POLLS.keys())
def test_next_poll(given_: dict[str, object], wait: timedelta) -> None:
    facts: dict[str, object] = {"has_validators": True, **given_}
    memory = FeedMemory(ttl=facts.pop("ttl", None))  # type: ignore[arg-type]
    assert next_poll_at(FEED, memory, now=NOW, roll=0.0, **facts) == NOW + wait  # type: ignore[arg-type]


def test_a_configured_interval_over_a_day_stays() -> None:
    weekly = replace(FEED, interval=d(7))
    for failures in (0, 1, 9):
        assert next_poll_at(weekly, FeedMemory(), now=NOW, roll=0.0, has_validators=True, failures=failures) == NOW + d(
            7
        )


def test_an_own_feed_still_keeps_max_age_and_retry_after() -> None:
    own = replace(FEED, interval=s(1), own=True)
    assert next_poll_at(own, FeedMemory(), now=NOW, roll=0.0, has_validators=False, max_age=s(5)) == NOW + s(5)
    assert next_poll_at(own, FeedMemory(), now=NOW, roll=0.0, has_validators=False, asked=s(9)) == NOW + s(9)


@given(roll=st.floats(0, 1, exclude_max=True), failures=st.integers(0, 40), asked=st.integers(0, 3_000_000))
def test_jitter_is_later_only_and_a_tenth_at_most(roll: float, failures: int, asked: int) -> None:
    def at(roll: float) -> datetime:
        return next_poll_at(
            FEED, FeedMemory(), now=NOW, roll=roll, has_validators=True, failures=failures, asked=s(asked)
        )

    assert at(0.0) <= at(roll) <= at(0.0) + 0.1 * (at(0.0) - NOW)
    assert at(roll) >= NOW + min(s(asked), d(31))


@pytest.mark.parametrize(
    ("hours", "days", "expected"),
    [
        ((), (), "2026-09-16T14:22:30"),
        ((14,), (), "2026-09-16T15:22:30"),
        ((14, 15, 16), (), "2026-09-16T17:22:30"),
        ((15,), (), "2026-09-16T14:22:30"),
        ((), ("Wednesday",), "2026-09-17T00:22:30"),
        ((0, 24, 1), ("wednesday", "thursday"), "2026-09-18T02:22:30"),
        (tuple(range(24)), (), "2026-09-16T14:22:30"),
        ((), ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"), "2026-09-16T14:22:30"),
        (
            tuple(range(1, 24)),
            ("wednesday", "thursday", "friday", "saturday", "sunday", "monday"),
            "2026-09-22T00:22:30",
        ),
    ],
)
def test_excluded_hours_and_days_are_skipped(hours: tuple[int, ...], days: tuple[str, ...], expected: str) -> None:
    memory = FeedMemory(skip_hours=hours, skip_days=days)
    at = next_poll_at(FEED, memory, now=NOW, roll=0.0, has_validators=True)
    assert at == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_what_the_server_asked_for_is_known_apart() -> None:
    assert asked_until(now=NOW) is None
    assert asked_until(now=NOW, asked=s(0)) is None
    assert asked_until(now=NOW, asked=s(90)) == NOW + s(90)
    assert asked_until(now=NOW, asked=d(99)) == NOW + d(31)
    assert asked_until(now=NOW, asked=s(90), gone=True) == NOW + d(1)


def test_new_feeds_are_due_at_once_and_many_of_them_spread_a_little() -> None:
    assert first_poll_at(FEED.id, now=NOW) == first_poll_at(FEED.id, now=NOW, feeds=50) == NOW
    waits = [first_poll_at(FeedId(f"feed-{i}"), now=NOW, feeds=1000) - NOW for i in range(1000)]
    assert min(waits) < s(1)
    assert s(19) < max(waits) < s(20)
    assert first_poll_at(FEED.id, now=NOW, feeds=10**6) < NOW + m(15)


def test_phase_is_the_same_after_every_restart() -> None:
    assert phase(FeedId("ai-networking")) == pytest.approx(0.0970, abs=1e-4)
    assert all(0 <= phase(FeedId(str(i))) < 1 for i in range(100))


# --- digests and quiet hours -----------------------------------------------------------------------------------------


def rule(at: str | None, days: frozenset[int] = WEEK) -> DigestRule:
    return DigestRule(at=None if at is None else time.fromisoformat(at), weekdays=days)


DIGESTS = {
    "later today": ("Europe/Berlin", [rule("17:00")], "2026-09-16T14:07:30", "2026-09-16T15:00"),
    "tomorrow": ("Europe/Berlin", [rule("09:00")], "2026-09-16T14:07:30", "2026-09-17T07:00"),
    "never at the very moment": ("UTC", [rule("09:00")], "2026-09-16T09:00", "2026-09-17T09:00"),
    "just before": ("UTC", [rule("09:00")], "2026-09-16T08:59:59", "2026-09-16T09:00"),
    "weekdays skip the weekend": ("UTC", [rule("09:00", frozenset(range(5)))], "2026-09-18T09:00", "2026-09-21T09:00"),
    "one day a week": ("UTC", [rule("09:00", frozenset({2}))], "2026-09-16T09:00", "2026-09-23T09:00"),
    "the earliest of several": ("UTC", [rule("20:00"), rule("16:00")], "2026-09-16T14:07:30", "2026-09-16T16:00"),
    "hourly": ("UTC", [rule(None)], "2026-09-16T14:07:30", "2026-09-16T15:00"),
    "hourly on the hour": ("UTC", [rule(None)], "2026-09-16T14:00", "2026-09-16T15:00"),
    "hourly where zones have half hours": ("Asia/Kolkata", [rule(None)], "2026-09-16T14:07:30", "2026-09-16T14:30"),
    "the clock jumps half an hour": ("Australia/Lord_Howe", [rule(None)], "2026-10-03T14:45", "2026-10-03T16:00"),
    "02:30 the night before spring": ("Europe/Berlin", [rule("02:30")], "2026-03-28T00:00", "2026-03-28T01:30"),
    "02:30 does not exist in spring": ("Europe/Berlin", [rule("02:30")], "2026-03-28T22:00", "2026-03-29T01:00"),
    "and is back the day after": ("Europe/Berlin", [rule("02:30")], "2026-03-29T01:00", "2026-03-30T00:30"),
    "02:30 comes twice in autumn": ("Europe/Berlin", [rule("02:30")], "2026-10-24T20:00", "2026-10-25T00:30"),
    "the second one is none": ("Europe/Berlin", [rule("02:30")], "2026-10-25T00:30", "2026-10-26T01:30"),
    "between the two": ("Europe/Berlin", [rule("02:30")], "2026-10-25T01:00", "2026-10-26T01:30"),
    "a zone that skipped a whole day": ("Pacific/Apia", [rule("09:00")], "2011-12-29T20:00", "2011-12-30T10:00"),
}  # fmt: skip


@pytest.mark.parametrize(("zone", "rules", "after", "expected"), DIGESTS.values(), ids=DIGESTS.keys())
def test_next_digest(zone: str, rules: list[DigestRule], after: str, expected: str) -> None:
    at = next_digest_at(rules, ZoneInfo(zone), datetime.fromisoformat(after).replace(tzinfo=UTC))
    assert at == datetime.fromisoformat(expected).replace(tzinfo=UTC)
    assert at.tzinfo is UTC


@pytest.mark.parametrize("clock", ["00:00", "02:00", "02:30", "03:00", "23:59"])
def test_there_is_one_daily_digest_on_each_day_of_the_year(clock: str) -> None:
    at = datetime(2025, 12, 31, 23, tzinfo=UTC)
    days = []
    for _ in range(365):
        at = next_digest_at([rule(clock)], BERLIN, at)
        days.append(at.astimezone(BERLIN).date())
    assert len(set(days)) == 365
    assert days == sorted(days)


def test_hourly_digest_comes_each_hour_when_the_clock_goes_back() -> None:
    at = datetime(2026, 10, 24, 22, 30, tzinfo=UTC)
    hours = []
    for _ in range(4):
        at = next_digest_at([rule(None)], BERLIN, at)
        hours.append(at.hour)
    assert hours == [23, 0, 1, 2]


@pytest.mark.parametrize(
    ("rules", "heading"),
    [
        ([rule(None)], "hourly digest"),
        ([rule("09:00")], "daily digest"),
        ([rule("09:00", frozenset(range(5)))], "daily digest"),
        ([rule("09:00", frozenset({0}))], "weekly digest"),
        ([rule("09:00", frozenset({0})), rule("09:00", frozenset({3}))], "digest"),
    ],
)
def test_a_digest_is_named_by_its_rhythm(rules: list[DigestRule], heading: str) -> None:
    assert digest_heading(rules) == heading


QUIET = {
    "in the evening": ("22:00", "07:00", "2026-09-16T21:00", "2026-09-17T05:00"),
    "in the small hours": ("22:00", "07:00", "2026-09-16T03:00", "2026-09-16T05:00"),
    "at its first moment": ("22:00", "07:00", "2026-09-16T20:00", "2026-09-17T05:00"),
    "at its last moment it is over": ("22:00", "07:00", "2026-09-16T05:00", None),
    "by day": ("22:00", "07:00", "2026-09-16T12:00", None),
    "within one day": ("12:00", "13:30", "2026-09-16T10:30", "2026-09-16T11:30"),
    "the night of the spring change": ("22:00", "07:00", "2026-03-28T22:00", "2026-03-29T05:00"),
    "an end that does not exist": ("22:00", "02:30", "2026-03-29T00:45", "2026-03-29T01:00"),
    "a start that does not exist": ("02:30", "07:00", "2026-03-29T01:00", "2026-03-29T05:00"),
    "all of it does not exist": ("02:10", "02:40", "2026-03-29T01:00", None),
    "the night of the autumn change": ("22:00", "07:00", "2026-10-24T21:00", "2026-10-25T06:00"),
    "an end that comes twice": ("22:00", "02:30", "2026-10-25T00:15", "2026-10-25T00:30"),
    "after the first of the two it is over": ("22:00", "02:30", "2026-10-25T01:15", None),
    "a start that comes twice": ("02:30", "07:00", "2026-10-25T01:15", "2026-10-25T06:00"),
    "no hours at all": ("07:00", "07:00", "2026-09-16T12:00", None),
}


@pytest.mark.parametrize(("start", "end", "at", "expected"), QUIET.values(), ids=QUIET.keys())
def test_quiet_hours(start: str, end: str, at: str, expected: str | None) -> None:
    quiet = QuietHours(start=time.fromisoformat(start), end=time.fromisoformat(end))
    found = quiet_until(quiet, BERLIN, datetime.fromisoformat(at).replace(tzinfo=UTC))
    assert found == (None if expected is None else datetime.fromisoformat(expected).replace(tzinfo=UTC))


ROUTE = Route(name="routes[0]", to=(DestinationUid("console"),), timezone=BERLIN)
NIGHT = QuietHours(start=time(22), end=time(7))
LATE = datetime(2026, 9, 16, 21, 0, tzinfo=UTC)  # 23:00 in Berlin


@pytest.mark.parametrize(
    ("route", "tags", "now", "expected"),
    [
        (ROUTE, {"bgp"}, NOW, (NOW, None)),
        (replace(ROUTE, quiet=NIGHT), {"bgp"}, NOW, (NOW, None)),
        (replace(ROUTE, quiet=NIGHT), {"bgp"}, LATE, (datetime(2026, 9, 17, 5, tzinfo=UTC), None)),
        (replace(ROUTE, quiet=NIGHT, urgent=frozenset({"outage"})), {"outage"}, LATE, (LATE, None)),
        (replace(ROUTE, digest=(rule("09:00"),)), {"bgp"}, LATE, (datetime(2026, 9, 17, 7, tzinfo=UTC), "digest")),
        (replace(ROUTE, digest=(rule("09:00"),), urgent=frozenset({"bgp"})), {"bgp", "x"}, LATE, (LATE, None)),
        (
            replace(ROUTE, digest=(rule(None),), quiet=NIGHT),
            set(),
            LATE,
            (datetime(2026, 9, 17, 5, tzinfo=UTC), "digest"),
        ),
        (
            replace(ROUTE, digest=(rule(None),), quiet=NIGHT),
            set(),
            NOW,
            (datetime(2026, 9, 16, 15, tzinfo=UTC), "digest"),
        ),
    ],
)
def test_when_an_entry_is_due(
    route: Route, tags: set[str], now: datetime, expected: tuple[datetime, str | None]
) -> None:
    assert due_at(route, frozenset(tags), now) == expected


@given(
    minute=st.integers(0, 366 * 24 * 60),
    start=st.times(),
    end=st.times(),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns"]),
)
def test_nothing_is_due_in_the_past_or_within_quiet_hours(minute: int, start: time, end: time, zone: str) -> None:
    quiet = QuietHours(start=start.replace(second=0, microsecond=0), end=end.replace(second=0, microsecond=0))
    now = datetime(2026, 1, 1, tzinfo=UTC) + m(minute)
    until = quiet_until(quiet, ZoneInfo(zone), now)
    if until is not None:
        assert now < until <= now + h(25)
        assert quiet_until(quiet, ZoneInfo(zone), until) is None


def test_a_route_keeps_quiet_in_its_hours_about_all_but_what_is_urgent_there() -> None:
    night = Route(name="night", to=(), quiet=QuietHours(start=time(22), end=time(7)), timezone=BERLIN)
    urgent = replace(night, name="urgent", urgent=frozenset({"outage"}))
    routes = (night, urgent, replace(night, name="awake", quiet=None))
    late = datetime(2026, 9, 16, 21, tzinfo=UTC)
    morning = datetime(2026, 9, 17, 5, tzinfo=UTC)
    assert quiet_ends(routes, frozenset(), late) == (("night", morning), ("urgent", morning))
    assert quiet_ends(routes, frozenset({"outage"}), late) == (("night", morning),)
    assert quiet_ends(routes, frozenset(), NOW) == ()
