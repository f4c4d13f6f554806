"""What an attempt meant, written: to the delivery, its digest's members, its destination and its attempts."""

import json
from collections.abc import Sequence
from datetime import datetime

from bot import crash
from bot.core.errors import LeaseLost
from bot.core.model.delivery import (
    Dead,
    Delivery,
    DeliveryKind,
    Held,
    Parked,
    RetryAt,
    Sent,
    Settlement,
    Unknown,
    outcome_of,
)
from bot.core.model.message import Payload
from bot.core.model.plan import Notice
from bot.core.model.route import DestinationUid
from bot.store import deliveries, destinations, lanes
from bot.store.sql import Row, Tx, storable, to_ms

ATTEMPTS_KEPT = 20  # of a delivery, for `why`
MAX_ANSWER = 500


def begin(tx: Tx, owner: str, delivery: Delivery, payload: Payload, *, epoch: int, now: datetime) -> None:
    """Write the intent to send (R-13). Raises LeaseLost where the lane, or the delivery, is not ours."""
    lanes.hold(tx, owner, delivery.destination, epoch)
    touched = tx.run(
        "UPDATE delivery SET state = 'sending', payload = :payload, rendered_hash = :rendered_hash,"
        " attempts = attempts + 1, first_try_at = COALESCE(first_try_at, :now), last_try_at = :now, looks = 0,"
        " looked_at = NULL WHERE id = :id AND state = 'pending' AND digest_id IS NULL",
        id=delivery.id,
        payload=json.dumps(payload),
        rendered_hash=delivery.rendered_hash,
        now=to_ms(now),
    )
    if not touched:
        raise LeaseLost(f"delivery {delivery.idem} is not pending any more")


def settle(
    tx: Tx,
    owner: str,
    delivery: Delivery,
    result: Settlement,
    *,
    epoch: int,
    now: datetime,
    notices: Sequence[Notice],
    ops: DestinationUid | None,
) -> None:
    """Write a result and what it means for others. Raises LeaseLost where the lane, or the delivery, is not ours."""
    lanes.hold(tx, owner, delivery.destination, epoch)
    row = tx.row(
        "SELECT id, kind, state, destination_uid, entry_id, error, rendered_hash FROM delivery WHERE id = :id",
        id=delivery.id,
    )
    # What was given up while it was on its way, for its route is gone, has arrived all the same.
    late = ("dead",) if isinstance(result, Sent) else ()
    if row is None or row["state"] not in ("pending", "sending", "unknown", *late):
        raise LeaseLost(f"delivery {delivery.idem} was settled by somebody else")
    _write(tx, row, delivery, result, now)
    _note(tx, row, result, now)
    # Our own lane is ours until its release, which reckons when it is due again.
    touched = _others(tx, delivery, result, now)
    if notices:
        crash.point("dead.before_alert")
        if ops is not None:
            destinations.lock(tx, [ops])
            touched.add(ops)
        deliveries.tell(tx, notices, ops, now)
    destinations.reschedule(tx, touched - {delivery.destination})


def _write(tx: Tx, row: Row, delivery: Delivery, result: Settlement, now: datetime) -> None:
    match result:
        case Sent():
            _sent(tx, row, delivery, result, now)
        case RetryAt():
            crash.point("retry.before_commit")
            _retry(tx, row, result, now)
        case Unknown():
            _unknown(tx, row, result, now)
        case Parked():
            _parked(tx, row, result, now)
        case Held():
            _end(tx, row, "held", result.why, now)
        case Dead():
            _end(tx, row, "dead", result.why, now)


def _sent(tx: Tx, row: Row, delivery: Delivery, result: Sent, now: datetime) -> None:
    ref = result.receipt.remote_ref
    tx.run(
        "UPDATE delivery SET state = 'sent', wake_at = NULL, payload = NULL, error = NULL, settled_at = :now,"
        " remote_ref = COALESCE(CAST(:ref AS TEXT), remote_ref),"
        " rendered_hash = COALESCE(CAST(:rendered AS TEXT), rendered_hash) WHERE id = :id OR digest_id = :id",
        id=row["id"],
        ref=ref,
        rendered=delivery.rendered_hash,
        now=to_ms(now),
    )
    if row["kind"] == DeliveryKind.EDIT.value:
        # The next edit compares with what readers see now.
        tx.run(
            "UPDATE delivery SET rendered_hash = COALESCE(CAST(:rendered AS TEXT), rendered_hash) WHERE kind = 'entry'"
            " AND entry_id = :entry_id AND destination_uid = :uid",
            rendered=delivery.rendered_hash or row["rendered_hash"],
            entry_id=row["entry_id"],
            uid=row["destination_uid"],
        )
    tx.run(
        "UPDATE destination SET failures = 0, unwell_since = NULL, not_before = NULL, last_sent_at = :now,"
        " remote_id = COALESCE(CAST(:remote_id AS TEXT), remote_id) WHERE uid = :uid",
        uid=row["destination_uid"],
        remote_id=result.receipt.remote_id,
        now=to_ms(now),
    )


