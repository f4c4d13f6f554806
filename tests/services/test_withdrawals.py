"""What vanishes from a feed is marked where it was told, if it was really taken back."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest

from bot.core.errors import FetchError
from bot.core.model.delivery import DeliveryKind
from bot.core.model.entry import Entry
from bot.core.model.feed import Feed, FeedAuth
from bot.core.model.plan import EntryEdit
from bot.core.novelty import vanished
from bot.core.render import card_of
from bot.services.withdrawals import with_withdrawn
from bot.store.store import Store, open_store
from tests.store.builders import LEASE, NOW, X, announced, change, claimed, entry, key_of, new, plan, started

KEYS = [key_of("blog", number) for number in range(1, 9)]  # newest first


class Pages:
    """Every page answers `status`."""

    def __init__(self, status: int | None) -> None:
        self.status = status
        self.asked: list[tuple[Feed, str]] = []

    async def ask(self, feed: Feed, url: str) -> None:
        self.asked.append((feed, url))
        if self.status != 200:
            raise FetchError("no page", status=self.status)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    found = await open_store(f"sqlite:///{tmp_path}/bell.db", exclusive=True)
    await started(found)
    yield found
    await found.close(now=NOW)


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        (KEYS[:4], [KEYS[0], KEYS[2], KEYS[3]], [KEYS[1]]),
        (KEYS[1:5], KEYS[:4], []),  # one came, the oldest fell off
        (KEYS[:4], KEYS[1:4], [KEYS[0]]),
        (KEYS[:4], KEYS[:3], []),
        (KEYS[:4], [], []),
        ([], KEYS[:4], []),
        (KEYS, KEYS[4:], []),  # four at once are no withdrawal
        (KEYS[:2], KEYS[4:], []),  # nothing that was listed stays
    ],
)
def test_only_what_older_ones_outlive_has_vanished(before: Sequence, after: Sequence, gone: Sequence) -> None:  # type: ignore[type-arg]  # of keys
    assert list(vanished(before, after, oldest_first=False)) == gone
    assert list(vanished(before[::-1], after[::-1], oldest_first=True)) == gone


async def looked_at(store: Store, pages: Pages, *, option: bool = True) -> Sequence[Entry]:
    """Announce two entries, let the newer one vanish, and return what is stored of them, newer first."""
    await announced(store, new(entry(2), X), new(entry(1), X))
    state = await claimed(store)
    listing = tuple((key, key) for key in (key_of("blog", 1), key_of("blog", 2)))
    feed = replace(state.feed, withdrawn=option, headers=(("X-Key", "secret"),), auth=FeedAuth(bearer="secret"))
    found = replace(state, feed=feed, listing=listing)
    made = plan(found, feed_change=change(listing=listing[1:]))
    made = await with_withdrawn(found, made, store=store, ask=pages.ask, now=NOW)
    await store.commit_intake(made, urgent=True)
    stored = [await store.entry(key_of("blog", number).hex()) for number in (1, 2)]
    return [one for one in stored if one is not None]


@pytest.mark.parametrize("status", [404, 410])
async def test_an_entry_whose_page_is_gone_is_withdrawn_and_can_come_back(store: Store, status: int) -> None:
    pages = Pages(status)
    newer, older = await looked_at(store, pages)
    assert (newer.withdrawn_at, older.withdrawn_at) == (NOW, None)
    assert card_of(newer, timezone=UTC).note == "withdrawn"
    ((asked, url),) = pages.asked
    assert (url, asked.headers, asked.auth) == ("https://blog.example/1/", (), None)
    state = await claimed(store)
    back = replace(newer, withdrawn_at=None, content_hash="hash 1", edits=newer.edits + 1)
    await store.commit_intake(plan(state, edits=(EntryEdit(entry=back),)), urgent=True)
    again = await store.entry(newer.key.hex())
    assert again is not None
    assert again.withdrawn_at is None


@pytest.mark.parametrize("status", [200, 403, 500, None])
async def test_an_entry_whose_page_may_be_there_is_not(store: Store, status: int | None) -> None:
    newer, _ = await looked_at(store, Pages(status))
    assert newer.withdrawn_at is None


async def test_nobody_looks_who_was_not_asked_to(store: Store) -> None:
    pages = Pages(404)
    await looked_at(store, pages, option=False)
    assert pages.asked == []


async def test_the_message_that_told_it_is_changed(store: Store) -> None:
    await announced(store, new(entry(1), X))
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=1)
    assert lane is not None
    await store.begin(lane.owed[0].delivery, {}, epoch=lane.destination.epoch, now=NOW)
    await looked_at(store, Pages(404))
    stored = await store.entry(key_of("blog", 1).hex())
    assert stored is not None
    kinds = [row.kind for row, _ in await store.deliveries_of(stored.id)]
    assert kinds == [DeliveryKind.ENTRY, DeliveryKind.EDIT]
