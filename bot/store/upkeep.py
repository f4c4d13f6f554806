"""Upkeep: recovery at the start, giving up what is too old, and forgetting what nobody can ask for."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from bot.core.model.route import DestinationUid
from bot.store import destinations, entries, feeds, lanes, meta
from bot.store.entry_rows import folded_tags, searchable
from bot.store.feed_rows import unpack_listing
from bot.store.sql import Tx, Value, number_of, one_of, to_ms

GONE_KEPT = timedelta(days=30)  # small print 21
TEXT_KEPT = timedelta(days=90)  # N26
TEXT_KEPT_ROWS = 500  # of each feed
KEYS_KEPT = 100_000  # T30: of each feed; what a hostile one makes up beyond that is forgotten
NOTICE_KEPT = timedelta(days=90)
LONGEST_DIGEST = timedelta(days=8)  # a weekly one, and a day for its time zone
STEP = 500  # rows in one transaction, so that nobody waits for the upkeep
DOWN_AFTER = 5  # failures in a row: as the breaker counts


def recover(tx: Tx, owner: str, *, now: datetime, grace: timedelta, alone: bool) -> None:
    """Make "unknown" of every "sending" row whose sender is gone; `alone`: nobody else can hold a lease."""
    free = "1 = 1" if alone else "(lease_until IS NULL OR lease_until <= :now)"
    left = {} if alone else {"now": to_ms(now)}
    rows = tx.rows(
        "SELECT uid FROM destination WHERE (lease_until IS NOT NULL OR EXISTS (SELECT 1 FROM delivery"
        f" WHERE destination_uid = uid AND state = 'sending')) AND {free} ORDER BY uid{tx.for_update}",
        **left,
    )
    uids = [row["uid"] for row in rows]
    for uid in uids:
        lanes.forget_senders(tx, uid, now=now, grace=grace)
        tx.run("UPDATE destination SET owner = NULL, lease_until = NULL WHERE uid = :uid", uid=uid)
    _forget_a_wrong_clock(tx, owner, now, grace)
    destinations.reschedule(tx, uids)
    if alone:
        tx.run("UPDATE lease SET owner = NULL, until = NULL")
        tx.run(f"UPDATE feed SET owner = NULL, lease_until = NULL, due_at = {feeds.DUE} WHERE lease_until IS NOT NULL")


def _end_wrong_leases(tx: Tx, owner: str, now: datetime) -> None:
    """Free what others hold until a time that no lease reaches: whoever took it by such a clock may be dead by now."""
    wrong: dict[str, Value] = {"owner": owner, "latest": to_ms(now + destinations.MAX_WAIT)}
    freed = tx.rows(
        "UPDATE destination SET owner = NULL, lease_until = NULL WHERE lease_until > :latest AND owner <> :owner"
        " RETURNING uid",
        **wrong,
    )
    destinations.reschedule(tx, [row["uid"] for row in freed])
    tx.run(
        f"UPDATE feed SET owner = NULL, lease_until = NULL, due_at = {feeds.DUE}"
        " WHERE lease_until > :latest AND owner <> :owner",
        **wrong,
    )
    tx.run("UPDATE lease SET owner = NULL, until = NULL WHERE until > :latest AND owner <> :owner", **wrong)


def _forget_a_wrong_clock(tx: Tx, owner: str, now: datetime, grace: timedelta) -> None:
    """A time that no rule can have made comes from a clock that has been set back since: it means now."""
    _end_wrong_leases(tx, owner, now)
    tx.run(
        "UPDATE destination SET probe_at = :now WHERE probe_at > :latest",
        now=to_ms(now),
        latest=to_ms(now + destinations.MAX_WAIT),
    )
    # What was due at once is dated by its commit: if that lies ahead, newer ones would go before it. A retry wakes at
    # its due time, so that one matters too where it is being sent; a look-up comes when its destination may be asked.
    at_once = "late = 0 AND due_at <= created_at AND (due_at > :now OR (state = 'pending' AND wake_at > :now))"
    far = "wake_at > :latest OR due_at > :latest OR (state = 'unknown' AND wake_at > :longest)"
    times = {
        "now": to_ms(now),
        "latest": to_ms(now + LONGEST_DIGEST),
        "longest": to_ms(now + destinations.MAX_WAIT),
    }
    wrong = f"wake_at IS NOT NULL AND ({far} OR ({at_once}))"
    rows = tx.rows(f"SELECT DISTINCT destination_uid AS uid FROM delivery WHERE {wrong}", **times)
    uids = destinations.lock(tx, [row["uid"] for row in rows])
    tx.run(
        "UPDATE delivery SET due_at = :now, wake_at = CASE"
        " WHEN state = 'unknown' THEN CASE WHEN wake_at > :longest THEN :looked_for ELSE wake_at END"
        f" WHEN wake_at > :latest OR (state = 'pending' AND {at_once}) THEN :now ELSE wake_at END WHERE {wrong}",
        looked_for=to_ms(now + grace),  # nobody knows how long ago it was tried
        **times,
    )
    destinations.reschedule(tx, uids)


def set_right(tx: Tx, owner: str, now: datetime, grace: timedelta) -> None:
    """Somebody set the clock while the bot ran: what waits for a time far off waits no longer."""
    _forget_a_wrong_clock(tx, owner, now, grace)
    feeds.forget_a_wrong_clock(tx, now)
    destinations.forget_a_wrong_clock(tx, now)


def kill_old(tx: Tx, now: datetime, keep: timedelta, max_rows: int) -> Mapping[DestinationUid, int]:
    """Give up what a destination that is down has not taken in time, or has no room for (R-17): oldest first.

    One whose time to be tried has come may be well again: the week may be one in which nobody ran.
    """
    killed: dict[DestinationUid, int] = {}
    for row in tx.rows(
        "SELECT uid FROM destination WHERE CASE WHEN parked IS NOT NULL THEN COALESCE(probe_at, :now + 1) > :now"
        f" ELSE failures >= {DOWN_AFTER} AND not_before > :now END ORDER BY uid{tx.for_update}",
        now=to_ms(now),
    ):
        uid = row["uid"]
        count = _kill(
            tx, uid, "due_at < :until", f"{uid} took nothing for {_words(keep)}", now, until=to_ms(now - keep)
        )
        count += _kill(
            tx,
            uid,
            "id <= (SELECT id FROM delivery WHERE destination_uid = :uid AND wake_at IS NOT NULL"
            " ORDER BY id DESC LIMIT 1 OFFSET :until)",
            f"more than {max_rows} waited for {uid}",
            now,
            until=max_rows,
        )
        if count:
            killed[DestinationUid(uid)] = count
            destinations.reschedule(tx, [uid])
    return killed


def _words(span: timedelta) -> str:
    return f"{span.days} days" if span >= timedelta(days=2) else f"{round(span / timedelta(hours=1))} hours"


def _kill(tx: Tx, uid: str, term: str, why: str, now: datetime, until: int) -> int:
    where = f"destination_uid = :uid AND wake_at IS NOT NULL AND {term}"
    digests = [
        row["id"] for row in tx.rows(f"SELECT id FROM delivery WHERE {where} AND kind = 'digest'", uid=uid, until=until)
    ]
    count = destinations.kill(tx, where, why, now, uid=uid, until=until)
    for digest in digests:
        destinations.kill(tx, "digest_id = :digest", why, now, digest=digest)
    return count


def crowded(tx: Tx, most: int) -> Sequence[int]:
    """The feeds, by number, that have had as many entries as `most`, or more: only they can lose something."""
    rows = tx.rows("SELECT no FROM feed WHERE gone_at IS NULL AND entries >= :most ORDER BY no", most=most)
    return [int(row["no"]) for row in rows]


def prune_texts(tx: Tx, feed_no: int, now: datetime) -> int:
    """Take the texts of a feed's old entries, one step's worth (N26). Keys, titles, links and tags stay."""
    feed = tx.row("SELECT listing FROM feed WHERE no = :no", no=feed_no)
    if feed is None:
        return 0
    oldest = tx.row(
        "SELECT sort_at FROM entry WHERE feed_no = :no ORDER BY sort_at DESC, id DESC LIMIT 1 OFFSET :kept",
        no=feed_no,
        kept=TEXT_KEPT_ROWS - 1,
    )
    if oldest is None:
        return 0
    listed = {key for _, key in unpack_listing(bytes(feed["listing"]))}
    before = min(int(oldest["sort_at"]), to_ms(now - TEXT_KEPT))
    rows = tx.rows(
        "SELECT id, key, title, tags FROM entry WHERE feed_no = :no AND sort_at < :before AND pruned = 0"
        " ORDER BY sort_at LIMIT :step",
        no=feed_no,
        before=before,
        step=STEP + len(listed),
    )
    old = [row for row in rows if bytes(row["key"]) not in listed][:STEP]
    tx.run_many(
        "UPDATE entry SET text = '', summary_html = '', content_html = '', search = :search, pruned = 1 WHERE id = :id",
        [
            {"id": row["id"], "search": searchable(f"{row['title']}\n{' '.join(json.loads(row['tags']))}")}
            for row in old
        ],
    )
    return len(old)


def forget_overflow(tx: Tx, feed_no: int, keep: int) -> int:
    """Take one step's worth of what a feed has beyond `keep` entries, oldest first, names and all (T30).

    What the feed still lists, or a delivery still needs, stays whatever its age.
    """
    feed = tx.row("SELECT entries, listing FROM feed WHERE no = :no", no=feed_no)
    if feed is None or int(feed["entries"]) <= keep:
        return 0
    excess = number_of(tx, "SELECT COUNT(*) AS n FROM entry WHERE feed_no = :no", no=feed_no) - keep
    if excess <= 0:
        return 0
    listed = {key for _, key in unpack_listing(bytes(feed["listing"]))}
    rows = tx.rows(
        "SELECT id, key, sort_at, tags, section FROM entry e WHERE feed_no = :no AND NOT EXISTS (SELECT 1 FROM"
        " delivery d WHERE d.entry_id = e.id AND (d.wake_at IS NOT NULL OR d.digest_id IS NOT NULL"
        " AND d.settled_at IS NULL OR d.state = 'held')) ORDER BY id LIMIT :step",
        no=feed_no,
        step=min(excess, STEP) + len(listed),
    )
    old = [row for row in rows if bytes(row["key"]) not in listed][: min(excess, STEP)]
    if not old:
        return 0
    for row in old:
        tags = folded_tags(json.loads(row["tags"]), json.loads(row["section"]))
        entries.untag(tx, feed_no, row["id"], row["sort_at"], tags)
    tx.run("DELETE FROM feed_tag WHERE feed_no = :no AND count <= 0", no=feed_no)  # what nothing has any more
    names, params = one_of("entry_id", "i", [row["id"] for row in old])
    tx.run(f"DELETE FROM seen WHERE feed_no = :no AND {names}", no=feed_no, **params)
    names, params = one_of("id", "i", [row["id"] for row in old])
    return tx.run(f"DELETE FROM entry WHERE {names}", **params)


def drop_gone(tx: Tx, now: datetime) -> int:
    """Take one step's worth of what is left of feeds that are gone for long; return how many rows went."""
    feed = tx.row(
        "SELECT no FROM feed f WHERE gone_at <= :before AND NOT EXISTS (SELECT 1 FROM entry e JOIN delivery d"
        " ON d.entry_id = e.id WHERE e.feed_no = f.no AND (d.wake_at IS NOT NULL OR d.state = 'held'))"
        " ORDER BY no LIMIT 1",
        before=to_ms(now - GONE_KEPT),
    )
    if feed is None:
        return 0
    no = feed["no"]
    rows = tx.rows("SELECT id, sort_at, tags, section FROM entry WHERE feed_no = :no LIMIT :step", no=no, step=STEP)
    tx.run_many(
        "DELETE FROM entry_tag WHERE tag = :tag AND sort_at = :at AND entry_id = :id",
        [
            {"tag": tag, "at": row["sort_at"], "id": row["id"]}
            for row in rows
            for tag in folded_tags(json.loads(row["tags"]), json.loads(row["section"]))
        ],
    )
    if rows:
        names, params = one_of("id", "i", [row["id"] for row in rows])
        return tx.run(f"DELETE FROM entry WHERE {names}", **params)
    for table in ("seen", "feed_tag", "story"):
        tx.run(f"DELETE FROM {table} WHERE feed_no = :no", no=no)
    return tx.run("DELETE FROM feed WHERE no = :no", no=no)


def expire(tx: Tx, now: datetime) -> None:
    """Forget stories, requests and notices whose time is over."""
    tx.run("DELETE FROM story WHERE until <= :now", now=to_ms(now))
    tx.run("DELETE FROM inbound_seen WHERE until <= :now", now=to_ms(now))
    tx.run("DELETE FROM notice WHERE at <= :before", before=to_ms(now - NOTICE_KEPT))


def count_identify(tx: Tx, now: datetime) -> int:
    """Count one IDENTIFY at Discord's gateway; return how many there were in the last 24 hours (R-8)."""
    since = to_ms(now - timedelta(days=1))
    before: list[int] = json.loads(meta.get(tx, "identifies") or "[]")
    times = [at for at in before if since < at <= to_ms(now)] + [to_ms(now)]
    meta.put(tx, "identifies", json.dumps(times))
    return len(times)
