"""What the store answers besides its port: for chat, the pages, the commands and the upkeep."""

import asyncio
import os
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from bot.core.errors import UsageError
from bot.core.model.delivery import Delivery, DeliveryState
from bot.core.model.entry import Entry
from bot.core.model.feed import Feed, FeedId
from bot.core.model.route import DestinationUid
from bot.core.model.status import DeliveryRow, DestinationRow
from bot.store import chat, deliveries, entries, lanes, leases, meta, status, subscriptions, upkeep
from bot.store.database import Database
from bot.store.remembered import Remembered
from bot.store.sql import Tx
from bot.store.sqlite_file import Opened


class Extras:
    """The part of the Store that no loop needs; each method is one question or one transaction too."""

    owner: str
    ops: DestinationUid | None

    def __init__(self, database: Database, opened: Opened | None) -> None:
        self._db = database
        self._opened = opened
        self._is_alone = opened is not None and opened.lock is not None
        self._follows = Remembered(lambda: database.read(chat.follows), keeps=self._is_alone)
        self._chat_feeds = Remembered(lambda: database.read(chat.chat_feeds), keeps=self._is_alone)

    # --- chat

    async def follows(self) -> Sequence[tuple[DestinationUid, str]]:
        """(who, folded tag), in the order they were made."""
        return await self._follows.get()

    async def add_follow(self, uid: DestinationUid, tag: str, *, now: datetime) -> bool:
        done = await self._db.write(chat.add_follow, uid, tag, now=now)
        self._follows.forget()
        return done

    async def remove_follow(self, uid: DestinationUid, tag: str) -> bool:
        done = await self._db.write(chat.remove_follow, uid, tag)
        self._follows.forget()
        return done

    async def chat_feeds(self) -> Sequence[tuple[FeedId, DestinationUid, Sequence[str]]]:
        """(feed, where it is delivered, the folded tags it is limited to)."""
        return await self._chat_feeds.get()

    async def add_chat_feed(
        self, feed: Feed, destination: DestinationUid, tags: Sequence[str] = (), *, who: str, now: datetime
    ) -> bool:
        """False: the id is taken by an active feed."""
        done = await self._db.write(chat.add_feed, feed, destination, tags, who=who, now=now)
        self._chat_feeds.forget()
        return done

    async def remove_chat_feed(self, feed_id: FeedId, *, who: str, now: datetime) -> bool:
        """False: no such feed was added in chat."""
        done = await self._db.write(chat.remove_feed, feed_id, who=who, now=now)
        self._chat_feeds.forget()
        return done

    async def pause_feed(self, feed_id: FeedId, *, who: str, now: datetime) -> bool:
        """False: no such feed, or paused already."""
        return await self._db.write(chat.pause_feed, feed_id, who=who, now=now)

    async def resume_feed(self, feed_id: FeedId, *, who: str, now: datetime) -> bool:
        """False: no such feed, or it was neither paused nor stopped."""
        return await self._db.write(chat.resume_feed, feed_id, who=who, now=now)

    # --- leases and requests

    async def take_lease(self, name: str, *, now: datetime, until: datetime) -> int | None:
        """Take or keep what only one process may do; the epoch, or None: somebody else has it."""
        return await self._db.write(leases.take, name, self.owner, now, until)

    async def renew_lease(self, name: str, *, epoch: int, until: datetime) -> None:
        """Raises LeaseLost."""
        await self._db.write_soon(leases.renew, name, self.owner, epoch, until)

    async def release_lease(self, name: str, *, epoch: int) -> None:
        await self._db.write(leases.release, name, self.owner, epoch)

    async def inbound_seen(self, request_id: str, *, now: datetime, until: datetime) -> bool:
        """True: this request comes for the first time."""
        return await self._db.write(leases.first_time, request_id, now, until)

    async def count_identify(self, *, now: datetime) -> int:
        """Count one IDENTIFY at Discord's gateway; how many in the last 24 hours (R-8)."""
        return await self._db.write(upkeep.count_identify, now)

    async def key(self) -> bytes:
        """The secret of this state: what signs unsubscribe links and hubs' pushes. Made once, at its first use."""
        found = await self._db.read(meta.get, "key")
        if found is None:
            found = await self._db.write(meta.key, secrets.token_hex(32))
        return bytes.fromhex(found)

    async def put_meta(self, name: str, value: str) -> None:
        await self._db.write(meta.put, name, value)

    # --- destinations and deliveries

    async def resume(self, uid: DestinationUid, *, now: datetime) -> bool:
        """Unpark, subscribe again, and owe what was held; False: no such destination."""
        return await self._db.write(subscriptions.resume, uid, now)

    async def unsubscribe(self, uid: DestinationUid, feed: FeedId | None = None, *, now: datetime) -> bool:
        """Owe nothing of a feed there any more, or of no feed at all, and tell the operator once.

        False: no such destination.
        """
        return await self._db.write(subscriptions.end, uid, feed, now, ops=self.ops)

    async def owe(self, owed: Sequence[Delivery], *, now: datetime) -> int:
        """Owe deliveries of stored entries (`replay`): what was owed before is skipped, unless it is dead."""
        return await self._db.write(subscriptions.owe_late, [(each, each.entry_id) for each in owed], now)

    async def kill_old(
        self, *, now: datetime, keep: timedelta = timedelta(days=7), max_rows: int = 1000
    ) -> Mapping[DestinationUid, int]:
        """Give up what a destination that is down has not taken (R-17); how many died at each."""
        return await self._db.write_soon(upkeep.kill_old, now, keep, max_rows)

    async def recent(
        self,
        *,
        states: frozenset[DeliveryState] = frozenset(),
        destination: DestinationUid | None = None,
        feed: FeedId | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Sequence[DeliveryRow]:
        """Newest first; no `states` are all of them, `before` is the id at which the last page ended."""
        return await self._db.read(
            deliveries.recent, states=states, destination=destination, feed=feed, before=before, limit=limit
        )

    async def waiting(self, *, now: datetime) -> int:
        """Deliveries that are due or will be retried: neither sent, dead, held nor parked, nor for a later time."""
        return await self._db.read(lanes.waiting, now)

    async def destination_rows(self) -> Sequence[DestinationRow]:
        return await self._db.read(status.destination_rows)

    async def delivery_counts(self) -> Mapping[DeliveryState, int]:
        return await self._db.read(status.delivery_counts)

    async def feed_counts(self, *, now: datetime) -> status.FeedCounts:
        """Without reading what is known of each: metrics are asked for often, of many feeds."""
        return await self._db.read(status.feed_counts, now)

    async def late_feeds(self, *, now: datetime) -> Sequence[tuple[FeedId, datetime]]:
        return await self._db.read(status.late_feeds, now)

    async def overdue(self, *, now: datetime) -> Sequence[tuple[DestinationUid, datetime]]:
        """For each destination that nothing parks: since when its oldest due delivery waits."""
        return await self._db.read(status.overdue, now)

    async def notices(self, *, limit: int = 50) -> Sequence[tuple[datetime, str]]:
        """What the operator was told, newest first."""
        return await self._db.read(deliveries.notices, limit)

    async def sizes(self) -> Mapping[str, int]:
        """Rows of each large table, and "bytes" on disk."""
        return await self._db.read(status.sizes)

    # --- entries

    async def latest(self, *, tag: str | None = None, feed: FeedId | None = None, limit: int = 1) -> Sequence[Entry]:
        """The newest entries. `tag` is folded (core.tags.fold) and names a tag or a section."""
        return await self._db.read(entries.latest, tag=tag, feed=feed, limit=limit)

    async def search(self, words: Sequence[str], *, limit: int) -> Sequence[Entry]:
        """The newest entries that hold every word, folded, in title, text or tags."""
        return await self._db.read(entries.search, words, limit=limit)

    async def tags(self) -> Sequence[tuple[str, int]]:
        """Every tag as shown, with its count, most used first; sections are none."""
        return await self._db.read(entries.tags)

    async def entries_since(
        self, at: datetime, *, limit: int, feeds: frozenset[FeedId] | None = None
    ) -> Sequence[Entry]:
        """The first entries by when they stand in time, oldest first; `feeds` leaves out all others."""
        return await self._db.read(entries.since, at, limit=limit, feeds=feeds)

    # --- upkeep

    async def ping(self) -> None:
        """Returns when the writer has come round (R-23)."""
        await self._db.write(_nothing)

    async def prune(self, *, now: datetime, keep_keys: int = upkeep.KEYS_KEPT) -> int:
        """Take old texts (N26), what is left of feeds long gone, and what has expired, in small steps.

        So goes what a feed has beyond `keep_keys` entries (T30). Returns how many rows lost something.
        """
        await self._db.write_soon(upkeep.expire, now)
        total = 0
        for no in await self._db.read(upkeep.crowded, min(upkeep.TEXT_KEPT_ROWS, keep_keys)):
            while count := await self._db.write_soon(upkeep.prune_texts, no, now):
                total += count
            while count := await self._db.write_soon(upkeep.forget_overflow, no, keep_keys):
                total += count
        while count := await self._db.write_soon(upkeep.drop_gone, now):
            total += count
        return total

    async def integrity(self) -> Sequence[str]:
        """What is wrong with the file; nothing: all is well. PostgreSQL looks after itself."""
        return () if self._opened is None else await self._db.read(_integrity)

    async def backup(self, target: Path) -> None:
        """Write a consistent copy while others read and write. Raises UsageError on PostgreSQL."""
        if self._opened is None:
            raise UsageError("backup copies a SQLite state; use pg_dump for PostgreSQL")
        await asyncio.to_thread(_copy, self._opened.engine.path, target)


def _nothing(tx: Tx) -> None:
    del tx


def _integrity(tx: Tx) -> Sequence[str]:
    found = [str(row["integrity_check"]) for row in tx.rows("PRAGMA integrity_check(20)")]
    return () if found == ["ok"] else found


def _copy(source: Path, target: Path) -> None:
    """Under another name first: a copy that was cut short must not look like a backup."""
    part = target.parent / f"{target.name}.part"
    in_use = [f"{source}{end}" for end in ("", "-wal", "-shm", "-journal", ".lock", ".exists")]
    try:
        if os.path.realpath(target) in in_use or os.path.realpath(part) in in_use:
            raise UsageError(f"{target} is the state itself; name another file for the backup")
        # What is renamed over a device or a pipe takes it away from everybody else.
        if target.exists() and not target.is_file():
            raise UsageError(f"{target} is no file; name another one for the backup")
        part.unlink(missing_ok=True)
        reader, writer = sqlite3.connect(source), sqlite3.connect(part)
        try:
            reader.backup(writer)
        finally:
            writer.close()
            reader.close()
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):  # where nothing can be written, nothing can be taken away
            part.unlink(missing_ok=True)
        raise UsageError(f"cannot write the backup {target}: {error}") from error