def _retry(tx: Tx, row: Row, result: RetryAt, now: datetime) -> None:
    """Surely not sent. The destination waits; only what fails `alone` steps aside and lets others pass (R-20)."""
    at = to_ms(result.at)
    # A rejected rich form is tried again at once, in its own place: nobody passes it, so it is not late.
    aside = result.alone and not result.plain
    tx.run(
        "UPDATE delivery SET state = 'pending', error = :why, plain = CASE WHEN :plain = 1 THEN 1 ELSE plain END,"
        " late = CASE WHEN :aside = 1 THEN 1 ELSE late END, wake_at = CASE WHEN :alone = 1 THEN :at ELSE due_at END,"
        " due_at = CASE WHEN :aside = 1 THEN :at ELSE due_at END WHERE id = :id",
        id=row["id"],
        why=storable(result.why),
        plain=int(result.plain),
        aside=int(aside),
        alone=int(result.alone),
        at=at,
    )
    if not result.plain:
        _put_off(tx, row["destination_uid"], at, failed=not result.throttled, alone=result.alone, now=now)


def _unknown(tx: Tx, row: Row, result: Unknown, now: datetime) -> None:
    """Nobody passes what may or may not have arrived: the destination waits for the look-up too (R-20).

    Only where the next one went through although this one did not, the others go on.
    """
    tx.run(
        "UPDATE delivery SET state = 'unknown', wake_at = :at, error = :why, looks = looks + :absent,"
        " late = CASE WHEN :alone = 1 THEN 1 ELSE late END,"
        " looked_at = CASE WHEN :absent = 1 THEN :now ELSE looked_at END WHERE id = :id",
        id=row["id"],
        at=to_ms(result.look_at),
        why=storable(result.why),
        absent=int(result.absent),
        alone=int(result.alone),
        now=to_ms(now),
    )
    look_at = to_ms(result.look_at)
    _put_off(tx, row["destination_uid"], look_at, failed=result.failed, alone=result.alone, now=now)


def _put_off(tx: Tx, uid: str, at: int, *, failed: bool, alone: bool, now: datetime) -> None:
    """Let an unwell destination wait until `at`, but for what is one message's own affair (`alone`).

    A head and the next one that were both tried are both waited for.
    """
    tx.run(
        "UPDATE destination SET failures = failures + :failed, unwell_since = COALESCE(unwell_since, :now),"
        f" not_before = CASE WHEN :alone = 1 THEN not_before ELSE {tx.greatest}(COALESCE(not_before, 0), :at) END"
        " WHERE uid = :uid",
        uid=uid,
        failed=int(failed),
        now=to_ms(now),
        alone=int(alone),
        at=at,
    )


def _parked(tx: Tx, row: Row, result: Parked, now: datetime) -> None:
    # What was looked for stays unknown: parking says nothing about what may have arrived before.
    tx.run(
        "UPDATE delivery SET state = CASE WHEN state = 'unknown' THEN 'unknown' ELSE 'pending' END, error = :why,"
        " wake_at = CASE WHEN state = 'unknown' THEN wake_at ELSE due_at END WHERE id = :id",
        id=row["id"],
        why=storable(result.why),
    )
    _park(tx, "uid = :uid", row["destination_uid"], result, now)


def _park(tx: Tx, where: str, uid: str, result: Parked, now: datetime) -> None:
    tx.run(
        "UPDATE destination SET parked = :reason, parked_at = COALESCE(parked_at, :now), probe_at = :probe_at,"
        f" unwell_since = COALESCE(unwell_since, :now) WHERE {where} AND unsubscribed = 0",
        uid=uid,
        reason=storable(result.why),
        now=to_ms(now),
        probe_at=to_ms(result.probe_at),
    )


def _end(tx: Tx, row: Row, state: str, why: str, now: datetime) -> None:
    tx.run(
        "UPDATE delivery SET state = :state, wake_at = NULL, error = :why, settled_at = :now,"
        " payload = CASE WHEN :state = 'dead' THEN NULL ELSE payload END WHERE id = :id OR digest_id = :id",
        id=row["id"],
        state=state,
        why=storable(why),
        now=to_ms(now),
    )


def _others(tx: Tx, delivery: Delivery, result: Settlement, now: datetime) -> set[str]:
    """A token that is refused closes every destination that uses it at once (R-18)."""
    if not isinstance(result, Parked) or not result.account:
        return set()
    found: set[str] = set()
    for pattern in destinations.same_token(delivery.destination):
        rows = tx.rows(f"SELECT uid FROM destination WHERE uid LIKE :uid ORDER BY uid{tx.for_update}", uid=pattern)
        found.update(row["uid"] for row in rows)
        _park(tx, "uid LIKE :uid", pattern, result, now)
    return found


def _note(tx: Tx, row: Row, result: Settlement, now: datetime) -> None:
    outcome, answer = outcome_of(result)
    if isinstance(result, RetryAt) and result.plain:
        outcome = "rejected"
    elif isinstance(result, Unknown) and result.absent:
        outcome = "absent"
    tx.run(
        "INSERT INTO attempt (delivery_id, at, outcome, answer) VALUES (:id, :at, :outcome, :answer)",
        id=row["id"],
        at=to_ms(now),
        outcome=outcome,
        answer=storable((answer or "")[:MAX_ANSWER]),
    )
    if row["error"] is not None:
        # Only one that has failed before can have many.
        tx.run(
            "DELETE FROM attempt WHERE delivery_id = :id AND id <="
            " (SELECT id FROM attempt WHERE delivery_id = :id ORDER BY id DESC LIMIT 1 OFFSET :kept)",
            id=row["id"],
            kept=ATTEMPTS_KEPT,
        )
