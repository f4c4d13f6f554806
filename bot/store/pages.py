"""Questions that only the status site asks. Each reads a bounded part of the large tables, so that no page is slow."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from statistics import median

from bot.core.model.feed import FeedId
from bot.core.model.status import Delay, Totals
from bot.store.database import Database
from bot.store.sql import Tx, number_of, to_ms, to_time

LATELY = timedelta(hours=24)
DEAD_SHOWN = timedelta(days=7)
NEWEST = 20_000  # rows that charts and counts look at
WEEK_MS = 7 * 86_400_000
MONDAY_MS = 4 * 86_400_000  # the first Monday after 1 January 1970, a Thursday


def entry_counts(tx: Tx) -> Mapping[FeedId, int]:
    return {FeedId(row["id"]): row["entries"] for row in tx.rows("SELECT id, entries FROM feed WHERE gone_at IS NULL")}


def totals(tx: Tx, now: datetime) -> Totals:
    return Totals(
        entries=number_of(tx, "SELECT SUM(entries) AS n FROM feed WHERE gone_at IS NULL"),
        sent_lately=number_of(
            tx,
            "SELECT COUNT(*) AS n FROM delivery WHERE id > (SELECT MAX(id) FROM delivery) - :newest"
            " AND state = 'sent' AND digest_id IS NULL AND settled_at >= :since",
            newest=NEWEST,
            since=to_ms(now - LATELY),
        ),
        waiting=number_of(tx, "SELECT COUNT(*) AS n FROM delivery WHERE wake_at IS NOT NULL"),
        held=number_of(tx, "SELECT COUNT(*) AS n FROM delivery WHERE state = 'held' AND digest_id IS NULL"),
        dead=number_of(
            tx,
            "SELECT COUNT(*) AS n FROM delivery WHERE state = 'dead' AND digest_id IS NULL AND settled_at >= :since",
            since=to_ms(now - DEAD_SHOWN),
        ),
    )


def entries_by_week(tx: Tx, now: datetime, weeks: int) -> Sequence[tuple[datetime, int]]:
    """Each week's Monday and how many entries are dated in it, oldest first, none left out."""
    last = (to_ms(now) - MONDAY_MS) // WEEK_MS
    first = last - weeks + 1
    rows = tx.rows(
        "SELECT (sort_at - :monday) / :week AS n, COUNT(*) AS found FROM entry WHERE sort_at >= :since GROUP BY 1",
        monday=MONDAY_MS,
        week=WEEK_MS,
        since=first * WEEK_MS + MONDAY_MS,
    )
    found = {row["n"]: row["found"] for row in rows}
    return [(to_time(week * WEEK_MS + MONDAY_MS), found.get(week, 0)) for week in range(first, last + 1)]


def delays_by_day(tx: Tx, now: datetime, days: int) -> Sequence[Delay]:
    """Days on which something was sent, oldest first."""
    midnight = datetime.combine(now.astimezone(UTC).date(), time(), UTC)
    rows = tx.rows(
        "SELECT settled_at, due_at FROM delivery WHERE id > (SELECT MAX(id) FROM delivery) - :newest"
        " AND state = 'sent' AND digest_id IS NULL AND settled_at >= :since",
        newest=NEWEST,
        since=to_ms(midnight - timedelta(days=days - 1)),
    )
    by_day: dict[datetime, list[int]] = {}
    for row in rows:
        day = datetime.combine(to_time(row["settled_at"]).date(), time(), UTC)
        by_day.setdefault(day, []).append(max(0, row["settled_at"] - row["due_at"]))
    return [
        Delay(
            day=day,
            median=timedelta(milliseconds=median(spans)),
            longest=timedelta(milliseconds=max(spans)),
            count=len(spans),
        )
        for day, spans in sorted(by_day.items())
    ]


class Pages:
    """The part of the Store behind the status site."""

    _db: Database

    async def entry_counts(self) -> Mapping[FeedId, int]:
        """How many entries each active feed has had."""
        return await self._db.read(entry_counts)

    async def totals(self, *, now: datetime) -> Totals:
        return await self._db.read(totals, now)

    async def entries_by_week(self, *, now: datetime, weeks: int) -> Sequence[tuple[datetime, int]]:
        return await self._db.read(entries_by_week, now, weeks)

    async def delays_by_day(self, *, now: datetime, days: int) -> Sequence[Delay]:
        return await self._db.read(delays_by_day, now, days)
