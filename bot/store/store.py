"""The store as the services see it: implements ports.Store on either engine."""

import asyncio
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from bot import crash
from bot.core.errors import StoreUnusable
from bot.core.model.delivery import Attempt, Delivery, Lane, Owed, Probe, Settlement
from bot.core.model.entry import Entry, Key, Known, KnownEntry
from bot.core.model.feed import Feed, FeedId, FeedState
from bot.core.model.message import Payload
from bot.core.model.plan import Committed, IntakePlan, Notice
from bot.core.model.route import DestinationUid
from bot.store import deliveries, destinations, entries, feeds, intake, lanes, meta, settlement, upkeep
from bot.store.database import Database
from bot.store.extras import Extras
from bot.store.feed_rows import to_state
from bot.store.pages import Pages
from bot.store.reading import Reading
from bot.store.sql import EPOCH, Row
from bot.store.sqlite_file import Opened, close_cleanly, open_sqlite

T = TypeVar("T")

GRACE = timedelta(seconds=30)  # until the outcome of what a dead process was sending may be looked up


async def open_store(
    state: str,
    *,
    base: Path = Path(),
    exclusive: bool = False,
    ops: DestinationUid | None = None,
    grace: timedelta = GRACE,
    owner: str | None = None,
) -> "Store":
    """Open what `state` names: `sqlite:///relative` (to `base`), `sqlite:////absolute` or `postgresql://…`.

    `exclusive` is for `run` and `once`: one process per SQLite file. Raises StoreHeld, StoreUnusable,
    StoreUnavailable.
    """
    if state.startswith("sqlite:///"):
        path = (base / state.removeprefix("sqlite:///")).absolute()
        opened = await asyncio.to_thread(open_sqlite, path, exclusive=exclusive)
        return Store(Database(opened.engine), opened, ops=ops, grace=grace, owner=owner)
    try:
        from bot.store.postgres import open_postgres  # an optional extra, and 60 ms that SQLite's users need not wait
    except ImportError as error:
        raise StoreUnusable(f"PostgreSQL needs psycopg: install feedbell[postgres] ({error})") from error
    engine, last_write = await asyncio.to_thread(open_postgres, state)
    store = Store(Database(engine), None, ops=ops, grace=grace, owner=owner)
    store.last_write = last_write
    return store


