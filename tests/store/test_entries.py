"""What people ask of the stored entries: the newest, by tag, by words, by name."""

from datetime import timedelta

from bot.core.model.feed import FeedId
from bot.store.reading import Reading
from bot.store.store import Store
from tests.store.builders import MINUTE, NOW, X, announced, entry, key_of, new, started

DAY = timedelta(days=1)


async def test_the_newest_stands_first_and_what_was_announced_last_wins_a_tie(store: Store) -> None:
    await started(store)
    await announced(
        store, new(entry(3, at=NOW - DAY)), new(entry(1, at=NOW, title="Part 1")), new(entry(2, at=NOW, title="Part 2"))
    )
    assert [each.title for each in await store.latest(limit=3)] == ["Part 2", "Part 1", "Post 3"]


async def test_a_tag_is_found_in_any_feed_and_counts_as_it_is_mostly_written(store: Store) -> None:
    await started(store, "a", "b")
    await announced(store, new(entry(1, of="a", tags=("BGP", "EVPN"), section=("Networking",))), name="a")
    await announced(
        store,
        new(entry(1, of="b", tags=("bgp",), at=NOW - DAY)),
        new(entry(2, of="b", tags=("bgp",), at=NOW + MINUTE, title="Newer")),
        name="b",
    )
    assert [each.title for each in await store.latest(tag="bgp", limit=5)] == ["Newer", "Post 1", "Post 1"]
    assert [each.feed_id for each in await store.latest(tag="bgp", feed=FeedId("a"), limit=5)] == ["a"]
    assert await store.tags() == [("bgp", 3), ("EVPN", 1)]
    assert len(await store.latest(tag="networking", limit=5)) == 1
    assert await store.latest(tag="ospf") == []


async def test_hidden_feeds_are_not_shown(store: Store) -> None:
    await started(store, "a", "b")
    await announced(store, new(entry(1, of="a", tags=("x",))), name="a")
    await announced(store, new(entry(1, of="b", tags=("y",))), name="b")

    def look(everything: Reading) -> None:
        reading = everything.without(frozenset({FeedId("a")}))
        assert ([state.feed.id for state in reading.feeds()], reading.feed_ids()) == (["b"], ["b"])
        assert [each.feed_id for each in reading.latest(limit=5)] == ["b"]
        assert reading.latest(tag="x") == []
        assert reading.latest(feed=FeedId("a")) == []
        assert reading.tags() == [("y", 1)]
        assert (reading.has_tag("x"), reading.has_tag("y"), everything.has_tag("x")) == (False, True, True)
        assert [each.feed_id for each in reading.search(["post"], limit=5)] == ["b"]
        assert everything.without(frozenset({FeedId("a"), FeedId("b")})).latest() == []

    await store.consult(look)


async def test_a_tag_is_known_while_an_active_feed_has_an_entry_with_it(store: Store) -> None:
    await started(store, "a")
    await announced(store, new(entry(1, of="a", tags=("BGP",), section=("AI Networking",))), name="a")
    names = ("bgp", "ai-networking", "ospf")
    assert await store.consult(lambda reading: [reading.has_tag(name) for name in names]) == [True, True, False]
    await store.sync_feeds([], now=NOW)
    assert await store.consult(lambda reading: [reading.has_tag(name) for name in names]) == [False] * 3


async def test_an_entry_comes_back_as_it_was_stored(store: Store) -> None:
    await started(store)
    whole = entry(
        1,
        summary_html="<p>é</p>",
        content_html="<b>long</b>",
        tags=("BGP", "RoCE"),
        section=("News", "All"),
        author="Ann",
        image="https://blog.example/i.png",
        published=NOW - DAY,
        updated=NOW,
        date_only=True,
        edits=3,
    )
    (stored,) = await announced(store, new(whole))
    (found,) = await store.latest()
    assert found == stored
    assert await store.entries_since(NOW - DAY, limit=5) == [stored]
    assert await store.entries_since(NOW - DAY, limit=5, feeds=frozenset({FeedId("blog")})) == [stored]
    assert await store.entries_since(NOW - DAY, limit=5, feeds=frozenset({FeedId("other")})) == []


async def test_a_search_finds_every_word_in_title_text_or_tags(store: Store) -> None:
    await started(store)
    await announced(
        store,
        new(entry(1, title="Lossless Ethernet", text="Straße and 100% of it", tags=("RoCE v2",))),
        new(entry(2, title="Something else", text="nothing")),
    )
    for words in (["lossless", "ETHERNET"], ["strasse"], ["roce-v2"], ["100%"], ["lossless", "roce"], []):
        assert (await store.search(words, limit=9))[-1].title == "Lossless Ethernet", words
    for words in (["lossless", "nothing"], ["1%0"], ["l_ssless"], ["\\"]):
        assert await store.search(words, limit=9) == [], words


async def test_an_entry_is_found_by_guid_link_and_key(store: Store) -> None:
    await started(store)
    await announced(store, new(entry(1, guid="tag:1", link="https://www.blog.example/p/?utm_source=x&id=1#top")))
    for name in (
        "tag:1",
        "https://www.blog.example/p/?utm_source=x&id=1#top",
        "http://blog.example/p/?id=1",
        "blog.example/p?msclkid=2&id=1",
        "HTTPS://WWW.Blog.Example/p/?id=1",
        key_of("blog", 1).hex(),
    ):
        found = await store.entry(name)
        assert found is not None, name
        assert found.title == "Post 1"
    assert await store.entry("https://blog.example/other") is None
    assert await store.entry("https://blog.example/P/?id=1") is None


async def test_of_several_feeds_that_carry_a_story_the_one_that_told_it_is_found_by_its_link(store: Store) -> None:
    await started(store, "blog", "planet")
    link = "https://blog.example/p/1"
    await announced(store, new(entry(1, link=link, guid="1"), X))
    await announced(store, new(entry(1, of="planet", link=link, guid="1", title="Again")), name="planet")
    assert [found.title for name in (link, "1") if (found := await store.entry(name))] == ["Post 1", "Again"]
