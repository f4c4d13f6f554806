"""Destinations: their waiting, parking and waking. Who sends to one stands in lanes.py."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from bot.core.model.delivery import Probe
from bot.core.model.route import DestinationUid
from bot.store.sql import Row, Tx, Value, chunks, one_of, storable, to_ms

# Schemes that send by one and the same token.
SAME_TOKEN = {"discord": ("discord", "discord-user"), "discord-user": ("discord", "discord-user")}
MAX_WAIT = timedelta(days=2)  # longer than any rule makes one wait: only a clock that was set back does
OPEN = "wake_at IS NOT NULL"


def reschedule(tx: Tx, uids: Collection[str]) -> None:
    """Say anew when a claim may take these: at the first row's time, but not before whatever they wait for.

    Their rows must be locked by now: a statement that waits for a lock sees the deliveries as they were before.
    """
    waits = (
        "COALESCE(not_before, 0), CASE WHEN parked IS NULL THEN 0 ELSE COALESCE(probe_at, 0) END,"
        " COALESCE(lease_until, 0)"
    )
    for part in chunks(sorted(uids)):
        names, params = one_of("uid", "u", part)
        tx.run(
            "UPDATE destination SET due_at = CASE"
            " WHEN gone_at IS NOT NULL OR unsubscribed = 1 OR (parked IS NOT NULL AND probe_at IS NULL) THEN NULL"
            f" ELSE (SELECT {tx.greatest}(wake_at, {waits}) FROM delivery"
            f" WHERE destination_uid = destination.uid AND {OPEN} ORDER BY wake_at LIMIT 1) END WHERE {names}",
            **params,
        )


def insert(tx: Tx, uids: Collection[str]) -> None:
    """Make sure that these have rows."""
    tx.run_many(
        "INSERT INTO destination (uid) VALUES (:uid) ON CONFLICT DO NOTHING", [{"uid": u} for u in sorted(uids)]
    )


def lock(tx: Tx, uids: Collection[str]) -> list[str]:
    """Make sure these have rows, and lock them in one order: so the order of numbers is the order of commits."""
    names = sorted(uids)
    for part in chunks(names):
        term, params = one_of("uid", "u", part)
        found = {row["uid"] for row in tx.rows(f"SELECT uid FROM destination WHERE {term}", **params)}
        insert(tx, set(part) - found)
    if tx.shared:
        for part in chunks(names):
            term, params = one_of("uid", "u", part)
            tx.rows(f"SELECT uid FROM destination WHERE {term} ORDER BY uid{tx.for_update}", **params)
    return names


def sync(tx: Tx, uids: Collection[str], now: datetime) -> int:
    """Make the rows what the configuration and people in chat name; what is owed to others is dead.

    Returns how many died.
    """
    in_chat = tx.rows("SELECT destination_uid AS uid FROM follow UNION SELECT destination_uid AS uid FROM chat_feed")
    uids = {*uids, *(row["uid"] for row in in_chat)}
    known = {row["uid"]: row for row in tx.rows("SELECT uid, gone_at FROM destination")}
    insert(tx, set(uids) - known.keys())
    back = [uid for uid in uids if uid in known and known[uid]["gone_at"] is not None]
    for part in chunks(back):
        names, params = one_of("uid", "u", part)
        tx.run(f"UPDATE destination SET gone_at = NULL WHERE {names}", **params)
    gone = sorted(uid for uid, row in known.items() if uid not in uids)
    died = 0
    for uid in gone:
        died += kill(tx, "destination_uid = :uid", "no route names this destination any more", now, uid=uid)
    for part in chunks(uid for uid in gone if known[uid]["gone_at"] is None):
        names, params = one_of("uid", "u", part)
        tx.run(f"UPDATE destination SET gone_at = :now, due_at = NULL WHERE {names}", now=to_ms(now), **params)
    forget_a_wrong_clock(tx, now)
    return died


def forget_a_wrong_clock(tx: Tx, now: datetime) -> None:
    """A destination waits no longer than for its next look-up, which nothing may pass."""
    tx.run(
        "UPDATE destination SET not_before = (SELECT MAX(wake_at) FROM delivery WHERE destination_uid = uid"
        " AND state = 'unknown') WHERE not_before > :latest",
        latest=to_ms(now + MAX_WAIT),
    )
    waiting = tx.rows(f"SELECT DISTINCT destination_uid AS uid FROM delivery WHERE {OPEN}")
    reschedule(tx, lock(tx, [row["uid"] for row in waiting]))


def kill(tx: Tx, where: str, why: str, now: datetime, **params: Value) -> int:
    """Give up what is open or held and matches; a digest's members with it. Returns how many rows died.

    What may have arrived keeps its payload: should it be wanted again, it is looked for first.
    """
    return tx.run(
        "UPDATE delivery SET state = 'dead', wake_at = NULL, settled_at = :now, error = :why,"
        " payload = CASE WHEN state IN ('sending', 'unknown') THEN payload END"
        f" WHERE {where} AND state IN ('pending', 'sending', 'unknown', 'held')",
        now=to_ms(now),
        why=why,
        **params,
    )


def put_off_probe(tx: Tx, uid: str, reason: str, probe_at: datetime) -> None:
    """Say anew why a parked destination takes nothing, and when it is looked at next; no other is touched."""
    touched = tx.run(
        "UPDATE destination SET parked = :reason, probe_at = :at WHERE uid = :uid AND parked IS NOT NULL",
        uid=uid,
        reason=storable(reason),
        at=to_ms(probe_at),
    )
    if touched:
        reschedule(tx, [uid])


def set_probe(tx: Tx, uid: str, probe: Probe) -> None:
    """Remember what a look at a destination found."""
    insert(tx, [uid])
    tx.run(
        "UPDATE destination SET remote_id = COALESCE(:remote_id, remote_id), name = COALESCE(:name, name),"
        " can_look_up = :can_look_up, why_not = :why_not WHERE uid = :uid",
        uid=uid,
        remote_id=probe.remote_id,
        name=probe.name,
        can_look_up=int(probe.can_look_up),
        why_not=probe.why_not,
    )


def same_channel(tx: Tx, uid: str, remote_id: str) -> Sequence[DestinationUid]:
    """Other destinations of the same scheme that have this id and are neither parked nor gone."""
    found = tx.rows(
        "SELECT uid FROM destination WHERE remote_id = :remote_id AND uid != :uid AND uid LIKE :scheme"
        " AND parked IS NULL AND gone_at IS NULL ORDER BY uid",
        remote_id=remote_id,
        uid=uid,
        scheme=f"{uid.partition(':')[0]}:%",
    )
    return [DestinationUid(row["uid"]) for row in found]


def unpark(tx: Tx, uid: str, probe: Probe) -> None:
    """Let a parked destination take messages again; what a look at it found is kept."""
    if probe != Probe():
        set_probe(tx, uid, probe)
    touched = tx.run(
        "UPDATE destination SET parked = NULL, parked_at = NULL, probe_at = NULL, not_before = NULL, failures = 0"
        " WHERE uid = :uid AND parked IS NOT NULL",
        uid=uid,
    )
    if touched:
        reschedule(tx, [uid])


def resume(tx: Tx, uid: str, now: datetime) -> bool:
    """A person says: try again now. What was held for a person is owed again. False: no such destination."""
    touched = tx.run(
        "UPDATE destination SET parked = NULL, parked_at = NULL, probe_at = NULL, not_before = NULL, failures = 0,"
        " unsubscribed = 0 WHERE uid = :uid",
        uid=uid,
    )
    tx.run(
        "UPDATE delivery SET state = 'pending', wake_at = CASE WHEN digest_id IS NULL THEN :now END, looks = 0,"
        " looked_at = NULL, first_try_at = NULL, settled_at = NULL WHERE destination_uid = :uid AND state = 'held'",
        uid=uid,
        now=to_ms(now),
    )
    reschedule(tx, [uid])
    return touched > 0


def unsubscribe(tx: Tx, uid: str, now: datetime) -> bool:
    """Its reader wants nothing any more, until a `resume`."""
    touched = tx.run(
        "UPDATE destination SET unsubscribed = 1, parked = 'unsubscribed', parked_at = :now, probe_at = NULL"
        " WHERE uid = :uid",
        uid=uid,
        now=to_ms(now),
    )
    reschedule(tx, [uid])
    return touched > 0


def rows(tx: Tx) -> Sequence[Row]:
    """All that are named now."""
    return tx.rows("SELECT * FROM destination WHERE gone_at IS NULL ORDER BY uid")


def same_token(uid: str) -> Sequence[str]:
    """Patterns of the destinations that share the token of `uid`."""
    scheme = uid.partition(":")[0]
    return tuple(f"{name}:%" for name in SAME_TOKEN.get(scheme, (scheme,)))
