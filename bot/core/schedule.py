"""When: the next poll of a feed, the digest times and quiet hours of a route."""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from bot.core.model.feed import Feed, FeedId, FeedMemory
from bot.core.model.route import DigestRule, QuietHours, Route

MAX_POLL_INTERVAL = timedelta(hours=24)  # P6: what headers and feeds can make of an interval
MAX_RETRY_AFTER = timedelta(days=31)  # P9
GONE_WAIT = timedelta(days=1)  # N24: a 410 is asked again at most once a day
JITTER = 0.1  # P7: of the wait, later only
MAX_DOUBLINGS = 20  # more would overflow a timedelta; the cap is reached long before

MANY_FEEDS = 50  # that many first polls at once trouble nobody
FIRST_POLL_GAP = timedelta(milliseconds=20)  # between first polls, where there are more
MAX_FIRST_POLL_SPREAD = timedelta(minutes=15)

DIGEST = "digest"  # the bundle of everything that a route keeps for its digest times

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LONGEST_SKIP = 8 * 24  # hours; a week and a day holds every combination of skipped hours and days


# --- polls -----------------------------------------------------------------------------------------------------------


def poll_interval(feed: Feed, *, has_validators: bool) -> timedelta:
    """Return the configured interval, raised to the floor of P5; a feed of one's own has none."""
    if feed.own:
        return feed.interval
    return max(feed.interval, feed.floor if has_validators else feed.blind_floor)


def next_poll_at(
    feed: Feed,
    memory: FeedMemory,
    *,
    now: datetime,
    roll: float,
    has_validators: bool,
    failures: int = 0,
    max_age: timedelta | None = None,
    asked: timedelta | None = None,
    gone: bool = False,
) -> datetime:
    """Return the next time to poll `feed`.

    The interval is raised to P5's floor, to the answer's `max_age` and to the feed's own ttl; it doubles with each of
    the `failures` in a row, the one just seen included; neither makes it longer than a day. A longer wait that the
    server `asked` for (Retry-After) wins, and so does the day after a 410 (`gone`). `roll`, in [0, 1), adds up to a
    tenth, so that feeds do not all wake together and none wakes before it was asked to; then hours and days that the
    feed excludes are skipped.
    """
    interval = poll_interval(feed, has_validators=has_validators)
    wait = max(interval, min(MAX_POLL_INTERVAL, max(max_age or interval, memory.ttl or interval)))
    if failures > 0:
        wait = max(wait, min(feed.backoff_cap, wait * (1 << min(failures, MAX_DOUBLINGS))))
    until = asked_until(now=now, asked=asked, gone=gone)
    if until is not None:
        wait = max(wait, until - now)
    return _skip(now + wait * (1 + JITTER * roll), hours=memory.skip_hours, days=memory.skip_days)


def asked_until(*, now: datetime, asked: timedelta | None = None, gone: bool = False) -> datetime | None:
    """Return until when the server itself wants peace (FeedState.asked_until): `once` and pokes keep that too."""
    waits = [GONE_WAIT] if gone else []
    if asked is not None and asked > timedelta(0):
        waits.append(min(asked, MAX_RETRY_AFTER))
    return now + max(waits) if waits else None


def first_poll_at(feed_id: FeedId, *, now: datetime, feeds: int = 1) -> datetime:
    """Return when a feed is polled for the first time: now, or a little later where `feeds` come at once.

    The place within the spread is the feed's own (P7), so that many feeds keep apart from then on.
    """
    if feeds <= MANY_FEEDS:
        return now
    return now + min(MAX_FIRST_POLL_SPREAD, FIRST_POLL_GAP * feeds) * phase(feed_id)


