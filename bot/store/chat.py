"""What people made in chat: feeds, follows, pauses, and who did what."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from bot.core.model.feed import Feed, FeedId
from bot.core.model.route import DestinationUid
from bot.core.tags import fold, fold_all
from bot.store import destinations, feeds
from bot.store.sql import Tx, storable, to_ms

POSITION = 1_000_000  # after every feed of the file


def add_feed(tx: Tx, feed: Feed, destination: DestinationUid, tags: Sequence[str], *, who: str, now: datetime) -> bool:
    """Make a feed of a person's wish, delivered to `destination`. False: the feed's id is taken by another."""
    row = tx.row("SELECT from_chat, gone_at FROM feed WHERE id = :id", id=feed.id)
    if row is not None and row["gone_at"] is None:
        return False
    feeds.add(tx, replace(feed, from_chat=True), POSITION, now)
    if row is not None:
        feeds.bring_back(tx, replace(feed, from_chat=True), POSITION, now)
    tx.run(
        "INSERT INTO chat_feed (feed_id, destination_uid, tags, added_by, added_at)"
        " VALUES (:id, :uid, :tags, :who, :now) ON CONFLICT (feed_id) DO UPDATE SET"
        " destination_uid = excluded.destination_uid, tags = excluded.tags, added_by = excluded.added_by,"
        " added_at = excluded.added_at",
        id=feed.id,
        uid=destination,
        tags=json.dumps(list(tags)),
        who=storable(who),
        now=to_ms(now),
    )
    destinations.lock(tx, [destination])
    tx.run("UPDATE destination SET gone_at = NULL WHERE uid = :uid", uid=destination)
    audit(tx, who, f"add {feed.url} as {feed.id} to {destination}", now)
    return True


def remove_feed(tx: Tx, feed_id: FeedId, *, who: str, now: datetime) -> bool:
    """False: no feed of that id was added in chat (one of the file is not removed here)."""
    row = tx.row("SELECT no FROM feed WHERE id = :id AND from_chat = 1 AND gone_at IS NULL", id=feed_id)
    if row is None:
        return False
    feeds.remove(tx, [row["no"]], now)
    tx.run("DELETE FROM chat_feed WHERE feed_id = :id", id=feed_id)
    audit(tx, who, f"remove {feed_id}", now)
    return True


def chat_feeds(tx: Tx) -> Sequence[tuple[FeedId, DestinationUid, Sequence[str]]]:
    rows = tx.rows("SELECT feed_id, destination_uid, tags FROM chat_feed ORDER BY added_at, feed_id")
    return [
        (FeedId(row["feed_id"]), DestinationUid(row["destination_uid"]), sorted(fold_all(json.loads(row["tags"]))))
        for row in rows
    ]


def pause_feed(tx: Tx, feed_id: FeedId, *, who: str, now: datetime) -> bool:
    done = feeds.pause(tx, feed_id, now)
    if done:
        audit(tx, who, f"pause {feed_id}", now)
    return done


def resume_feed(tx: Tx, feed_id: FeedId, *, who: str, now: datetime) -> bool:
    done = feeds.resume(tx, feed_id, now)
    if done:
        audit(tx, who, f"resume {feed_id}", now)
    return done


def add_follow(tx: Tx, uid: DestinationUid, tag: str, *, now: datetime) -> bool:
    """False: it was followed already. The destination gets its row at once, so that it can be owed something."""
    destinations.lock(tx, [uid])
    tx.run("UPDATE destination SET gone_at = NULL WHERE uid = :uid", uid=uid)
    touched = tx.run(
        "INSERT INTO follow (destination_uid, tag, shown, added_at) VALUES (:uid, :tag, :shown, :now)"
        " ON CONFLICT DO NOTHING",
        uid=uid,
        tag=fold(storable(tag)),
        shown=storable(tag),
        now=to_ms(now),
    )
    return touched > 0


def remove_follow(tx: Tx, uid: DestinationUid, tag: str) -> bool:
    touched = tx.run("DELETE FROM follow WHERE destination_uid = :uid AND tag = :tag", uid=uid, tag=fold(storable(tag)))
    return touched > 0


def follows(tx: Tx) -> Sequence[tuple[DestinationUid, str]]:
    rows = tx.rows("SELECT destination_uid, tag FROM follow ORDER BY added_at, destination_uid, tag")
    return [(DestinationUid(row["destination_uid"]), row["tag"]) for row in rows]


def follows_of(tx: Tx, uid: DestinationUid) -> Sequence[str]:
    """The tags somebody follows, as they typed them."""
    rows = tx.rows("SELECT shown FROM follow WHERE destination_uid = :uid ORDER BY added_at, tag", uid=uid)
    return [row["shown"] for row in rows]


def audit(tx: Tx, who: str, what: str, now: datetime) -> None:
    """Note who changed what, in words; docs/commands.md names the table."""
    tx.run(
        "INSERT INTO audit (at, who, what) VALUES (:at, :who, :what)",
        at=to_ms(now),
        who=storable(who),
        what=storable(what),
    )
