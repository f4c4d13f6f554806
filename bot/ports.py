"""Protocols of the outside world: what each promises and what it may raise. Contracts are documented here, once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from bot.core.model.delivery import (
    Attempt,
    Delivery,
    Destination,
    Lane,
    Owed,
    Probe,
    Receipt,
    Settlement,
)
from bot.core.model.entry import Entry, Key, Known, KnownEntry, ParsedFeed
from bot.core.model.feed import Feed, FeedId, FeedState, Fetched, NotModified, Validators
from bot.core.model.message import Message, Payload
from bot.core.model.plan import Committed, IntakePlan, Notice
from bot.core.model.route import DestinationUid


class Clock(Protocol):
    """The one door for time and chance; the simulation walks through it with a clock of its own."""

    def now(self) -> datetime:
        """Wall time, aware, UTC."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""

    def roll(self) -> float:
        """A random number in [0, 1)."""

    async def sleep(self, delay: timedelta) -> None: ...

    async def wait(self, event: asyncio.Event, at_most: timedelta) -> bool:
        """Wait for `event`; False when `at_most` passed without it."""


class Fetcher(Protocol):
    async def fetch(self, feed: Feed, url: str, validators: Validators) -> Fetched | NotModified:
        """Ask for `url` once, following up to 5 redirects by hand, with both validators if they belong to it.

        Raises FetchError (status and retry_after where the server gave them), AddressRefused.
        """


class Parser(Protocol):
    async def parse(self, body: bytes, *, url: str, content_type: str | None, listed: dict[bytes, Key]) -> ParsedFeed:
        """Read a document in a guarded worker.

        `listed` maps the hash of an item's bytes to its entry's key: such items may come back as Listed;
        an empty one asks for a whole parse. Raises NotAFeed, ParserFailed.
        """


class Notifier(Protocol):
    """One platform. `to_payload` is pure; the rest asks the service once and never retries by itself (decision 3)."""

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        """Exactly what will be sent, within every limit of the service. `plain`: the fallback after a rejection."""

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        """Deliver once. Raises Deferred, MessageRejected, DestinationDown, OutcomeUnknown."""

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        """Look whether `key` was stored at or after `since`; None: surely not there now.

        Raises LookupUnavailable, LookupImpossible. Mail answers None at once: it is sent again under the same id.
        """

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        """Change a message that was sent; idempotent. Raises as `send`."""

    async def probe(self, destination: Destination) -> Probe:
        """Look at the destination without posting: its id, and whether look-ups work. Raises Deferred, DestinationDown.

        A destination that can't be read (webhooks) answers an empty Probe.
        """


Payloads = Callable[[], Awaitable[Mapping[str, Payload]]]


@runtime_checkable
class History(Protocol):
    """What a notifier may know besides: which of many messages were told already, in one look."""

    async def told(
        self, destination: Destination, keys: Set[str], payloads: Payloads, since: datetime
    ) -> Mapping[str, Receipt]:
        """Those of `keys` that stand in the history since then. Raises LookupUnavailable, LookupImpossible.

        `payloads` makes what they are, by key, for a service whose messages carry no key.
        """


