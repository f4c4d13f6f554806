"""A feed: what the operator configured, and what the store remembers of it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NewType, TypeAlias

Key = NewType("Key", bytes)  # 16 bytes; what makes an entry the same entry within its feed
FeedId = NewType("FeedId", str)  # the configured `id`; stable while the URL may change


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedAuth:
    """Credentials of one feed, sent only to the origin of its own URL (T28)."""

    username: str | None = None
    password: str | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """One feed as configured, in the file or by an `add` in chat."""

    id: FeedId
    url: str
    interval: timedelta = timedelta(minutes=15)
    own: bool = False  # the operator's own server: no floor, no pacing
    floor: timedelta = timedelta(minutes=5)  # P5: the shortest interval of a server that is not one's own
    blind_floor: timedelta = timedelta(minutes=60)  # P5: without a validator each poll costs it a whole document
    backoff_cap: timedelta = timedelta(hours=24)  # P10: what failures in a row can make of an interval
    initial: int = 0  # how many entries the first poll announces, newest ones, at most 5
    section: str | None = None
    tags: tuple[str, ...] = ()  # added to each entry
    withdrawn: bool = False  # look whether what vanishes from it was taken back
    allow_private: tuple[str, ...] = ()  # networks in CIDR form that the guard lets through
    headers: tuple[tuple[str, str], ...] = ()
    auth: FeedAuth | None = None
    from_chat: bool = False  # added in chat: allowed ports only, no private address


@dataclass(frozen=True, slots=True, kw_only=True)
class Validators:
    """What a server said to ask again with, byte-exact, and the URL that said it (P1, P4)."""

    etag: str | None = None
    last_modified: str | None = None
    url: str | None = None  # the final URL of the answer that gave them

    @property
    def are_given(self) -> bool:
        """Whether there are any: without one each poll brings the whole document (P5)."""
        return self.etag is not None or self.last_modified is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedMemory:
    """What detection remembers from poll to poll; stored whole, read by nobody but core.

    Every field has a default, so that a row written by an older version reads well.
    """

    body_hash: str | None = None  # of the last whole body that was understood
    items_hash: str | None = None  # from the first item on: lastBuildDate moves at each build
    head_hash: str | None = None  # everything before the first item, its dates aside
    trim_ok: bool = False  # the last whole parse found as many entries as the cut did
    section: tuple[str, ...] | None = None  # categories that are no tags; once decided, kept
    links_shared: bool = False  # one link was seen on two guids: links identify nothing here (N6)
    guids_shared: bool = False  # duplicate guids were seen: keys carry the link too (N7)
    date_only: bool = False  # every date seen is a midnight: print dates, never times
    oldest_first: bool = False  # the document lists its oldest entry first
    empty_polls: int = 0  # in a row, for a feed that had entries (N13)
    truncated_polls: int = 0  # in a row (N14)
    gone_polls: int = 0  # 410 in a row (N24)
    redirect_to: str | None = None  # target of a permanent redirect under observation (N23)
    redirect_since: datetime | None = None
    redirect_polls: int = 0
    moved_to: str | None = None  # adopted after N23; polled instead of the configured URL
    told_broken_at: datetime | None = None
    rekeyed_at: datetime | None = None  # the last poll in which many entries came under other names (N11)
    flooded_at: datetime | None = None  # when the last digest of too many entries was, or will be, due (T30)
    flood_size: int = 0  # entries in that digest (T30)
    flood_day: str | None = None  # the UTC date that flood_digests counts (T30)
    flood_digests: int = 0
    new_day: str | None = None  # the UTC date that new_today counts (T30)
    new_today: int = 0
    ttl: timedelta | None = None  # the feed's own wish (RSS ttl, sy:updatePeriod), P6
    skip_hours: tuple[int, ...] = ()  # GMT
    skip_days: tuple[str, ...] = ()  # English names, lower case
    hub: str | None = None  # WebSub
    self_url: str | None = None
    cut_to: int | None = None  # entries the document held, where it was over the limit (T8)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedState:
    """One row of the store: everything a poll needs to know beforehand, and what people are shown."""

    no: int  # the store's own number; never part of an identity
    feed: Feed
    validators: Validators = Validators()
    memory: FeedMemory = FeedMemory()
    listing: tuple[tuple[bytes, Key], ...] = ()  # (hash of an item's bytes, its entry's key), document order
    title: str = ""
    site_url: str | None = None
    primed_at: datetime | None = None  # the first poll that was understood, even an empty one (N16)
    next_poll_at: datetime
    asked_until: datetime | None = (
        None  # the server's own Retry-After, or the wait after a 410; `once` and pokes keep it
    )
    last_poll_at: datetime | None = None
    last_ok_at: datetime | None = None
    last_new_at: datetime | None = None
    failures: int = 0  # in a row
    failing_since: datetime | None = None
    error: str | None = None  # in plain words
    stopped: str | None = None  # why it is not polled any more (410 three times)
    paused_at: datetime | None = None
    resumed_at: datetime | None = None
    epoch: int = 0  # of the lease; compared at commit


Hops: TypeAlias = tuple[tuple[int, str], ...]  # each redirect: its status and the target
PERMANENT = frozenset({301, 308})


def moved_for_good(hops: Hops) -> bool:
    """Whether there was a redirect, and each says that it will last."""
    return bool(hops) and all(status in PERMANENT for status, _ in hops)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A 200 with its whole body, decoded from Content-Encoding but not from its charset."""

    url: str  # final
    body: bytes
    content_type: str | None
    validators: Validators
    hops: Hops = ()
    max_age: timedelta | None = None  # from Cache-Control, or Expires minus Date (P6)
    hub: str | None = None  # from Link headers
    self_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotModified:
    """A 304, with the validators it may have changed (P3)."""

    url: str
    validators: Validators
    hops: Hops = ()
    max_age: timedelta | None = None
