"""Questions of the status site, the metrics and the commands: counts, and how things stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.model.delivery import WITHOUT_HISTORY, DeliveryState
from bot.core.model.feed import FeedId
from bot.core.model.route import DestinationUid
from bot.core.model.status import DestinationRow
from bot.store import destinations
from bot.store.delivery_rows import to_destination
from bot.store.sql import Tx, number_of, to_ms, to_time, to_time_or_none

LATE = "paused_at IS NULL AND stopped IS NULL AND :now - next_poll_at > 3 * interval_ms"
MANY_LATE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedCounts:
    """`late`: due for three of its intervals, neither paused nor stopped, and nobody has polled it."""

    feeds: int = 0
    failing: int = 0
    late: int = 0


def feed_counts(tx: Tx, now: datetime) -> FeedCounts:
    row = tx.row(
        f"SELECT COUNT(*) AS feeds, COUNT(error) AS failing, COUNT(CASE WHEN {LATE} THEN 1 END) AS late FROM feed"
        " WHERE gone_at IS NULL",
        now=to_ms(now),
    )
    return FeedCounts() if row is None else FeedCounts(**row)


def late_feeds(tx: Tx, now: datetime) -> Sequence[tuple[FeedId, datetime]]:
    """Late feeds, the first hundred of them, with the time at which each was due (for `/readyz`)."""
    rows = tx.rows(
        f"SELECT id, next_poll_at FROM feed WHERE gone_at IS NULL AND {LATE} ORDER BY next_poll_at, no LIMIT :limit",
        now=to_ms(now),
        limit=MANY_LATE,
    )
    return [(FeedId(row["id"]), to_time(row["next_poll_at"])) for row in rows]


def destination_rows(tx: Tx) -> Sequence[DestinationRow]:
    open_rows = {
        row["uid"]: row
        for row in tx.rows(
            "SELECT destination_uid AS uid, COUNT(*) AS n, MIN(due_at) AS oldest FROM delivery"
            " WHERE wake_at IS NOT NULL GROUP BY destination_uid"
        )
    }
    stuck = {
        (row["uid"], row["state"]): row["n"]
        for row in tx.rows(
            "SELECT destination_uid AS uid, state, COUNT(*) AS n FROM delivery"
            " WHERE state IN ('held', 'dead') AND digest_id IS NULL GROUP BY destination_uid, state"
        )
    }
    found = []
    for row in destinations.rows(tx):
        queue = open_rows.get(row["uid"])
        destination, why_not = to_destination(row), row["why_not"]
        never = WITHOUT_HISTORY.get(destination.uid.partition(":")[0])
        if destination.can_look_up is None and never is not None:
            destination, why_not = replace(destination, can_look_up=False), never
        found.append(
            DestinationRow(
                destination=destination,
                name=row["name"],
                why_not=why_not,
                last_sent_at=to_time_or_none(row["last_sent_at"]),
                waiting=0 if queue is None else queue["n"],
                held=stuck.get((row["uid"], "held"), 0),
                dead=stuck.get((row["uid"], "dead"), 0),
                oldest_due_at=None if queue is None else to_time(queue["oldest"]),
            )
        )
    return found


def delivery_counts(tx: Tx) -> Mapping[DeliveryState, int]:
    """How many rows are in each state; members of a digest do not count beside it."""
    counts = dict.fromkeys(DeliveryState, 0)
    # Open and stuck rows are few and indexed; the rest was sent.
    for row in tx.rows(
        "SELECT state, COUNT(*) AS n FROM delivery WHERE wake_at IS NOT NULL GROUP BY state UNION ALL"
        " SELECT state, COUNT(*) AS n FROM delivery WHERE state IN ('held', 'dead') AND digest_id IS NULL"
        " GROUP BY state"
    ):
        counts[DeliveryState(row["state"])] += row["n"]
    sent = "SELECT COUNT(*) AS n FROM delivery WHERE state = 'sent' AND digest_id IS NULL"
    return counts | {DeliveryState.SENT: number_of(tx, sent)}


def overdue(tx: Tx, now: datetime) -> Sequence[tuple[DestinationUid, datetime]]:
    """For each destination that nothing parks: since when its oldest due delivery waits (for `/readyz`)."""
    rows = tx.rows(
        "SELECT d.destination_uid AS uid, MIN(d.due_at) AS oldest FROM delivery d"
        " JOIN destination t ON t.uid = d.destination_uid WHERE d.wake_at IS NOT NULL AND d.due_at <= :now"
        " AND t.parked IS NULL AND t.unsubscribed = 0 AND t.gone_at IS NULL GROUP BY d.destination_uid ORDER BY oldest",
        now=to_ms(now),
    )
    return [(DestinationUid(row["uid"]), to_time(row["oldest"])) for row in rows]


def sizes(tx: Tx) -> Mapping[str, int]:
    """Rows of the large tables, and bytes on disk."""
    tables = ("feed", "entry", "seen", "delivery", "attempt", "destination")
    on_disk = (
        "SELECT pg_database_size(current_database()) AS n"
        if tx.shared
        else "SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size"
    )
    return {
        **{table: number_of(tx, f"SELECT COUNT(*) AS n FROM {table}") for table in tables},
        "bytes": number_of(tx, on_disk),
    }