class Store(Protocol):
    """The memory. Every method is one question or one transaction.

    Raises StoreUnavailable when the database can't be written or reached, LeaseLost where an epoch is compared.
    Times are given, never taken. What a method calls `owner` is this process.
    """

    # --- feeds
    async def sync_feeds(self, feeds: Sequence[Feed], *, now: datetime) -> None:
        """Make the rows what the configuration says: new feeds are due now (many of them: soon), gone ones are
        polled no more, and their keys stay 30 days. A feed whose URL changed keeps all but its validators (P4)."""

    async def claim_feeds(self, *, now: datetime, lease: timedelta, limit: int) -> Sequence[FeedState]:
        """Take due feeds that nobody holds, most overdue first: not paused, not stopped, none that is gone."""

    async def claim_all_feeds(self, *, now: datetime, lease: timedelta) -> Sequence[FeedState]:
        """For `once`: every active feed but those that `asked_until` holds back."""

    async def renew_feed(self, feed_no: int, *, epoch: int, until: datetime) -> None: ...

    async def release_feed(self, feed_no: int, *, epoch: int, next_poll_at: datetime | None = None) -> None:
        """Give the lease back unpolled: at shutdown, or until its host is free again."""

    async def known(self, feed_no: int, hashes: Sequence[Key]) -> Known: ...

    async def titled(self, feed_no: int, *, since: datetime, until: datetime) -> Sequence[tuple[str, KnownEntry]]:
        """Those of a feed's newest 500 entries that were published in this time, each with its title."""

    async def commit_intake(self, plan: IntakePlan, *, urgent: bool) -> Committed:
        """Write the plan in ONE transaction and free the lease. `urgent`: do not wait to share the commit."""

    async def poke(self, feed_id: FeedId, *, now: datetime) -> bool:
        """Make a feed due now, in backoff or not, but not before its `asked_until`; False: no such feed."""

    async def feeds(self) -> Sequence[FeedState]:
        """Every active feed, in the order of the configuration, then those added in chat; without their listings."""

    # --- lanes
    async def sync_destinations(self, uids: Sequence[DestinationUid], *, now: datetime) -> int:
        """Make sure each has its row; what is owed where neither these nor anybody in chat lead any more is dead.

        Returns how many rows died."""

    async def claim_lane(self, *, now: datetime, lease: timedelta, skip: frozenset[str], limit: int) -> Lane | None:
        """Take one destination that has something due, whose `not_before` has passed, that is not parked (but for one
        whose `probe_at` has come). Its owed rows come in order of `seq`, at most `limit`. `skip` leaves out schemes
        ("slack") and single destinations."""

    async def due_rows(self, uid: DestinationUid, *, now: datetime) -> Sequence[Delivery]:
        """Every due row of a destination in order, without entries: what a digest is bound from."""

    async def owed(self, uid: DestinationUid, *, now: datetime, limit: int) -> Sequence[Owed]:
        """The first due rows of a destination whose lease is ours, as a claim brings them."""

    async def put_off_probe(self, uid: DestinationUid, *, reason: str, probe_at: datetime) -> None:
        """A parked destination still takes nothing."""

    async def set_probe(self, uid: DestinationUid, probe: Probe) -> None:
        """Remember what a look at a destination found."""

    async def same_channel(self, uid: DestinationUid, remote_id: str) -> Sequence[DestinationUid]:
        """Other destinations of the same scheme that have this id and are neither parked nor gone."""

    async def unpark(self, uid: DestinationUid, *, probe: Probe) -> None:
        """A parked destination takes messages again: what it is owed is due."""

    async def renew_lane(self, uid: DestinationUid, *, epoch: int, until: datetime) -> None: ...

    async def release_lane(self, uid: DestinationUid, *, epoch: int) -> None: ...

    async def bind_digest(self, uid: DestinationUid, *, epoch: int, digest: Delivery, members: Sequence[int]) -> None:
        """Store `digest` at the place of its first member and tie the members to it, for good (R-21)."""

    async def begin(self, delivery: Delivery, payload: Payload, *, epoch: int, now: datetime) -> None:
        """Commit "sending" with the payload, before the first byte leaves (R-13)."""

    async def settle(
        self, delivery: Delivery, result: Settlement, *, epoch: int, now: datetime, notices: Sequence[Notice] = ()
    ) -> None:
        """Write what an attempt meant, to the delivery (and a digest's members), its destination, its attempts, and any
        notice, in ONE transaction. The lane's lease stays ours."""

    async def recover(self, *, now: datetime) -> None:
        """At start: every "sending" row of a process that is gone becomes "unknown"."""

    # --- entries
    async def entry(self, name: str) -> Entry | None:
        """The newest entry whose guid, link (canonical too) or hex key is `name`."""

    async def meta(self, name: str) -> str | None:
        """A fact kept under a name of its owner's choice."""

    async def deliveries_of(self, entry_id: int) -> Sequence[tuple[Delivery, Sequence[Attempt]]]: ...


WakeUp = Callable[[], None]  # tells the loops that something may be due now
