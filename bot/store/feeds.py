"""Feeds: what the configuration says of them, when they are due, and who polls them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from bot.core.errors import LeaseLost
from bot.core.model.feed import Feed, FeedId, FeedMemory
from bot.core.schedule import first_poll_at, poll_interval
from bot.store import records
from bot.store.feed_rows import to_columns
from bot.store.sql import Row, Tx, chunks, one_of, storable, to_ms

ACTIVE = "gone_at IS NULL AND paused_at IS NULL AND stopped IS NULL"
# A claim may take it: at its next poll, or never.
DUE = f"CASE WHEN {ACTIVE} THEN next_poll_at END"
# Now, but no earlier than its server has asked for (P9).
PEACE = "{0}(:now, COALESCE(asked_until, 0))"
# What a change of the configuration is judged by; not the listings, which are most of a feed's row.
CONFIGURED = (
    "no, id, url, interval_ms, spec, from_chat, position, gone_at, next_poll_at, last_poll_at, failures, asked_until,"
    " etag, last_modified"
)
# What people are shown of it and what commands ask: all but the listing, which a large feed has megabytes of.
SHOWN = (
    "no, id, url, interval_ms, spec, from_chat, position, next_poll_at, asked_until, epoch, etag, last_modified,"
    " validators_url, title, site_url, primed_at, last_poll_at, last_ok_at, last_new_at, failures, failing_since,"
    " error, stopped, paused_at, resumed_at, memory"
)
# Of a feed that was never polled: no rule lets a first poll wait so long.
MAX_FIRST_WAIT = timedelta(days=2)


def sync(tx: Tx, feeds: Sequence[Feed], now: datetime) -> None:
    """Make the rows what the file says; feeds made in chat stay as they are."""
    stored = {row["id"]: row for row in tx.rows(f"SELECT {CONFIGURED} FROM feed ORDER BY no{tx.for_update}")}
    fresh = sum(feed.id not in stored for feed in feeds)
    for position, feed in enumerate(feeds):
        row = stored.get(feed.id)
        if row is None:
            add(tx, feed, position, first_poll_at(feed.id, now=now, feeds=fresh))
        else:
            _update(tx, row, feed, position, now)
    kept = {feed.id for feed in feeds}
    gone = [row["no"] for row in stored.values() if row["id"] not in kept and not row["from_chat"]]
    remove(tx, gone, now)
    forget_a_wrong_clock(tx, now)


def add(tx: Tx, feed: Feed, position: int, first_at: datetime) -> None:
    """Insert a feed that nobody knows yet; one that is known stays as it is."""
    tx.run(
        "INSERT INTO feed (id, url, interval_ms, spec, from_chat, position, next_poll_at, due_at, listing)"
        " VALUES (:id, :url, :interval_ms, :spec, :from_chat, :position, :at, :at, :listing)"
        " ON CONFLICT (id) DO NOTHING",
        position=position,
        at=to_ms(first_at),
        listing=b"",
        **to_columns(feed),
    )


def _update(tx: Tx, row: Row, feed: Feed, position: int, now: datetime) -> None:
    columns = to_columns(feed)
    same = all(row[name] == value for name, value in columns.items())
    if same and row["position"] == position and row["gone_at"] is None:
        return
    tx.run(
        "UPDATE feed SET url = :url, interval_ms = :interval_ms, spec = :spec, from_chat = :from_chat,"
        " position = :position WHERE id = :id",
        position=position,
        **columns,
    )
    if row["url"] != feed.url:
        _move(tx, row, now)
    elif feed.interval < timedelta(milliseconds=row["interval_ms"]):
        _hasten(tx, row, feed)
    if row["gone_at"] is not None:
        # It was away; like after a pause, what it says now is no flood of news (N17).
        tx.run(
            f"UPDATE feed SET gone_at = NULL, resumed_at = :now, next_poll_at = {PEACE.format(tx.greatest)}"
            " WHERE id = :id",
            id=feed.id,
            now=to_ms(now),
        )
    tx.run(f"UPDATE feed SET due_at = {DUE} WHERE id = :id AND lease_until IS NULL", id=feed.id)


def bring_back(tx: Tx, feed: Feed, position: int, now: datetime) -> None:
    """A feed that was removed is wanted again: with all it knew, so that it does not flood."""
    row = tx.row("SELECT * FROM feed WHERE id = :id", id=feed.id)
    if row is not None:
        _update(tx, row, feed, position, now)


def _move(tx: Tx, row: Row, now: datetime) -> None:
    """The operator gave another URL: what was known of the old address is void, all else stays (P4).

    So is a poll of it that is under way: it would write back where the old address had moved to, or that it is gone.
    """
    stored = tx.row("SELECT memory FROM feed WHERE no = :no", no=row["no"])
    memory = FeedMemory() if stored is None else records.load(FeedMemory, stored["memory"])
    fresh = replace(
        memory, moved_to=None, redirect_to=None, redirect_since=None, redirect_polls=0, gone_polls=0, hub=None
    )
    tx.run(
        "UPDATE feed SET etag = NULL, last_modified = NULL, validators_url = NULL, asked_until = NULL, stopped = NULL,"
        " owner = NULL, lease_until = NULL, next_poll_at = :now, memory = :memory WHERE no = :no",
        no=row["no"],
        now=to_ms(now),
        memory=records.dump(fresh),
    )


def _hasten(tx: Tx, row: Row, feed: Feed) -> None:
    """A shorter interval counts from the last poll on, unless the feed is in backoff."""
    if row["last_poll_at"] is None or row["failures"]:
        return
    has_validators = row["etag"] is not None or row["last_modified"] is not None
    wait = poll_interval(feed, has_validators=has_validators) // timedelta(milliseconds=1)
    next_poll_at = max(row["last_poll_at"] + wait, row["asked_until"] or 0)
    tx.run("UPDATE feed SET next_poll_at = :at WHERE no = :no AND next_poll_at > :at", no=row["no"], at=next_poll_at)


def forget_a_wrong_clock(tx: Tx, now: datetime) -> None:
    """Let what was polled by a clock that has been set back since, for its last poll lies ahead, wait from now on.

    How long it waits says nothing: an interval may be a year, and a server may ask for a month (P9).
    """
    tx.run(
        f"UPDATE feed SET next_poll_at = :now, due_at = :now WHERE next_poll_at > :latest AND last_poll_at IS NULL"
        f" AND lease_until IS NULL AND {ACTIVE}",
        now=to_ms(now),
        latest=to_ms(now + MAX_FIRST_WAIT),
    )
    next_poll_at = "next_poll_at - last_poll_at + :now"
    tx.run(
        f"UPDATE feed SET next_poll_at = {next_poll_at}, asked_until = asked_until - last_poll_at + :now,"
        f" last_poll_at = :now, due_at = CASE WHEN {ACTIVE} THEN {next_poll_at} END"
        " WHERE last_poll_at > :now AND lease_until IS NULL",
        now=to_ms(now),
    )


def remove(tx: Tx, numbers: Sequence[int], now: datetime) -> None:
    """Poll them no more; their keys stay until `upkeep.drop_gone` (small print 21)."""
    for part in chunks(numbers):
        names, params = one_of("no", "n", part)
        tx.run(
            f"UPDATE feed SET gone_at = :now, due_at = NULL, owner = NULL, lease_until = NULL"
            f" WHERE {names} AND gone_at IS NULL",
            now=to_ms(now),
            **params,
        )


def claim(tx: Tx, owner: str, now: datetime, until: datetime, limit: int) -> Sequence[Row]:
    """Take due feeds that nobody holds, most overdue first; a lease that ran out is nobody's."""
    rows = tx.rows(
        "UPDATE feed SET owner = :owner, epoch = epoch + 1, lease_until = :until, due_at = :until WHERE no IN"
        f" (SELECT no FROM feed WHERE due_at <= :now ORDER BY due_at LIMIT :limit{tx.skip_locked}) RETURNING *",
        owner=owner,
        now=to_ms(now),
        until=to_ms(until),
        limit=limit,
    )
    return sorted(rows, key=lambda row: int(row["next_poll_at"]))


