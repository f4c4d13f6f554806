"""Feeds, entries, deliveries and plans with little to say, for tests of the store."""

import hashlib
from datetime import UTC, datetime, timedelta

from bot.core.delivery_id import idem
from bot.core.model.delivery import Delivery, DeliveryKind, Options
from bot.core.model.entry import Entry, Key
from bot.core.model.feed import Feed, FeedId, FeedMemory, FeedState, Validators
from bot.core.model.plan import EntryEdit, FeedChange, IntakePlan, NewDelivery, NewEntry, Notice
from bot.core.model.route import DestinationUid
from bot.store.sql import to_time
from bot.store.store import Store

NOW = datetime(2026, 9, 16, 12, 0, tzinfo=UTC)
LEASE = timedelta(minutes=2)
MINUTE = timedelta(minutes=1)
X = DestinationUid("slack:#x")
Y = DestinationUid("discord:1")
OPS = DestinationUid("slack:#ops")


async def audited(store: Store) -> list[tuple[str, str]]:
    """Who changed what, newest first, as the table has it that docs/commands.md names."""
    rows = await store._db.read(lambda tx: tx.rows("SELECT who, what FROM audit ORDER BY id DESC"))
    return [(row["who"], row["what"]) for row in rows]


def feed(name: str = "blog", **changes: object) -> Feed:
    settings: dict[str, object] = {"id": FeedId(name), "url": f"https://{name}.example/feed.xml"}
    return Feed(**{**settings, **changes})  # type: ignore[arg-type]


def key_of(*names: object) -> Key:
    return Key(hashlib.blake2b("|".join(map(str, names)).encode(), digest_size=16).digest())


def entry(number: int = 1, *, of: str = "blog", at: datetime = NOW, **changes: object) -> Entry:
    settings: dict[str, object] = {
        "feed_id": FeedId(of),
        "key": key_of(of, number),
        "guid": f"https://{of}.example/{number}",
        "link": f"https://{of}.example/{number}/",
        "title": f"Post {number}",
        "text": f"Words of post {number}.",
        "sort_at": at,
        "first_seen_at": at,
        "content_hash": f"hash {number}",
    }
    return Entry(**{**settings, **changes})  # type: ignore[arg-type]


def delivery(of: Entry, to: DestinationUid = X, *, due_at: datetime = NOW, **changes: object) -> Delivery:
    settings: dict[str, object] = {
        "idem": idem(of.feed_id, of.key.hex(), to, "entry"),
        "destination": to,
        "kind": DeliveryKind.ENTRY,
        "due_at": due_at,
        "created_at": NOW,
        "options": Options(routes=("routes[0]",)),
    }
    return Delivery(**{**settings, **changes})  # type: ignore[arg-type]


def new(
    of: Entry, *to: DestinationUid, story: Key | None = None, due_at: datetime = NOW, **changes: object
) -> NewEntry:
    owed = tuple(NewDelivery(delivery=delivery(of, uid, due_at=due_at, **changes), story=story) for uid in to)
    return NewEntry(entry=of, hashes=(of.key,), deliveries=owed)


def change(*, ok: bool = True, at: datetime = NOW, **changes: object) -> FeedChange:
    settings: dict[str, object] = {"next_poll_at": at + timedelta(minutes=15), "memory": FeedMemory(), "ok": ok}
    return FeedChange(**{**settings, **changes})  # type: ignore[arg-type]


def plan(
    state: FeedState,
    *entries: NewEntry,
    at: datetime = NOW,
    edits: tuple[EntryEdit, ...] = (),
    notices: tuple[Notice, ...] = (),
    aliases: tuple[tuple[Key, int], ...] = (),
    withdrawn: tuple[int, ...] = (),
    feed_change: FeedChange | None = None,
) -> IntakePlan:
    return IntakePlan(
        feed_no=state.no,
        epoch=state.epoch,
        at=at,
        change=feed_change or change(at=at, validators=Validators(etag='"1"', url=state.feed.url)),
        entries=entries,
        edits=edits,
        notices=notices,
        aliases=aliases,
        withdrawn=withdrawn,
    )


async def next_due_at(store: Store) -> datetime | None:
    """When the first feed or destination may be claimed; None: none ever."""
    sql = "SELECT due_at AS at FROM feed UNION SELECT due_at AS at FROM destination"
    times = [row["at"] for row in await store._db.read(lambda tx: tx.rows(sql)) if row["at"] is not None]
    return to_time(min(times)) if times else None


async def claimed(store: Store, name: str = "blog", *, at: datetime = NOW) -> FeedState:
    """The named feed under our lease."""
    state = await store.claim_feed(FeedId(name), now=at, lease=LEASE)
    assert state is not None
    return state


async def started(store: Store, *names: str, destinations: tuple[DestinationUid, ...] = (X, Y)) -> None:
    """A store that has its feeds and destinations."""
    await store.sync_feeds([feed(name) for name in names or ("blog",)], now=NOW)
    await store.sync_destinations(destinations, now=NOW)


async def announced(store: Store, *entries: NewEntry, name: str = "blog", at: datetime = NOW) -> tuple[Entry, ...]:
    """The entries as one poll stores them."""
    committed = await store.commit_intake(plan(await claimed(store, name, at=at), *entries, at=at), urgent=True)
    return committed.entries
