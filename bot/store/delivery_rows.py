"""A delivery's row, a destination's row, and the values made of them."""

import json

from bot.core.model.delivery import Attempt, Delivery, DeliveryKind, DeliveryState, Destination, Options
from bot.core.model.route import DestinationUid
from bot.store import records
from bot.store.sql import Row, Value, storable_or_none, to_ms, to_time, to_time_or_none

COLUMNS = (
    "idem, destination_uid, kind, entry_id, edit_no, bundle, due_at, wake_at, created_at, options, notice, remote_ref,"
    " place"
)


def to_columns(delivery: Delivery, *, entry_id: int | None, place: int | None = None) -> tuple[Value, ...]:
    due_at = to_ms(delivery.due_at)
    return (
        delivery.idem,
        delivery.destination,
        delivery.kind.value,
        entry_id,
        delivery.edit_no,
        storable_or_none(delivery.bundle),
        due_at,
        due_at,
        to_ms(delivery.created_at),
        records.dump(delivery.options),
        storable_or_none(delivery.notice),
        delivery.remote_ref,
        place,
    )


def to_delivery(row: Row) -> Delivery:
    return Delivery(
        id=row["id"],
        idem=row["idem"],
        destination=DestinationUid(row["destination_uid"]),
        kind=DeliveryKind(row["kind"]),
        seq=row["id"] if row["place"] is None else row["place"],
        entry_id=row["entry_id"],
        edit_no=row["edit_no"],
        bundle=row["bundle"],
        digest_id=row["digest_id"],
        due_at=to_time(row["due_at"]),
        created_at=to_time(row["created_at"]),
        state=DeliveryState(row["state"]),
        attempts=row["attempts"],
        first_try_at=to_time_or_none(row["first_try_at"]),
        looked_at=to_time_or_none(row["looked_at"]),
        looks=row["looks"],
        plain=bool(row["plain"]),
        late=bool(row["late"]),
        remote_ref=row["remote_ref"],
        rendered_hash=row["rendered_hash"],
        payload=None if row["payload"] is None else json.loads(row["payload"]),
        options=records.load(Options, row["options"]),
        notice=row["notice"],
        error=row["error"],
    )


def to_destination(row: Row) -> Destination:
    return Destination(
        uid=DestinationUid(row["uid"]),
        remote_id=row["remote_id"],
        not_before=to_time_or_none(row["not_before"]),
        failures=row["failures"],
        unwell_since=to_time_or_none(row["unwell_since"]),
        parked=row["parked"],
        parked_at=to_time_or_none(row["parked_at"]),
        probe_at=to_time_or_none(row["probe_at"]),
        unsubscribed=bool(row["unsubscribed"]),
        can_look_up=None if row["can_look_up"] is None else bool(row["can_look_up"]),
        epoch=row["epoch"],
    )


def to_attempt(row: Row) -> Attempt:
    return Attempt(at=to_time(row["at"]), outcome=row["outcome"], answer=row["answer"])