def claim_all(tx: Tx, owner: str, now: datetime, until: datetime, feed_id: str | None = None) -> Sequence[Row]:
    """Every active feed (or the one) that nobody holds, due or not, but those that a server asked us to leave."""
    only = "AND id = :id" if feed_id is not None else ""
    rows = tx.rows(
        "UPDATE feed SET owner = :owner, epoch = epoch + 1, lease_until = :until, due_at = :until WHERE no IN"
        f" (SELECT no FROM feed WHERE {ACTIVE} {only} AND (asked_until IS NULL OR asked_until <= :now)"
        f" AND (lease_until IS NULL OR lease_until <= :now) ORDER BY no{tx.skip_locked}) RETURNING *",
        owner=owner,
        now=to_ms(now),
        until=to_ms(until),
        **({"id": feed_id} if feed_id is not None else {}),
    )
    return sorted(rows, key=lambda row: (row["from_chat"], row["position"], row["no"]))


def renew(tx: Tx, owner: str, no: int, epoch: int, until: datetime) -> None:
    """Raises LeaseLost."""
    touched = tx.run(
        "UPDATE feed SET lease_until = :until, due_at = :until WHERE no = :no AND epoch = :epoch AND owner = :owner",
        no=no,
        epoch=epoch,
        owner=owner,
        until=to_ms(until),
    )
    if not touched:
        raise LeaseLost(f"the lease of feed {no} is somebody else's")


