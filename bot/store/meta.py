"""A few facts about the state as a whole: its schema, the last write, whether the last stop was clean."""

from datetime import datetime, timedelta

from bot.store.sql import Tx, storable, to_ms, to_time

EXACTNESS = timedelta(minutes=1)  # of the time of the last write; the rules that read it count in minutes and days


def get(tx: Tx, name: str) -> str | None:
    row = tx.row("SELECT value FROM meta WHERE name = :name", name=storable(name))
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


def touch(tx: Tx, now: datetime) -> None:
    """Remember when something was written."""
    put(tx, "last_write", str(to_ms(now)))


def key(tx: Tx, proposed: str) -> str:
    """This state's secret: `proposed` if it has none yet."""
    tx.run(
        "INSERT INTO meta (name, value) VALUES ('key', :value) ON CONFLICT (name) DO NOTHING",
        value=proposed,
    )
    return get(tx, "key") or proposed
