"""What is made in chat, what only one replica may do, and requests that count once."""

from datetime import timedelta

import pytest

from bot.core.errors import LeaseLost
from bot.core.model.feed import FeedId
from bot.core.model.route import DestinationUid
from bot.store.store import Store, open_store
from tests.store.builders import LEASE, MINUTE, NOW, X, announced, audited, claimed, entry, feed, new, started

ANN = DestinationUid("slack:U1")


async def test_follows_are_folded_and_kept_in_order(store: Store) -> None:
    assert await store.add_follow(ANN, "#BGP", now=NOW)
    assert not await store.add_follow(ANN, "bgp", now=NOW)
    assert await store.add_follow(ANN, "AI Networking", now=NOW + MINUTE)
    assert await store.follows() == [(ANN, "bgp"), (ANN, "ai-networking")]
    assert await store.consult(lambda reading: reading.follows_of(ANN)) == ["#BGP", "AI Networking"]
    assert await store.remove_follow(ANN, "BGP")
    assert not await store.remove_follow(ANN, "BGP")
    assert await store.follows() == [(ANN, "ai-networking")]


async def test_a_feed_added_in_chat_outlives_a_new_configuration(store: Store) -> None:
    await started(store)
    assert await store.add_chat_feed(feed("chat"), X, ["BGP"], who="slack:U9", now=NOW)
    assert not await store.add_chat_feed(feed("blog"), X, who="slack:U9", now=NOW)
    await store.sync_feeds([feed("blog"), feed("other")], now=NOW)
    assert [state.feed.id for state in await store.feeds()] == ["blog", "other", "chat"]
    assert (await claimed(store, "chat")).feed.from_chat
    assert await store.chat_feeds() == [("chat", X, ["bgp"])]
    assert not await store.remove_chat_feed(FeedId("blog"), who="slack:U9", now=NOW)
    assert await store.remove_chat_feed(FeedId("chat"), who="slack:U9", now=NOW)
    assert [state.feed.id for state in await store.feeds()] == ["blog", "other"]
    assert await store.chat_feeds() == []
    assert [who for who, _ in await audited(store)] == ["slack:U9", "slack:U9"]


async def test_what_is_owed_to_who_follows_outlives_a_new_configuration(store: Store) -> None:
    await store.add_follow(ANN, "bgp", now=NOW)
    await store.sync_feeds([feed()], now=NOW)
    await announced(store, new(entry(1), ANN))
    assert await store.sync_destinations([X], now=NOW) == 0
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=1)
    assert lane is not None
    assert lane.destination.uid == ANN


async def test_a_feed_removed_and_added_again_knows_its_entries(store: Store) -> None:
    await started(store)
    await store.add_chat_feed(feed("chat"), X, who="u", now=NOW)
    (stored,) = await announced(store, new(entry(1, of="chat")), name="chat")
    await store.remove_chat_feed(FeedId("chat"), who="u", now=NOW)
    assert await store.add_chat_feed(feed("chat"), X, who="u", now=NOW)
    state = await claimed(store, "chat")
    assert stored.key in (await store.known(state.no, [stored.key])).by_hash
    assert state.resumed_at == NOW


async def test_a_named_lease_is_one_owners_until_it_ends(store: Store, state: str) -> None:
    other = await open_store(state)
    epoch = await store.take_lease("gateway", now=NOW, until=NOW + LEASE)
    assert epoch is not None
    assert await other.take_lease("gateway", now=NOW, until=NOW + LEASE) is None
    await store.renew_lease("gateway", epoch=epoch, until=NOW + 2 * LEASE)
    assert await other.take_lease("gateway", now=NOW + LEASE, until=NOW + 2 * LEASE) is None
    taken = await other.take_lease("gateway", now=NOW + 2 * LEASE, until=NOW + 3 * LEASE)
    assert taken is not None
    with pytest.raises(LeaseLost):
        await store.renew_lease("gateway", epoch=epoch, until=NOW + 9 * LEASE)
    await store.release_lease("gateway", epoch=epoch)
    assert await store.take_lease("gateway", now=NOW + 2 * LEASE, until=NOW + 3 * LEASE) is None
    await other.release_lease("gateway", epoch=taken)
    assert await store.take_lease("gateway", now=NOW + 2 * LEASE, until=NOW + 3 * LEASE) is not None
    await other.close(now=NOW)


async def test_a_request_counts_once_until_it_expires(store: Store) -> None:
    assert await store.inbound_seen("a", now=NOW, until=NOW + MINUTE)
    assert not await store.inbound_seen("a", now=NOW, until=NOW + MINUTE)
    assert await store.inbound_seen("a", now=NOW + MINUTE, until=NOW + 2 * MINUTE)


async def test_identifies_are_counted_by_the_day(store: Store) -> None:
    assert await store.count_identify(now=NOW) == 1
    assert await store.count_identify(now=NOW + MINUTE) == 2
    assert await store.count_identify(now=NOW + timedelta(days=1)) == 2
