"""A few facts about the state as a whole: its schema, the last write, whether the last stop was clean."""

from datetime import datetime

from bot.store.sql import Tx, to_ms, to_time

TOUCH_MS = 60_000  # how exact the time of the last write is; the rules that read it count in minutes and days


def get(tx: Tx, name: str) -> str | None:
    row = tx.row("SELECT value FROM meta WHERE name = :name", name=name)
    return None if row is None else str(row["value"])


def put(tx: Tx, name: str, value: str) -> None:
    tx.run(
        "INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name=name,
        value=value,
    )


def last_write(tx: Tx) -> datetime | None:
    value = get(tx, "last_write")
    return None if value is None else to_time(int(value))


def touch(tx: Tx, now: datetime, *, exactly: bool = False) -> None:
    """Remember that something was written; seldom, so that replicas do not queue for one row."""
    before = get(tx, "last_write")
    if exactly or before is None or abs(to_ms(now) - int(before)) > TOUCH_MS:
        put(tx, "last_write", str(to_ms(now)))
