"""A feed's row and the values made of it."""

import json
from collections.abc import Mapping
from datetime import timedelta
from struct import Struct

from bot.core.model.feed import Feed, FeedId, FeedMemory, FeedState, Key, Validators
from bot.store import records
from bot.store.sql import Row, Value, span_ms, to_time, to_time_or_none

_PAIRS = Struct("16s16s")


def to_state(row: Row, configured: Mapping[FeedId, Feed]) -> FeedState:
    """Join a row with its configuration, which alone holds headers and secrets."""
    no_validators = row["etag"] is None and row["last_modified"] is None
    return FeedState(
        no=row["no"],
        feed=configured.get(row["id"]) or _rebuilt(row),
        validators=Validators()
        if no_validators
        else Validators(etag=row["etag"], last_modified=row["last_modified"], url=row["validators_url"]),
        memory=records.load(FeedMemory, row["memory"]),
        listing=unpack_listing(row["listing"]) if "listing" in row else (),
        title=row["title"],
        site_url=row["site_url"],
        primed_at=to_time_or_none(row["primed_at"]),
        next_poll_at=to_time(row["next_poll_at"]),
        asked_until=to_time_or_none(row["asked_until"]),
        last_poll_at=to_time_or_none(row["last_poll_at"]),
        last_ok_at=to_time_or_none(row["last_ok_at"]),
        last_new_at=to_time_or_none(row["last_new_at"]),
        failures=row["failures"],
        failing_since=to_time_or_none(row["failing_since"]),
        error=row["error"],
        stopped=row["stopped"],
        paused_at=to_time_or_none(row["paused_at"]),
        resumed_at=to_time_or_none(row["resumed_at"]),
        epoch=row["epoch"],
    )


def to_columns(feed: Feed) -> dict[str, Value]:
    """What is stored of a feed's configuration: never its headers or credentials."""
    spec = {"own": feed.own, "initial": feed.initial, "section": feed.section, "tags": list(feed.tags)}
    return {
        "id": feed.id,
        "url": feed.url,
        "interval_ms": span_ms(feed.interval),
        "spec": json.dumps({name: value for name, value in spec.items() if value}, separators=(",", ":")),
        "from_chat": int(feed.from_chat),
    }


def pack_listing(listing: tuple[tuple[bytes, Key], ...]) -> bytes:
    """Pairs of an item's hash and its entry's key, 16 bytes each, one after the other."""
    return b"".join(part for pair in listing for part in pair)


def unpack_listing(blob: bytes) -> tuple[tuple[bytes, Key], ...]:
    return tuple(_PAIRS.iter_unpack(blob))


def _rebuilt(row: Row) -> Feed:
    """A feed as far as its row tells: for commands that only read, and for feeds added in chat."""
    spec = json.loads(row["spec"])
    return Feed(
        id=FeedId(row["id"]),
        url=row["url"],
        interval=timedelta(milliseconds=row["interval_ms"]),
        own=spec.get("own", False),
        initial=spec.get("initial", 0),
        section=spec.get("section"),
        tags=tuple(spec.get("tags", ())),
        from_chat=bool(row["from_chat"]),
    )
