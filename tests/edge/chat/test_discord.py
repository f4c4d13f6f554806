"""Discord's people type over HTTP and the gateway, and are answered once, in time, and only they."""

from __future__ import annotations

import asyncio
import re

import pytest

from bot.core.model.feed import Feed, FeedId
from tests.chat_room import Room, feed_of, item
from tests.edge.chat.people import (
    BGP,
    INFINIBAND,
    NO_OSPF,
    OLDEST_INFINIBAND,
    PART_2,
    ROCE,
    SPELLINGS,
    Click,
    buttons_of,
    message_of,
    text_of,
    until,
)
from tests.servers.discord import DiscordServer
from tests.servers.faults import Json

VECTORS: dict[str, tuple[Json, str]] = {
    "newest": ({}, PART_2),
    "evpn": ({"tag": "evpn"}, PART_2),
    "BGP": ({"tag": "BGP"}, BGP),
    "infiniband": ({"tag": "infiniband"}, INFINIBAND),
    "three": ({"tag": "infiniband", "count": 3}, OLDEST_INFINIBAND),
    "roce": ({"tag": "roce"}, ROCE),
    "ospf": ({"tag": "ospf"}, NO_OSPF),
    "feed": ({"feed": "ai-networking", "tag": "roce"}, ROCE),
    "section": ({"tag": "AI Networking"}, PART_2),
}


@pytest.mark.parametrize(("given_", "shown"), VECTORS.values(), ids=VECTORS)
async def test_latest_answers_by_tag_only_to_the_person_who_asked(
    discord: DiscordServer, latest: Click, given_: Json, shown: str
) -> None:
    asked = await latest(given_)
    assert not asked.late
    assert shown in text_of(message_of(discord, asked))
    assert message_of(discord, asked).is_ephemeral


@pytest.mark.parametrize("tag", [spelling for spelling in SPELLINGS["same"] if spelling.strip()])
async def test_every_spelling_is_understood(room: Room, discord: DiscordServer, latest: Click, tag: str) -> None:
    await room.read(Feed(id=FeedId("tag"), url="https://f.example/tag", tags=("open-source",)), feed_of(item(1)))
    assert "Article 1" in text_of(message_of(discord, await latest({"tag": tag})))


async def test_feedbell_has_every_command(discord: DiscordServer, feedbell: Click) -> None:
    async def say(name: str, given: Json | None = None) -> str:
        return text_of(message_of(discord, await feedbell(name, given)))

    assert "search WORDS" in await say("help")
    assert ROCE in await say("search", {"words": "lossless spectrum"})
    assert "all well" in await say("status")
    assert "you follow bgp" in await say("follow", {"tag": "bgp"})
    assert "you follow: bgp" in await say("following")
    assert "no more" in await say("unfollow", {"tag": "bgp"})
    assert "your id is discord:500" in await say("pause", {"feed": "ai-networking"})


async def test_a_list_of_many_tags_ends_with_how_many_there_are_and_what_is_near(
    room: Room, discord: DiscordServer, latest: Click, feedbell: Click
) -> None:
    names = [f"*a* _tag_ number {n}" for n in range(190)]
    await room.read(Feed(id=FeedId("many"), url="https://f.example/many", tags=(*names,)), feed_of(item(1)))
    unknown = text_of(message_of(discord, await latest({"tag": "a tag numbr"})))
    assert "Did you mean *a* _tag_ number 0" in unknown
    for text in (unknown, text_of(message_of(discord, await feedbell("tags")))):
        listed = re.search(r"(?:tags: )?(.*) and (\d+) more$", text, re.MULTILINE)
        assert listed is not None
        assert len(listed[1].split(", ")) + int(listed[2]) == 194


async def test_every_feed_stands_on_one_of_the_lists_pages(
    room: Room, discord: DiscordServer, feedbell: Click, clicked: Click
) -> None:
    for n in range(24):
        title = f"The newspaper of the town number {n}: politics, sports and the weather"
        feed = Feed(id=FeedId(f"newspaper-of-the-town-{n}"), url=f"https://www.newspaper-of-the-town-{n}.example/feed")
        await room.read(feed, feed_of(item(1), title=title))
    shown: set[str] = set()
    asked = await feedbell("feeds")
    for _ in range(3):
        page = message_of(discord, asked)
        shown |= set(re.findall(r"\((newspaper-of-the-town-\d+)\)", text_of(page)))
        if "Next" in buttons_of(page):
            asked = await clicked(buttons_of(page)["Next"])
    assert len(shown) == 24