class Store(Extras, Pages):
    """Implements ports.Store. What is asked besides stands in Extras, and in Pages what the status site alone asks."""

    def __init__(
        self,
        database: Database,
        opened: Opened | None,
        *,
        ops: DestinationUid | None = None,
        grace: timedelta = GRACE,
        owner: str | None = None,
    ) -> None:
        super().__init__(database, opened)
        self.ops = ops
        self.grace = grace
        self.owner = owner or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.was_clean = opened is None or opened.was_clean
        self.last_write = None if opened is None else opened.last_write
        self._feeds: dict[FeedId, Feed] = {}
        self._touched = EPOCH

    async def close(self, *, now: datetime) -> None:
        """Write what is queued and, if this process held the state, that it stopped in order."""
        await self._db.close()
        if self._opened is not None:
            await asyncio.to_thread(close_cleanly, self._opened, now=now)

    # --- feeds

    async def sync_feeds(self, configured: Sequence[Feed], *, now: datetime) -> None:
        await self._db.write(feeds.sync, configured, now)
        self._feeds = {feed.id: feed for feed in configured}

    async def claim_feeds(self, *, now: datetime, lease: timedelta, limit: int) -> Sequence[FeedState]:
        return self._states(await self._db.write(feeds.claim, self.owner, now, now + lease, limit))

    async def claim_all_feeds(self, *, now: datetime, lease: timedelta) -> Sequence[FeedState]:
        return self._states(await self._db.write(feeds.claim_all, self.owner, now, now + lease))

    async def claim_feed(self, feed_id: FeedId, *, now: datetime, lease: timedelta) -> FeedState | None:
        """Take one feed, due or not (a push); None: somebody holds it, it rests, or there is none."""
        rows = await self._db.write(feeds.claim_all, self.owner, now, now + lease, feed_id)
        return self._states(rows)[0] if rows else None

    async def renew_feed(self, feed_no: int, *, epoch: int, until: datetime) -> None:
        await self._db.write_soon(feeds.renew, self.owner, feed_no, epoch, until)

    async def release_feed(self, feed_no: int, *, epoch: int, next_poll_at: datetime | None = None) -> None:
        await self._db.write(feeds.release, self.owner, feed_no, epoch, next_poll_at)

    async def known(self, feed_no: int, hashes: Sequence[Key]) -> Known:
        return await self._db.read(entries.known, feed_no, hashes)

    async def titled(self, feed_no: int, *, since: datetime, until: datetime) -> Sequence[tuple[str, KnownEntry]]:
        return await self._db.read(entries.titled, feed_no, since, until)

    async def commit_intake(self, plan: IntakePlan, *, urgent: bool) -> Committed:
        write = self._db.write if urgent else self._db.write_soon
        committed = await write(intake.commit, plan, owner=self.owner, ops=self.ops)
        await self._touch(plan.at)
        return committed

    async def poke(self, feed_id: FeedId, *, now: datetime) -> bool:
        return await self._db.write(feeds.poke, feed_id, now)

    async def feeds(self) -> Sequence[FeedState]:
        # Made where they are read: of many feeds it would hold up the loop.
        return await self.consult(Reading.feeds)

    def _states(self, rows: Sequence[Row]) -> Sequence[FeedState]:
        return [to_state(row, self._feeds) for row in rows]

    # --- lanes

    async def sync_destinations(self, uids: Sequence[DestinationUid], *, now: datetime) -> int:
        named = {*uids, *([self.ops] if self.ops is not None else [])}
        return await self._db.write(destinations.sync, named, now)

    async def claim_lane(
        self, *, now: datetime, lease: timedelta, skip: frozenset[str] = frozenset(), limit: int
    ) -> Lane | None:
        lane = await self._db.write(
            lanes.claim,
            owner=self.owner,
            now=now,
            until=now + lease,
            skip=skip,
            limit=limit,
            grace=self.grace,
        )
        crash.point("send.claim_after_commit")
        return lane

    async def due_rows(self, uid: DestinationUid, *, now: datetime) -> Sequence[Delivery]:
        return await self._db.read(lanes.due_rows, uid, now)

    async def owed(self, uid: DestinationUid, *, now: datetime, limit: int) -> Sequence[Owed]:
        return await self._db.read(lanes.owed, uid, now, limit)

    async def put_off_probe(self, uid: DestinationUid, *, reason: str, probe_at: datetime) -> None:
        await self._db.write(destinations.put_off_probe, uid, reason, probe_at)

    async def set_probe(self, uid: DestinationUid, probe: Probe) -> None:
        await self._db.write(destinations.set_probe, uid, probe)

    async def same_channel(self, uid: DestinationUid, remote_id: str) -> Sequence[DestinationUid]:
        return await self._db.read(destinations.same_channel, uid, remote_id)

    async def unpark(self, uid: DestinationUid, *, probe: Probe) -> None:
        await self._db.write(destinations.unpark, uid, probe)

    async def renew_lane(self, uid: DestinationUid, *, epoch: int, until: datetime) -> None:
        await self._db.write_soon(lanes.renew, self.owner, uid, epoch, until)

    async def release_lane(self, uid: DestinationUid, *, epoch: int) -> None:
        await self._db.write(lanes.release, self.owner, uid, epoch)

    async def bind_digest(self, uid: DestinationUid, *, epoch: int, digest: Delivery, members: Sequence[int]) -> None:
        await self._db.write(lanes.bind_digest, self.owner, uid, epoch=epoch, digest=digest, members=members)

    async def begin(self, delivery: Delivery, payload: Payload, *, epoch: int, now: datetime) -> None:
        await self._db.write(settlement.begin, self.owner, delivery, payload, epoch=epoch, now=now)

    async def settle(
        self, delivery: Delivery, result: Settlement, *, epoch: int, now: datetime, notices: Sequence[Notice] = ()
    ) -> None:
        await self._db.write(
            settlement.settle,
            self.owner,
            delivery,
            result,
            epoch=epoch,
            now=now,
            notices=notices,
            ops=self.ops,
        )
        await self._touch(now)

    async def recover(self, *, now: datetime) -> None:
        await self._db.write(upkeep.recover, self.owner, now=now, grace=self.grace, alone=self._is_alone)

    async def set_right(self, *, now: datetime) -> None:
        """After the machine's clock was set: no time that it gave while it was wrong keeps anything waiting."""
        await self._db.write(upkeep.set_right, self.owner, now, self.grace)

    async def _touch(self, now: datetime) -> None:
        """Remember the time of the last write, as exactly as anybody reads it."""
        if abs(now - self._touched) > meta.EXACTNESS:
            self._touched = now
            await self._db.write_soon(meta.touch, now)

    # --- entries

    async def consult(self, question: Callable[[Reading], T]) -> T:
        """Answer a question of several steps in one go, off the loop: while the bot is busy each turn is a wait."""
        return await self._db.read(lambda tx: question(Reading(tx, self._feeds)))

    async def entry(self, name: str) -> Entry | None:
        return await self._db.read(entries.find, name)

    async def meta(self, name: str) -> str | None:
        return await self._db.read(meta.get, name)

    async def deliveries_of(self, entry_id: int) -> Sequence[tuple[Delivery, Sequence[Attempt]]]:
        return await self._db.read(deliveries.of_entry, entry_id)
