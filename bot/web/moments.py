"""Dates and spans in words, against one now and in one zone."""

from datetime import datetime, timedelta, tzinfo

from bot.core.model.entry import Entry
from bot.core.render import display_date, display_day

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
NEAR = timedelta(seconds=5)
FAR = timedelta(days=14)  # from here on a date says more than a count of days


class Moments:
    """Dates as one page prints them."""

    def __init__(self, *, now: datetime, zone: tzinfo) -> None:
        self.now = now
        self._zone = zone

    def entry(self, entry: Entry) -> str:
        """A day is a day; it goes through no zone."""
        return display_date(entry, timezone=self._zone)

    def moment(self, at: datetime) -> str:
        """Return "16 Sep 2026, 14:05"."""
        return f"{self.day(at)}, {self.clock(at)}"

    def exact(self, at: datetime) -> str:
        return f"{self.day(at)}, {at.astimezone(self._zone):%H:%M:%S %Z}"

    def day(self, at: datetime) -> str:
        return display_day(at.astimezone(self._zone))

    def short_day(self, at: datetime) -> str:
        return self.day(at).rpartition(" ")[0]

    def month(self, at: datetime) -> str:
        return self.day(at).partition(" ")[2]

    def clock(self, at: datetime) -> str:
        return f"{at.astimezone(self._zone):%H:%M}"

    def ago(self, at: datetime) -> str:
        """Return "3 minutes ago", "in 2 hours", or the day where that is far."""
        span = self.now - at
        if abs(span) < NEAR:
            return "just now"
        if abs(span) >= FAR:
            return self.day(at)
        return f"{in_words(span)} ago" if span > timedelta(0) else f"in {in_words(-span)}"

    def iso(self, at: datetime) -> str:
        return at.isoformat(timespec="seconds")


def in_words(span: timedelta) -> str:
    """Return a span in its largest unit: "90 seconds" is "1 minute"."""
    seconds = int(span.total_seconds())
    for unit, name in _UNITS:
        if seconds >= unit:
            return plural(seconds // unit, name)
    return plural(seconds, "second")


def plural(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
