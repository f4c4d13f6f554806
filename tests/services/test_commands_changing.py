"""Follows, and what admins change: feeds added, removed, paused, resumed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.errors import AddressRefused, FetchError
from bot.core.model.feed import Feed, FeedId
from tests.chat_room import Room, admin, feed_of, item, someone, words
from tests.store.builders import audited

URL = "https://site.example/feed.xml"


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = await Room.open(tmp_path)
    room.web.pages[URL] = feed_of(item(1, "bgp") + item(2, "evpn"))
    yield room
    await room.close()


async def test_a_follow_is_kept_for_the_person_and_wakes_the_loops(room: Room) -> None:
    assert "you follow BGP" in await room.say("follow #BGP")
    assert room.woken
    assert await room.store.follows() == [("slack:U0READER", "bgp")]
    assert "already" in await room.say("follow bgp", someone(direct=True))
    assert await room.say("following") == "you follow: BGP"
    assert "no tag" in await room.say("following", someone("U0OTHER"))


async def test_unfollow_takes_any_spelling(room: Room) -> None:
    await room.say("follow ai networking")
    assert "no more" in await room.say('unfollow tag:"AI_Networking"')
    assert "you do not follow bgp" in await room.say("unfollow bgp")
    assert await room.store.follows() == []


async def test_nobody_follows_more_than_fifty_tags(room: Room) -> None:
    for number in range(50):
        room.clock.advance(timedelta(minutes=1))
        await room.say(f"follow t{number}")
    room.clock.advance(timedelta(minutes=1))
    assert "unfollow one first" in await room.say("follow one-more")
    assert "which tag" in await room.say('follow ""')


async def test_add_shows_what_it_would_do_and_changes_nothing(room: Room) -> None:
    answer = await room.ask(f"add {URL} bgp", admin())
    assert "added as example-feed" in words(answer)
    assert "only posts tagged bgp" in words(answer)
    assert "Article 2" in words(answer)
    assert await room.store.feeds() == []
    assert answer.buttons[0].text == f"{URL} bgp confirm"


async def test_a_confirmed_feed_is_read_and_goes_to_the_channel_it_was_added_in(room: Room) -> None:
    button = (await room.ask(f'add {URL} bgp "big data"', admin())).buttons[0]
    assert "added as example-feed" in await room.say(f"{button.name} {button.text}", admin())
    state = (await room.store.feeds())[0]
    assert (state.feed.id, state.feed.url, state.feed.from_chat) == ("example-feed", URL, True)
    assert await room.store.chat_feeds() == [("example-feed", "slack:C0GENERAL", ["bgp", "big-data"])]
    who, what = (await audited(room.store))[0]
    assert (who, "example-feed" in what) == ("slack:U0ADMIN", True)
    assert room.woken


async def test_a_feed_added_in_a_dm_comes_as_direct_messages(room: Room) -> None:
    await room.say(f"add {URL} confirm", admin(direct=True))
    assert [uid for _, uid, _ in await room.store.chat_feeds()] == ["slack:U0ADMIN"]


async def test_the_feed_behind_a_page_is_found(room: Room) -> None:
    room.web.pages["https://site.example/"] = (
        b'<html><head><link rel="alternate" type="application/rss+xml" href="/feed.xml"></head><body></body></html>'
    )
    assert "example-feed" in await room.say("add <https://site.example/|site.example> confirm", admin())
    assert (await room.store.feeds())[0].feed.url == URL


async def test_a_feed_is_added_once(room: Room) -> None:
    await room.say(f"add {URL} confirm", admin())
    room.web.pages[f"{URL}?utm_source=x"] = room.web.pages[URL]
    assert "here already, as example-feed" in await room.say(f"add {URL}?utm_source=x confirm", admin())
    room.web.pages["https://other.example/feed"] = feed_of(item(3))
    assert "example-feed-2" in await room.say("add https://other.example/feed confirm", admin())


async def test_a_private_address_is_refused_in_the_same_words_and_time_as_one_that_is_not_there(room: Room) -> None:
    room.web.errors["http://10.0.0.5/"] = AddressRefused("10.0.0.5 is a private address")
    room.web.errors["https://slow.example/"] = FetchError("no answer in time")
    room.web.pages["https://page.example/"] = b"<html>no feed here</html>"
    said = {
        await room.say(f"add {url}", admin())
        for url in ("http://10.0.0.5/", "https://slow.example/", "https://gone.example/", "https://page.example/")
    }
    assert said == {"no feed can be read at that address"}
    assert room.clock.slept == [timedelta(seconds=2)] * 4


@pytest.mark.parametrize("text", ["", "confirm", "ftp://site.example/f", "https://u:p@site.example/f", "localhost x"])
async def test_what_is_no_address_is_asked_for(room: Room, text: str) -> None:
    said = await room.say(f"add {text}", admin())
    assert "web address" in said or "which feed" in said
    assert room.web.asked == []


@pytest.mark.parametrize(
    "address", ["https://u:pa55@f.example/x", "<http://u:pa55@f.example|f.example>", "pa55@f.example"]
)
async def test_a_password_in_an_address_is_not_repeated(room: Room, address: str) -> None:
    said = await room.say(f"add {address}", admin())
    assert "[feeds.auth]" in said
    assert "pa55" not in said
    assert room.web.asked == []


async def test_a_feed_of_the_file_can_be_paused_but_not_removed(room: Room) -> None:
    await room.read(Feed(id=FeedId("filed"), url="https://f.example/f"), feed_of(item(1)))
    assert "configuration file" in await room.say("remove filed", admin())
    assert "is paused" in await room.say("pause FILED", admin())
    assert (await room.store.feeds())[0].paused_at is not None
    assert "paused already" in await room.say("pause filed", admin())
    assert "read again" in await room.say("resume filed", admin())
    assert "not paused" in await room.say("resume filed", admin())
    assert [what for _, what in await audited(room.store)] == ["resume filed", "pause filed"]


async def test_a_feed_added_in_chat_can_be_removed_there(room: Room) -> None:
    await room.say(f"add {URL} confirm", admin())
    assert "is removed" in await room.say("remove example-feed", admin())
    assert await room.store.feeds() == []
    assert 'no feed "example-feed"; feeds: none' in await room.say("remove example-feed", admin())
