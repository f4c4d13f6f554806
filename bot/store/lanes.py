"""Lanes: one destination under a lease, and what it is owed, in order."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from bot import crash
from bot.core.errors import LeaseLost
from bot.core.model.delivery import Delivery, DeliveryKind, Lane, Owed
from bot.core.model.entry import Entry
from bot.store import deliveries, destinations, entries
from bot.store.delivery_rows import COLUMNS, to_columns, to_delivery, to_destination
from bot.store.sql import Row, Tx, Value, chunks, number_of, one_of, to_ms, to_time, to_time_or_none

ORDER = "ORDER BY COALESCE(place, id)"
DUE = "destination_uid = :uid AND wake_at IS NOT NULL AND wake_at <= :now"


def claim(
    tx: Tx,
    *,
    owner: str,
    now: datetime,
    until: datetime,
    skip: Collection[str],
    limit: int,
    grace: timedelta,
) -> Lane | None:
    """Take the destination that has been due for longest.

    A "sending" row there was left by somebody whose lease ran out: its outcome is unknown, and before the grace is
    over nothing may pass it.
    """
    where, params = _unskipped(skip)
    while True:
        row = tx.row(
            "UPDATE destination SET owner = :owner, epoch = epoch + 1, lease_until = :until, due_at = :until"
            f" WHERE uid = (SELECT uid FROM destination WHERE due_at <= :now{where} ORDER BY due_at LIMIT 1"
            f"{tx.skip_locked}) RETURNING *",
            owner=owner,
            now=to_ms(now),
            until=to_ms(until),
            **params,
        )
        if row is None:
            return None
        # Its last holder may have gone after a settlement that makes it wait, and before saying when it is due again.
        waits = (row["not_before"] or 0) > to_ms(now)
        if not waits and not forget_senders(tx, row["uid"], now=now, grace=grace):
            # None where its last holder died after the last row was settled.
            if lane := _lane(tx, row, now, limit):
                crash.point("send.claim_before_commit")
                return lane
        _let_go(tx, row["uid"])


def _lane(tx: Tx, row: Row, now: datetime, limit: int) -> Lane | None:
    first = owed(tx, row["uid"], now, limit)
    if not first:
        return None
    waiting, oldest = len(first), min(each.delivery.due_at for each in first)
    if waiting == limit:
        # There may be more; an older time than that of the first in order is possible where one is late.
        all_due = tx.row(
            f"SELECT COUNT(*) AS n, MIN(due_at) AS oldest FROM delivery WHERE {DUE}", uid=row["uid"], now=to_ms(now)
        )
        if all_due is not None:
            waiting, oldest = all_due["n"], to_time(all_due["oldest"])
    return Lane(destination=to_destination(row), owed=tuple(first), waiting=waiting, oldest_due_at=oldest)


def forget_senders(tx: Tx, uid: str, *, now: datetime, grace: timedelta) -> int:
    """Make every "sending" row of a destination "unknown", to be looked up when the grace since its last try is over.

    Returns how many must still wait. The clock may have been set back since: nobody waits longer than the grace.
    """
    waiting = 0
    for row in tx.rows(
        "SELECT id, last_try_at FROM delivery WHERE destination_uid = :uid AND state = 'sending'", uid=uid
    ):
        tried = to_time_or_none(row["last_try_at"]) or now
        look_at = min(max(tried + grace, now), now + grace)
        waiting += look_at > now
        tx.run(
            "UPDATE delivery SET state = 'unknown', wake_at = :at, error = :why WHERE id = :id",
            id=row["id"],
            at=to_ms(look_at),
            why="the process ended before the answer was recorded",
        )
        tx.run(
            f"UPDATE destination SET not_before = {tx.greatest}(COALESCE(not_before, 0), :at) WHERE uid = :uid",
            uid=uid,
            at=to_ms(look_at),
        )
    return waiting


def hold(tx: Tx, owner: str, uid: str, epoch: int) -> None:
    """Lock the destination's row. Raises LeaseLost if its lease is not ours."""
    row = tx.row(
        f"SELECT 1 AS one FROM destination WHERE uid = :uid AND epoch = :epoch AND owner = :owner{tx.for_update}",
        uid=uid,
        epoch=epoch,
        owner=owner,
    )
    if row is None:
        raise LeaseLost(f"the lease of {uid} is somebody else's")


def renew(tx: Tx, owner: str, uid: str, epoch: int, until: datetime) -> None:
    """Raises LeaseLost."""
    hold(tx, owner, uid, epoch)
    tx.run("UPDATE destination SET lease_until = :until WHERE uid = :uid", uid=uid, until=to_ms(until))
    destinations.reschedule(tx, [uid])


def release(tx: Tx, owner: str, uid: str, epoch: int) -> None:
    """Make the destination free again, from its next due row on; what is somebody else's by now is left alone."""
    _let_go(tx, uid, "AND epoch = :epoch AND owner = :owner", epoch=epoch, owner=owner)