async def test_public_is_shown_to_the_channel(discord: DiscordServer, latest: Click) -> None:
    assert not message_of(discord, await latest({"tag": "bgp", "public": True})).is_ephemeral
    assert len(discord.messages) == 1


async def test_feed_text_pings_and_formats_nothing(room: Room, discord: DiscordServer, latest: Click) -> None:
    evil = "@everyone &lt;@500&gt; **b** [a](b)"
    await room.read(Feed(id=FeedId("evil"), url="https://f.example/evil"), feed_of(item(19, "evil", title=evil)))
    asked = await latest({"tag": "evil", "public": True})
    await latest({"tag": "@everyone <@500> ||x||", "public": True})
    assert text_of(message_of(discord, asked)).startswith("\n@everyone <@500> **b** [a](b)")
    assert "[a](b)" not in message_of(discord, asked).embeds[0]["title"]
    assert discord.pings == []


async def test_buttons_page_in_place_and_show_in_the_channel(
    discord: DiscordServer, latest: Click, clicked: Click
) -> None:
    asked = await latest({"count": 2})
    buttons = buttons_of(message_of(discord, asked))
    before = text_of(message_of(discord, asked))
    older = await clicked(buttons["Older"])
    assert (older.callback or {})["type"] == 7
    assert text_of(message_of(discord, older)) != before
    assert discord.messages == []
    await clicked(buttons["Show in channel"])
    assert [PART_2 in text_of(message) for message in discord.messages] == [True]


async def test_a_slow_command_is_deferred_and_answered_once(
    room: Room, discord: DiscordServer, feedbell: Click, clicked: Click
) -> None:
    gate = asyncio.Event()
    get_page = room.web.get_page

    async def slowly(url: str, **ways: object) -> object:
        await gate.wait()
        return await get_page(url, **ways)

    room.web.pages["https://site.example/feed"] = feed_of(item(1))
    room.web.get_page = slowly  # type: ignore[method-assign,assignment]  # the page comes when the test says so
    asked = await feedbell("add", {"url": "https://site.example/feed"}, user="501")
    assert ((asked.callback or {})["type"], asked.late) == (5, False)
    gate.set()
    message = await until(lambda: found if "example-feed" in text_of(found := message_of(discord, asked)) else None)
    gate.clear()
    confirmed = await clicked(buttons_of(message)["Confirm"], user="501")
    assert (confirmed.callback or {})["type"] == 6
    gate.set()
    await until(lambda: "added as example-feed;" in text_of(message_of(discord, confirmed)) or None)
    assert [state.feed.id for state in await room.store.feeds()] == ["ai-networking", "example-feed"]
    assert (await room.store.chat_feeds())[0][1] == "discord:200"


async def test_fields_are_completed(discord: DiscordServer, discord_transport: str) -> None:
    async def complete(name: str, typed: str) -> list[str]:
        options = [{"name": name, "type": 3, "value": typed, "focused": True}]
        if discord_transport:
            asked = await discord.users.command_over_http(discord_transport, "latest", options, kind="autocomplete")
        else:
            asked = await discord.users.autocomplete("latest", options)
        return [choice["value"] for choice in (asked.callback or {})["data"]["choices"]]

    assert await complete("tag", "") == ["infiniband", "bgp", "evpn", "roce"]
    assert await complete("tag", "IN") == ["infiniband"]
    assert await complete("feed", "net") == ["ai-networking"]


async def test_direct_messages_are_answered_there(discord: DiscordServer, latest: Click) -> None:
    channel = discord.guild.open_dm("500").id
    asked = await latest({"tag": "bgp"}, channel=channel)
    assert "BGP Unnumbered" in text_of(message_of(discord, asked))
    assert "Show in channel" not in buttons_of(message_of(discord, asked))
