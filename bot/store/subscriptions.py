"""Who wants no more of a feed: nothing is owed there from then on, and what was is given up."""

from collections.abc import Collection, Sequence
from datetime import datetime

from bot.core.model.feed import FeedId
from bot.core.model.plan import Notice
from bot.core.model.route import DestinationUid
from bot.store import deliveries, destinations
from bot.store.deliveries import Owing
from bot.store.sql import Tx, chunks, one_of, to_ms

EVERY_FEED = ""
WHY = "its reader has unsubscribed"


def end(tx: Tx, uid: DestinationUid, feed: FeedId | None, now: datetime, *, ops: DestinationUid | None) -> bool:
    """Idempotent, as a mail program may click twice. False: no such destination."""
    if tx.row("SELECT uid FROM destination WHERE uid = :uid", uid=uid) is None:
        return False
    # Locked first: an intake that is about to owe something there sees this, or is seen.
    locked = destinations.lock(tx, {uid, *([ops] if ops is not None else [])})
    new = tx.run(
        "INSERT INTO unsubscribed (destination_uid, feed_id, at) VALUES (:uid, :feed, :now)"
        " ON CONFLICT (destination_uid, feed_id) DO NOTHING",
        uid=uid,
        feed=feed or EVERY_FEED,
        now=to_ms(now),
    )
    if feed is None:
        destinations.unsubscribe(tx, uid, now)
    _give_up(tx, uid, feed, now)
    if new:
        deliveries.tell(tx, [_notice(uid, feed, now)], ops, now)
    destinations.reschedule(tx, locked)
    return True


def resume(tx: Tx, uid: str, now: datetime) -> bool:
    """A person says: try again now, and tell there again of every feed. False: no such destination."""
    tx.run("DELETE FROM unsubscribed WHERE destination_uid = :uid", uid=uid)
    return destinations.resume(tx, uid, now)


def owe_late(tx: Tx, owed: Sequence[Owing], now: datetime) -> int:
    """What `replay` does; it brings nothing back to somebody who has unsubscribed."""
    return deliveries.owe_late(tx, wanted(tx, owed), now)


def wanted(tx: Tx, owed: Sequence[Owing]) -> list[Owing]:
    """Return what goes to readers who have not ended its feed."""
    ended = _ended(tx, {delivery.destination for delivery, _ in owed})
    if not ended:
        return list(owed)
    feeds = _feeds_of(tx, {entry_id for _, entry_id in owed if entry_id is not None})
    return [
        (delivery, entry_id)
        for delivery, entry_id in owed
        if not ended & {(delivery.destination, EVERY_FEED), (delivery.destination, feeds.get(entry_id or 0))}
    ]


def _give_up(tx: Tx, uid: str, feed: FeedId | None, now: datetime) -> None:
    """What may have left already is left alone; so is a digest that is bound, for its members are fixed."""
    where = "destination_uid = :uid AND state IN ('pending', 'held') AND digest_id IS NULL AND entry_id IN ("
    where += "SELECT e.id FROM entry e JOIN feed f ON f.no = e.feed_no WHERE e.id = delivery.entry_id"
    if feed is None:
        destinations.kill(tx, f"{where})", WHY, now, uid=uid)
    else:
        destinations.kill(tx, f"{where} AND f.id = :feed)", WHY, now, uid=uid, feed=feed)


def _ended(tx: Tx, uids: Collection[str]) -> frozenset[tuple[str, str | None]]:
    found: set[tuple[str, str | None]] = set()
    for part in chunks(sorted(uid for uid in uids if uid.startswith("email:"))):  # only mail has a link to click
        names, params = one_of("destination_uid", "u", part)
        rows = tx.rows(f"SELECT destination_uid, feed_id FROM unsubscribed WHERE {names}", **params)
        found |= {(row["destination_uid"], row["feed_id"]) for row in rows}
    return frozenset(found)


def _feeds_of(tx: Tx, entry_ids: Collection[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for part in chunks(sorted(entry_ids)):
        names, params = one_of("e.id", "e", part)
        rows = tx.rows(
            f"SELECT e.id, f.id AS feed FROM entry e JOIN feed f ON f.no = e.feed_no WHERE {names}", **params
        )
        found |= {row["id"]: row["feed"] for row in rows}
    return found


def _notice(uid: str, feed: FeedId | None, now: datetime) -> Notice:
    what = f"feed {feed}" if feed is not None else "every feed"
    return Notice(
        key=f"unsubscribed|{uid}|{feed or EVERY_FEED}|{now.isoformat()}",
        words=f"{uid} has unsubscribed from {what}; nothing of it goes there any more. "
        f"`feedbell resume {uid}` undoes it.",
    )