def _let_go(tx: Tx, uid: str, only_if: str = "", **params: Value) -> None:
    """In one statement, or another replica might take the lane between the question whose it is and this."""
    touched = tx.run(
        f"UPDATE destination SET owner = NULL, lease_until = NULL WHERE uid = :uid {only_if}", uid=uid, **params
    )
    if touched:
        destinations.reschedule(tx, [uid])


def bind_digest(tx: Tx, owner: str, uid: str, *, epoch: int, digest: Delivery, members: Sequence[int]) -> None:
    """Raises LeaseLost where a member is no longer free: members are fixed for good (R-21)."""
    hold(tx, owner, uid, epoch)
    names, params = one_of("id", "m", list(members))
    free = f"{names} AND digest_id IS NULL AND state = 'pending' AND destination_uid = :uid"
    found = tx.row(
        f"SELECT COUNT(*) AS n, MIN(COALESCE(place, id)) AS place FROM delivery WHERE {free}", uid=uid, **params
    )
    if found is None or found["n"] != len(set(members)):
        raise LeaseLost(f"a digest for {uid} would take rows that are no longer free")
    tx.insert(
        f"INSERT INTO delivery ({COLUMNS})",
        [to_columns(digest, entry_id=None, place=found["place"])],
        "ON CONFLICT (idem) DO NOTHING",
    )
    row = tx.row("SELECT id FROM delivery WHERE idem = :idem", idem=digest.idem)
    if row is None:
        raise LeaseLost(f"the digest for {uid} was not stored")
    tx.run(f"UPDATE delivery SET digest_id = :id, wake_at = NULL WHERE {free}", id=row["id"], uid=uid, **params)
    destinations.reschedule(tx, [uid])


def due_rows(tx: Tx, uid: str, now: datetime) -> Sequence[Delivery]:
    """Every due row of a destination in order, without its entries."""
    return [to_delivery(row) for row in tx.rows(f"SELECT * FROM delivery WHERE {DUE} {ORDER}", uid=uid, now=to_ms(now))]


def owed(tx: Tx, uid: str, now: datetime, limit: int) -> list[Owed]:
    """The first due rows of a destination in order, with all that is needed to render them."""
    rows = tx.rows(f"SELECT * FROM delivery WHERE {DUE} {ORDER} LIMIT :limit", uid=uid, now=to_ms(now), limit=limit)
    return _with_entries(tx, rows)


def waiting(tx: Tx, now: datetime) -> int:
    """How many deliveries are due or will be retried, where nothing keeps a destination from taking them."""
    return number_of(
        tx,
        "SELECT COUNT(*) AS n FROM delivery d JOIN destination t ON t.uid = d.destination_uid"
        " WHERE d.wake_at IS NOT NULL AND (d.wake_at <= :now OR d.attempts > 0)"
        " AND t.parked IS NULL AND t.unsubscribed = 0 AND t.gone_at IS NULL",
        now=to_ms(now),
    )


def _with_entries(tx: Tx, rows: Sequence[Row]) -> list[Owed]:
    found = [to_delivery(row) for row in rows]
    members = deliveries.members(tx, [d.id for d in found if d.kind is DeliveryKind.DIGEST])
    wanted = [d.entry_id for d in found] + [m.entry_id for group in members.values() for m in group]
    stored = entries.by_id(tx, [entry_id for entry_id in wanted if entry_id is not None])
    originals = _originals(tx, [d for d in found if d.kind is DeliveryKind.EDIT])
    return [
        Owed(
            delivery=delivery,
            entries=_entries_of([delivery, *members.get(delivery.id, ())], stored),
            members=tuple(members.get(delivery.id, ())),
            original=originals.get(delivery.id),
        )
        for delivery in found
    ]


def _entries_of(rows: Sequence[Delivery], stored: dict[int, Entry]) -> tuple[Entry, ...]:
    return tuple(stored[row.entry_id] for row in rows if row.entry_id is not None and row.entry_id in stored)


def _originals(tx: Tx, edits: Sequence[Delivery]) -> dict[int, Delivery]:
    """What each edit changes: the message that told the entry to that destination, and no other entry with it."""
    found: dict[int, Delivery] = {}
    for part in chunks(edits):
        names, params = one_of("entry_id", "e", [edit.entry_id for edit in part])
        rows: Sequence[Row] = tx.rows(
            f"SELECT * FROM delivery WHERE {names} AND kind = 'entry' AND state = 'sent' AND digest_id IS NULL",
            **params,
        )
        sent = {(row["entry_id"], row["destination_uid"]): to_delivery(row) for row in rows}
        found |= {e.id: sent[key] for e in part if (key := (e.entry_id, e.destination)) in sent}
    return found


def _unskipped(skip: Collection[str]) -> tuple[str, dict[str, Value]]:
    """A condition that leaves out schemes, and single destinations given by their whole name."""
    names, params = one_of("uid", "u", sorted(name for name in skip if ":" in name))
    terms = f" AND NOT ({names})"
    for number, scheme in enumerate(sorted(name for name in skip if ":" not in name)):
        terms += f" AND uid NOT LIKE :skip{number}"
        params[f"skip{number}"] = f"{scheme}:%"
    return terms, params