def phase(feed_id: FeedId) -> float:
    """Return a feed's own number in [0, 1), the same on every machine and after every restart."""
    digest = hashlib.blake2b(feed_id.encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def _skip(at: datetime, *, hours: Sequence[int], days: Sequence[str]) -> datetime:
    """Return the first moment from `at` on, in steps of an hour, that the feed does not exclude (GMT).

    The minutes stay, so that the end of a pause is no rush hour. A feed that excludes everything is not believed.
    """
    if not hours and not days:
        return at
    closed_hours = {hour % 24 for hour in hours}  # RSS 0.91 counts from 1 to 24
    closed_days = {day.lower() for day in days}
    for step in range(_LONGEST_SKIP):
        moment = (at + _HOUR * step).astimezone(UTC)
        if moment.hour not in closed_hours and _DAY_NAMES[moment.weekday()] not in closed_days:
            return at + _HOUR * step
    return at


# --- routes ----------------------------------------------------------------------------------------------------------


def due_at(route: Route, tags: frozenset[str], now: datetime) -> tuple[datetime, str | None]:
    """Return when an entry with these folded tags is due on a route, and the bundle it waits in, if any.

    An urgent tag breaks through digest and quiet hours. A digest whose time lies in quiet hours waits for their end.
    """
    if route.urgent & tags:
        return now, None
    at = next_digest_at(route.digest, route.timezone, now) if route.digest else now
    if route.quiet is not None:
        at = quiet_until(route.quiet, route.timezone, at) or at
    return at, DIGEST if route.digest else None


def quiet_ends(routes: Sequence[Route], tags: frozenset[str], now: datetime) -> tuple[tuple[str, datetime], ...]:
    """Return the routes that keep quiet now about an entry with these folded tags, each with the end of that."""
    ends = (
        (route.name, quiet_until(route.quiet, route.timezone, now))
        for route in routes
        if route.quiet is not None and not route.urgent & tags
    )
    return tuple((name, end) for name, end in ends if end is not None)


def digest_heading(rules: Sequence[DigestRule]) -> str:
    """Name a digest by its rhythm."""
    if any(rule.at is None for rule in rules):
        return "hourly digest"
    days = frozenset[int]().union(*(rule.weekdays for rule in rules))
    if len(days) == 1:
        return "weekly digest"
    return "daily digest" if days >= frozenset(range(5)) else "digest"


def next_digest_at(rules: Sequence[DigestRule], zone: ZoneInfo, after: datetime) -> datetime:
    """Return the first digest time later than `after`, in UTC. `rules` must not be empty (small print 20)."""
    return min(_next_of(rule, zone, after) for rule in rules)


def quiet_until(quiet: QuietHours, zone: ZoneInfo, at: datetime) -> datetime | None:
    """Return the end of the quiet hours that `at` lies in, in UTC, or None.

    Hours are compared as moments, not as clock readings: where the clock goes back, an end that comes twice ends
    the quiet hours the first time.
    """
    today = at.astimezone(zone).date()
    for day in (today - _DAY, today):
        start = _moment(day, quiet.start, zone)
        end = _moment(day if quiet.end > quiet.start else day + _DAY, quiet.end, zone)
        if start <= at < end and quiet.start != quiet.end:
            return end
    return None


def _next_of(rule: DigestRule, zone: ZoneInfo, after: datetime) -> datetime:
    moments = _full_hours(zone, after) if rule.at is None else _daily(rule.at, zone, after)
    return next(at for at in moments if at > after and at.astimezone(zone).weekday() in rule.weekdays)


def _full_hours(zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    at = after.astimezone(UTC)
    while True:
        local = at.astimezone(zone)
        past = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        at += _HOUR - past
        # A clock that moves by half an hour (Lord Howe) leaves the full hour to the next step.
        if at.astimezone(zone).minute == 0:
            yield at


def _daily(at: time, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    # The day before counts: a time that it does not have may come today (a zone that skips a whole day).
    day = after.astimezone(zone).date() - _DAY
    while True:
        yield _moment(day, at, zone)
        day += _DAY


def _moment(day: date, at: time, zone: ZoneInfo) -> datetime:
    """Return a local time as UTC: the first of two, the next existing one where the clock jumps over it."""
    naive = datetime.combine(day, at)
    while True:
        moment = naive.replace(tzinfo=zone).astimezone(UTC)
        if moment.astimezone(zone).replace(tzinfo=None) == naive:
            return moment
        # Clocks jump at whole minutes, so the first existing one is the end of the jump.
        naive += timedelta(minutes=1)
