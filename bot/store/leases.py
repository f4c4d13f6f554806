"""Named leases for what only one replica may do, and requests that are taken once."""

from datetime import datetime

from bot.core.errors import LeaseLost
from bot.store.sql import Tx, storable, to_ms


def take(tx: Tx, name: str, owner: str, now: datetime, until: datetime) -> int | None:
    """Take or keep a lease; return its epoch, or None if somebody else has it."""
    row = tx.row(
        "INSERT INTO lease (name, owner, epoch, until) VALUES (:name, :owner, 1, :until)"
        " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until, epoch = lease.epoch + 1"
        " WHERE lease.owner IS NULL OR lease.owner = excluded.owner OR lease.until <= :now RETURNING epoch",
        name=name,
        owner=owner,
        until=to_ms(until),
        now=to_ms(now),
    )
    return None if row is None else int(row["epoch"])


def renew(tx: Tx, name: str, owner: str, epoch: int, until: datetime) -> None:
    """Raises LeaseLost."""
    touched = tx.run(
        "UPDATE lease SET until = :until WHERE name = :name AND owner = :owner AND epoch = :epoch",
        name=name,
        owner=owner,
        epoch=epoch,
        until=to_ms(until),
    )
    if not touched:
        raise LeaseLost(f"the lease {name} is somebody else's")


def release(tx: Tx, name: str, owner: str, epoch: int) -> None:
    """Make it free again; what is somebody else's by now is left alone."""
    tx.run(
        "UPDATE lease SET owner = NULL, until = NULL WHERE name = :name AND owner = :owner AND epoch = :epoch",
        name=name,
        owner=owner,
        epoch=epoch,
    )


def first_time(tx: Tx, request_id: str, now: datetime, until: datetime) -> bool:
    """Whether this request was not taken before; it is remembered until `until`."""
    tx.run("DELETE FROM inbound_seen WHERE until <= :now", now=to_ms(now))
    touched = tx.run(
        "INSERT INTO inbound_seen (id, until) VALUES (:id, :until) ON CONFLICT (id) DO NOTHING",
        id=storable(request_id),
        until=to_ms(until),
    )
    return touched > 0
