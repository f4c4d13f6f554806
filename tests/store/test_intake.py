"""The intake's transaction: what one poll writes, once, whatever else happens."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

from bot.core.model.delivery import DeliveryKind, Receipt, Sent
from bot.core.model.plan import EntryEdit, Notice
from bot.core.model.route import DestinationUid, OnEdit
from bot.store import entries
from bot.store.store import Store
from tests.store.builders import (
    LEASE,
    MINUTE,
    NOW,
    OPS,
    X,
    Y,
    announced,
    claimed,
    entry,
    key_of,
    new,
    plan,
    started,
)


async def test_new_entries_and_what_they_owe_are_written_together(store: Store) -> None:
    await started(store)
    committed = await store.commit_intake(
        plan(await claimed(store), new(entry(1), X, Y), new(entry(2), X)), urgent=True
    )
    assert committed.owed == 3
    assert [each.title for each in committed.entries] == ["Post 1", "Post 2"]
    assert committed.entries[0].id < committed.entries[1].id
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=10)
    assert lane is not None


async def test_an_entry_whose_key_is_taken_is_not_written_nor_owed(store: Store) -> None:
    await started(store)
    await announced(store, new(entry(1), X))
    again = await store.commit_intake(plan(await claimed(store), new(entry(1), X, Y), new(entry(2), Y)), urgent=True)
    assert ([each.title for each in again.entries], again.owed) == (["Post 2"], 1)


async def test_a_key_that_is_the_alias_of_another_entry_is_taken(store: Store) -> None:
    await started(store)
    (first,) = await announced(store, replace(new(entry(1)), hashes=(key_of("blog", 1), key_of("alias"))))
    again = await store.commit_intake(
        plan(await claimed(store), new(entry(2, key=key_of("alias")), X), aliases=((key_of("later"), first.id),)),
        urgent=True,
    )
    assert (again.entries, again.owed) == ((), 0)
    known = await store.known(1, [key_of("later"), key_of("alias"), key_of("nothing")])
    assert known.by_hash == {key_of("later"): first.id, key_of("alias"): first.id}
    assert known.entries[first.id].key == key_of("blog", 1)
    assert known.total == 1


async def test_one_document_with_the_same_key_twice_gives_one_entry(store: Store) -> None:
    await started(store)
    committed = await store.commit_intake(plan(await claimed(store), new(entry(1), X), new(entry(1), X)), urgent=True)
    assert (len(committed.entries), committed.owed) == (1, 1)


async def test_what_was_owed_before_under_the_same_identity_is_not_owed_again(store: Store) -> None:
    """As after a backup was restored: the entry is new to us, its message is not."""
    await started(store, "blog", "twin")
    first = entry(1)
    await announced(store, new(first, X))
    twin = new(entry(1, of="twin"), X, idem=(await store.deliveries_of(1))[0][0].idem)
    committed = await store.commit_intake(plan(await claimed(store, "twin"), twin), urgent=True)
    assert (len(committed.entries), committed.owed) == (1, 0)


async def test_many_known_names_are_looked_up_at_once(store: Store) -> None:
    await started(store)
    await announced(store, *(new(entry(number)) for number in range(1200)))
    known = await store.known(1, [key_of("blog", number) for number in range(1300)])
    assert (len(known.by_hash), len(known.entries), known.total) == (1200, 1200, 1200)


async def test_one_story_of_two_feeds_is_told_once_in_thirty_days(store: Store) -> None:
    await started(store, "a", "b")
    story = key_of("story")
    await announced(store, new(entry(1, of="a"), X, story=story), name="a")
    other = await store.commit_intake(
        plan(await claimed(store, "b"), new(entry(1, of="b"), X, Y, story=story)), urgent=True
    )
    assert (len(other.entries), other.owed) == (1, 1)
    later = NOW + timedelta(days=31)
    late = await store.commit_intake(
        plan(await claimed(store, "b", at=later), new(entry(2, of="b"), X, story=story), at=later), urgent=True
    )
    assert late.owed == 1


async def test_the_same_feed_may_take_its_own_story_again(store: Store) -> None:
    await started(store)
    await announced(store, new(entry(1), X, story=key_of("story")))
    again = await store.commit_intake(plan(await claimed(store), new(entry(2), X, story=key_of("story"))), urgent=True)
    assert again.owed == 1


async def test_two_feeds_that_race_for_a_story_give_one_message(store: Store) -> None:
    names = [f"feed{number}" for number in range(8)]
    await started(store, *names)
    states = await store.claim_feeds(now=NOW, lease=LEASE, limit=8)
    committed = await asyncio.gather(
        *(
            store.commit_intake(plan(state, new(entry(1, of=state.feed.id), X, story=key_of("story"))), urgent=True)
            for state in states
        )
    )
    assert sum(each.owed for each in committed) == 1


async def test_a_notice_is_owed_to_the_operator_once(store: Store) -> None:
    await started(store)
    notice = Notice(key="broken|blog", words="blog is broken")
    for _ in range(2):
        await store.commit_intake(plan(await claimed(store), notices=(notice,)), urgent=True)
    assert [words for _, words in await store.notices()] == ["blog is broken"]
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=10)
    assert lane is not None
    assert lane.destination.uid == OPS
    assert [(owed.delivery.kind, owed.delivery.notice) for owed in lane.owed] == [
        (DeliveryKind.NOTICE, "blog is broken")
    ]


async def test_an_edit_is_owed_where_the_entry_was_sent_and_can_be_changed(store: Store) -> None:
    mail, hook = DestinationUid("email:a@b.example"), DestinationUid("webhook:w")
    await started(store, destinations=(X, Y, mail, hook))
    first = new(entry(1), X, mail)
    asked = new(entry(1), hook, options=replace(first.deliveries[0].delivery.options, on_edit=OnEdit.UPDATE))
    (stored,) = await announced(store, replace(first, deliveries=(*first.deliveries, *asked.deliveries)))
    for _ in range(3):
        lane = await store.claim_lane(now=NOW, lease=LEASE, limit=1)
        assert lane is not None
        sent, epoch = lane.owed[0].delivery, lane.destination.epoch
        await store.begin(sent, {"text": "Post 1"}, epoch=epoch, now=NOW)
        await store.settle(sent, Sent(receipt=Receipt(remote_ref="ref")), epoch=epoch, now=NOW)
        await store.release_lane(lane.destination.uid, epoch=epoch)
    edited = replace(stored, title="Post one", content_hash="other", edits=1)
    at = NOW + MINUTE
    committed = await store.commit_intake(
        plan(await claimed(store, at=at), edits=(EntryEdit(entry=edited),), at=at), urgent=True
    )
    assert committed.owed == 2
    assert (await store.latest())[0].title == "Post one"
    lanes = [await store.claim_lane(now=at, lease=LEASE, limit=5) for _ in range(2)]
    owed = {lane.destination.uid: lane.owed[0] for lane in lanes if lane is not None}
    assert owed.keys() == {X, hook}
    assert owed[X].delivery.edit_no == 1
    assert owed[X].entries[0].title == "Post one"
    assert owed[X].original is not None
    assert owed[X].original.remote_ref == "ref"


async def test_an_edit_before_the_message_went_out_needs_none_of_its_own(store: Store) -> None:
    await started(store)
    (stored,) = await announced(store, new(entry(1), X))
    edited = replace(stored, title="Post one", content_hash="other", edits=1)
    committed = await store.commit_intake(plan(await claimed(store), edits=(EntryEdit(entry=edited),)), urgent=True)
    assert committed.owed == 0
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=5)
    assert lane is not None
    assert [owed.entries[0].title for owed in lane.owed] == ["Post one"]


async def test_an_edit_is_not_owed_where_no_route_tells_anything_any_more(store: Store) -> None:
    await started(store)
    (stored,) = await announced(store, new(entry(1), X))
    lane = await store.claim_lane(now=NOW, lease=LEASE, limit=1)
    assert lane is not None
    sent, epoch = lane.owed[0].delivery, lane.destination.epoch
    await store.begin(sent, {"text": "Post 1"}, epoch=epoch, now=NOW)
    await store.settle(sent, Sent(receipt=Receipt(remote_ref="ref")), epoch=epoch, now=NOW)
    await store.release_lane(X, epoch=epoch)
    await store.sync_destinations([Y], now=NOW)
    edited = replace(stored, title="Post one", content_hash="other", edits=1)
    committed = await store.commit_intake(plan(await claimed(store), edits=(EntryEdit(entry=edited),)), urgent=True)
    assert committed.owed == 0


async def test_an_edit_moves_the_tags_with_it(store: Store) -> None:
    await started(store)
    (stored,) = await announced(store, new(entry(1, tags=("BGP", "EVPN"))))
    edited = replace(stored, tags=("EVPN", "RoCE"), edits=1)
    await store.commit_intake(plan(await claimed(store), edits=(EntryEdit(entry=edited),)), urgent=True)
    assert await store.tags() == [("EVPN", 1), ("RoCE", 1)]
    assert await store.latest(tag="bgp") == []
    assert len(await store.latest(tag="roce")) == 1


async def test_a_withdrawn_entry_says_since_when(store: Store) -> None:
    await started(store)
    (stored,) = await announced(store, new(entry(1)))
    await store.commit_intake(plan(await claimed(store), withdrawn=(stored.id,)), urgent=True)
    assert (await store.latest())[0].withdrawn_at == NOW


async def test_what_no_database_can_hold_does_not_lose_the_entry(store: Store) -> None:
    await started(store)
    odd = entry(1, title="a\x00b\ud800c", guid="g\x00", tags=("t\x00",), text="\udfff", author="\ud800")
    await announced(store, new(odd, X, notice="n\x00"))
    (found,) = await store.latest()
    assert found.title.startswith("a\ufffdb")


async def test_plans_that_are_not_urgent_share_a_commit(store: Store) -> None:
    names = [f"feed{number}" for number in range(60)]
    await started(store, *names)
    states = await store.claim_feeds(now=NOW + 2 * MINUTE, lease=LEASE, limit=60)
    await asyncio.gather(
        *(store.commit_intake(plan(state, new(entry(1, of=state.feed.id), X)), urgent=False) for state in states)
    )
    assert len(await store.latest(limit=100)) == 60


async def test_titles_of_a_time_are_the_newest_with_their_entries(store: Store) -> None:
    await started(store)
    dated = [entry(n, published=NOW - MINUTE * n, sort_at=NOW - MINUTE * n) for n in range(4)]
    stored = await announced(store, *(new(each) for each in dated), new(entry(9, published=None)))
    found = await store.titled(1, since=NOW - MINUTE * 2, until=NOW - MINUTE)
    assert [(title, known.id, known.published) for title, known in found] == [
        ("Post 1", stored[1].id, NOW - MINUTE),
        ("Post 2", stored[2].id, NOW - MINUTE * 2),
    ]
    assert await store.titled(2, since=NOW - MINUTE * 9, until=NOW) == []
    with patch.object(entries, "TITLED", 2):  # however many a feed has, a poll reads no more of them
        assert await store.titled(1, since=NOW - MINUTE * 3, until=NOW - MINUTE * 3) == []
