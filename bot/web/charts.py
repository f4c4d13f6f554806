"""Small charts as positions for inline SVG: computed here, drawn by a template, coloured by the CSS."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.core.model.status import Delay
from bot.telemetry.polls import Polls
from bot.web.moments import Moments, in_words, plural

WIDTH = 320
HEIGHT = 88
GAP = 2.0
WIDEST = 24.0  # of a column with its gap: few of them stay columns
LEAST = 2.0  # so that one of many is still seen
LABELS = 4
LABEL_WIDTH = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One column; `parts` are (kind, y, height) from the bottom up."""

    x: float
    width: float
    parts: tuple[tuple[str, float, float], ...]
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    x: float
    anchor: str  # start, middle, end
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    title: str
    summary: str
    bars: tuple[Bar, ...]
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What a column shows: values by kind, stacked; what it says when pointed at; what stands below it."""

    values: tuple[tuple[str, float], ...]
    caption: str
    label: str


def entries_chart(weeks: Sequence[tuple[datetime, int]], at: Moments) -> Chart:
    at = _in_utc(at)
    columns = [
        Column(
            values=(("main", count),), caption=f"Week of {at.day(week)}: {plural_entries(count)}", label=at.month(week)
        )
        for week, count in weeks
    ]
    summary = f"{plural_entries(sum(count for _, count in weeks))} in {plural(len(weeks), 'week')}"
    return draw("Entries by week", summary, columns)


def delay_chart(delays: Sequence[Delay], at: Moments, *, days: int) -> Chart:
    """Each of the last days has its place, also those on which nothing was sent."""
    at = _in_utc(at)
    known = {one.day.date(): one for one in delays}
    columns = []
    for back in reversed(range(days)):
        day = at.now.astimezone(UTC) - timedelta(days=back)
        columns.append(_delay_column(known.get(day.date()), day, at))
    longest = max((one.longest for one in delays), default=timedelta(0))
    middle = sorted(one.median for one in delays)[len(delays) // 2] if delays else timedelta(0)
    return draw("From due to sent", f"{_short(middle)} on a usual day, {_short(longest)} at most", columns)


def polls_chart(polls: Sequence[Polls], at: Moments) -> Chart:
    columns = [
        Column(
            values=(("main", one.ok), ("bad", one.failed)),
            caption=f"{at.moment(one.hour)}: {plural(one.ok + one.failed, 'poll')}, {one.failed} failed",
            label=at.clock(one.hour),
        )
        for one in polls
    ]
    done, failed = sum(one.ok + one.failed for one in polls), sum(one.failed for one in polls)
    return draw("Polls by hour", f"{plural(done, 'poll')}, {failed or 'none'} failed", columns)


def draw(title: str, summary: str, columns: Sequence[Column]) -> Chart:
    """Return the chart of `columns`; the highest fills the height."""
    top = max((sum(value for _, value in column.values) for column in columns), default=0) or 1
    slot = min(WIDEST, WIDTH / max(1, len(columns)))
    width = round(max(1.0, slot - GAP), 2)
    bars = tuple(
        Bar(
            x=round(number * slot + (slot - width) / 2, 2),
            width=width,
            parts=_stack(column.values, top),
            caption=column.caption,
        )
        for number, column in enumerate(columns)
    )
    return Chart(title=title, summary=summary, bars=bars, labels=_labels(columns, slot))


def _in_utc(at: Moments) -> Moments:
    """The store counts by days of UTC: in any other zone they would begin the evening before, or have another name."""
    return Moments(now=at.now, zone=UTC)


def _labels(columns: Sequence[Column], slot: float) -> tuple[Label, ...]:
    last = len(columns) - 1
    count = max(1, min(LABELS, len(columns), int(len(columns) * slot // LABEL_WIDTH)))
    marks = [round(n * last / (count - 1)) for n in range(count)] if count > 1 else [0] * bool(columns)
    found = []
    for number in marks:
        anchor = "start" if number == 0 else "end" if number == last else "middle"
        x = {"start": 0.0, "end": len(columns) * slot, "middle": (number + 0.5) * slot}[anchor]
        found.append(Label(x=round(x, 2), anchor=anchor, text=columns[number].label))
    return tuple(found)


def _stack(values: Sequence[tuple[str, float]], top: float) -> tuple[tuple[str, float, float], ...]:
    parts = []
    bottom = float(HEIGHT)
    for kind, value in values:
        height = min(bottom, max(LEAST, value / top * HEIGHT)) if value > 0 else 0.0
        bottom -= height
        if height:
            parts.append((kind, round(bottom, 2), round(height, 2)))
    return tuple(parts)


def _delay_column(found: Delay | None, day: datetime, at: Moments) -> Column:
    if found is None:
        return Column(values=(), caption=f"{at.day(day)}: nothing sent", label=at.short_day(day))
    words = f"{plural(found.count, 'message')}, {_short(found.median)} in the middle, {_short(found.longest)} at most"
    value = found.median.total_seconds()
    return Column(values=(("main", value),), caption=f"{at.day(day)}: {words}", label=at.short_day(day))


def _short(span: timedelta) -> str:
    seconds = span.total_seconds()
    if 0 < seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else in_words(span)


def plural_entries(count: int) -> str:
    return plural(count, "entry", "entries")
