"""Which of a poll's new entries are told, one by one or as a digest, and how much of a flood a feed may make."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from bot.core.model.delivery import DIGEST_MEMBERS
from bot.core.model.feed import FeedMemory, FeedState
from bot.core.novelty import Fresh, News
from bot.core.owing import Bundle
from bot.core.schedule import poll_interval

MAX_NEW_PER_DAY: Final = 1000  # T30
MAX_DIGESTS_PER_DAY: Final = 24  # T30: of a flood; a UTC day
FLOOD_PAUSE: Final = timedelta(hours=1)  # T30: a feed that floods again and again is told once an hour
AWAY_INTERVALS: Final = 10  # N17
AWAY_AT_LEAST: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """The announced items in order; the first `bundled` of them as a digest, `untold` older ones not at all."""

    items: tuple[Fresh, ...]
    bundled: int = 0
    bundle: Bundle | None = None
    untold: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slot:
    """When a flood's next digest is due, and how many of its entries may still be told one by one."""

    due_at: datetime
    singles: int
    waiting: bool  # that digest is made up already, and only waits for its time


def decide_telling(
    state: FeedState, news: News, memory: FeedMemory, *, now: datetime, max_single: int, told: frozenset[str]
) -> tuple[Telling, FeedMemory]:
    """Say which new items are announced (N16), and which of them as a digest (N17, T30)."""
    items = news.new if state.primed_at is not None else _at_first(state, news, told)
    today = now.astimezone(UTC).date().isoformat()
    count = len(items) + (memory.new_today if memory.new_day == today else 0)
    memory = replace(memory, new_day=today, new_today=count)
    if not items:
        return Telling(items=items), memory
    slot = _slot(memory, now=now, max_single=max_single, many=len(items) > max_single or count > MAX_NEW_PER_DAY)
    if slot is None:
        return Telling(items=items), memory
    heading = "While away" if _was_away(state, now=now) else f"{len(items)} new entries at once"
    name = f"flood|{state.feed.id}|{slot.due_at.timestamp():.0f}"
    wanted = len(items) - min(slot.singles, len(items))
    bundled, memory = _make_room(memory, slot, wanted)
    untold = wanted - bundled
    bundle = Bundle(name=name, heading=heading, due_at=slot.due_at) if bundled else None
    return Telling(items=items[untold:], bundled=bundled, bundle=bundle, untold=untold), memory


def _slot(memory: FeedMemory, *, now: datetime, max_single: int, many: bool) -> _Slot | None:
    """When a digest is due; None: everything may go one by one."""
    last = memory.flooded_at
    if last is not None and last > now + FLOOD_PAUSE:
        last = None  # of a clock that has been set back since: no digest waits so long
    if last is not None and last > now:
        # Nothing passes the digest that waits, so that what follows is never older than what it brings.
        return _Slot(due_at=last, singles=0, waiting=True)
    if not many:
        return None
    if memory.new_today > MAX_NEW_PER_DAY or (last is not None and now < last + FLOOD_PAUSE):
        return _Slot(due_at=max(now, (last or now) + FLOOD_PAUSE), singles=0, waiting=False)
    return _Slot(due_at=now, singles=max_single, waiting=False)


def _make_room(memory: FeedMemory, slot: _Slot, wanted: int) -> tuple[int, FeedMemory]:
    """Say how many of the `wanted` entries the digests of the slot's day still hold, and count them."""
    day = slot.due_at.astimezone(UTC).date().isoformat()
    size = memory.flood_size if slot.waiting else 0
    made = memory.flood_digests if memory.flood_day == day else 0
    room = max(0, MAX_DIGESTS_PER_DAY - made) * DIGEST_MEMBERS + -size % DIGEST_MEMBERS
    taken = min(wanted, room)
    made += _digests(size + taken) - _digests(size)
    return taken, replace(memory, flooded_at=slot.due_at, flood_size=size + taken, flood_day=day, flood_digests=made)


def _digests(entries: int) -> int:
    return -(-entries // DIGEST_MEMBERS)


def _at_first(state: FeedState, news: News, told: frozenset[str]) -> tuple[Fresh, ...]:
    """What the first poll announces: as many as the operator asked for, or what another bot had not told yet.

    Where nothing of the document is among what was told, that bot named its entries otherwise: then nothing is.
    """
    fresh = tuple(item for item in news.new if not {item.parsed.guid, item.parsed.link} & told)
    if told and len(fresh) < len(news.new):
        return fresh
    return news.new[len(news.new) - min(state.feed.initial, len(news.new)) :]


def _was_away(state: FeedState, *, now: datetime) -> bool:
    since = max((at for at in (state.last_ok_at, state.primed_at) if at is not None), default=now)
    interval = poll_interval(state.feed, has_validators=state.validators.are_given)
    return now - since > max(AWAY_AT_LEAST, AWAY_INTERVALS * interval) or state.resumed_at is not None