def release(tx: Tx, owner: str, no: int, epoch: int, next_poll_at: datetime | None = None) -> None:
    """Make the feed free again; what is somebody else's by now is left alone."""
    mine = "no = :no AND epoch = :epoch AND owner = :owner"
    if next_poll_at is not None:
        at = to_ms(next_poll_at)
        tx.run(f"UPDATE feed SET next_poll_at = :at WHERE {mine}", no=no, epoch=epoch, owner=owner, at=at)
    tx.run(
        f"UPDATE feed SET owner = NULL, lease_until = NULL, due_at = {DUE} WHERE {mine}",
        no=no,
        epoch=epoch,
        owner=owner,
    )


def poke(tx: Tx, feed_id: str, now: datetime) -> bool:
    """Make the feed due now, or when its server lets us ask again; False: no such feed."""
    touched = tx.run(
        f"UPDATE feed SET next_poll_at = {PEACE.format(tx.greatest)} WHERE id = :id AND gone_at IS NULL",
        id=storable(feed_id),
        now=to_ms(now),
    )
    tx.run(f"UPDATE feed SET due_at = {DUE} WHERE id = :id AND lease_until IS NULL", id=storable(feed_id))
    return touched > 0


def pause(tx: Tx, feed_id: str, now: datetime) -> bool:
    """False: no such feed, or it is paused."""
    touched = tx.run(
        "UPDATE feed SET paused_at = :now, due_at = NULL, owner = NULL, lease_until = NULL"
        " WHERE id = :id AND gone_at IS NULL AND paused_at IS NULL",
        id=feed_id,
        now=to_ms(now),
    )
    return touched > 0


def resume(tx: Tx, feed_id: str, now: datetime) -> bool:
    """Poll it again; `resumed_at` tells detection that it was away (small print 21).

    What its server asked for still holds; only a feed that was given up is tried at once, as a person says.
    """
    touched = tx.run(
        "UPDATE feed SET paused_at = NULL, stopped = NULL, resumed_at = :now,"
        f" next_poll_at = CASE WHEN stopped IS NULL THEN {PEACE.format(tx.greatest)} ELSE :now END"
        " WHERE id = :id AND gone_at IS NULL AND (paused_at IS NOT NULL OR stopped IS NOT NULL)",
        id=feed_id,
        now=to_ms(now),
    )
    tx.run(f"UPDATE feed SET due_at = {DUE} WHERE id = :id AND lease_until IS NULL", id=feed_id)
    return touched > 0


def ids(tx: Tx) -> Sequence[FeedId]:
    """Of every active feed, in the order in which they are shown."""
    rows = tx.rows("SELECT id FROM feed WHERE gone_at IS NULL ORDER BY from_chat, position, no")
    return [FeedId(row["id"]) for row in rows]


def active(tx: Tx) -> Sequence[Row]:
    """Every feed that is not gone, in the order in which they are shown, without its listing."""
    return tx.rows(f"SELECT {SHOWN} FROM feed WHERE gone_at IS NULL ORDER BY from_chat, position, no")
