"""Entries that were taken back: gone from a feed that still lists older ones, and their page gone too."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from bot.core.errors import FetchError
from bot.core.model.entry import Entry
from bot.core.model.feed import Feed, FeedState
from bot.core.model.plan import EntryEdit, IntakePlan
from bot.core.novelty import vanished
from bot.core.plan import MAX_EDITS

GONE = (404, 410)
Ask = Callable[[Feed, str], Awaitable[object]]  # for a page; raises FetchError
MARK = "withdrawn"  # stands for the content's hash: should the entry come back, its words are news to its message


class Entries(Protocol):
    """The part of the store that knows an entry by its key."""

    async def entry(self, name: str) -> Entry | None: ...


async def with_withdrawn(state: FeedState, plan: IntakePlan, *, store: Entries, ask: Ask, now: datetime) -> IntakePlan:
    """Add what was taken back, where the feed's operator wants that looked at."""
    if not state.feed.withdrawn or plan.change.listing is None:
        return plan
    before, after = ([key for _, key in listing] for listing in (state.listing, plan.change.listing))
    edits: list[EntryEdit] = []
    for key in vanished(before, after, oldest_first=state.memory.oldest_first):
        entry = await store.entry(key.hex())
        if entry is None or entry.feed_id != state.feed.id or entry.withdrawn_at is not None or entry.link is None:
            continue
        if await _is_gone(state.feed, entry.link, ask):
            marked = replace(entry, withdrawn_at=now, content_hash=MARK, edits=entry.edits + 1)
            edits.append(EntryEdit(entry=marked, announce=entry.edits < MAX_EDITS))
    withdrawn = (*plan.withdrawn, *(edit.entry.id for edit in edits))
    return replace(plan, edits=(*plan.edits, *edits), withdrawn=withdrawn)


async def _is_gone(feed: Feed, link: str, ask: Ask) -> bool:
    # The page may be anywhere: what opens the feed is not shown there.
    stranger = replace(feed, headers=(), auth=None)
    try:
        await ask(stranger, link)
    except FetchError as error:
        return error.status in GONE
    return False
