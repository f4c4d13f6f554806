"""Slack's people type over HTTP and Socket Mode, and are answered once, in time, and only they."""

from __future__ import annotations

import asyncio
import json

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
    Type,
    body_of,
    button_of,
    replies,
)
from tests.servers.slack import SlackServer

VECTORS = {
    "": PART_2,
    "evpn": PART_2,
    "BGP": BGP,
    "infiniband": INFINIBAND,
    "infiniband 3": OLDEST_INFINIBAND,
    "roce": ROCE,
    "ospf": NO_OSPF,
}


@pytest.mark.parametrize(("text", "shown"), VECTORS.items())
async def test_latest_answers_by_tag_only_to_the_person_who_asked(typed: Type, text: str, shown: str) -> None:
    answer = await typed("/latest", text)
    assert (answer.late, answer.is_ephemeral) == (False, True)
    assert shown in body_of(answer)


@pytest.mark.parametrize("text", SPELLINGS["same"])
async def test_every_spelling_is_understood(room: Room, typed: Type, text: str) -> None:
    await room.read(Feed(id=FeedId("tag"), url="https://f.example/tag", tags=("open-source",)), feed_of(item(1)))
    assert "Article 1" in body_of(await typed("/latest", text))


async def test_a_name_between_colons_is_no_picture_in_hints_and_on_buttons(room: Room, typed: Type) -> None:
    await room.read(Feed(id=FeedId("tag"), url="https://f.example/tag", tags=(":boom:",)), feed_of(item(1)))
    assert '"text": "Tags: :boom:, bgp, evpn, infiniband, roce", "emoji": false' in body_of(await typed("/latest"))
    assert button_of((await typed("/latest", ":bom:")).body, ":boom:")["text"]["emoji"] is False


@pytest.mark.parametrize("tag", ['12" vinyl', 'size 12"', "'90s", "R&D"])
async def test_a_tag_with_marks_of_its_own_is_known_by_them(room: Room, typed: Type, tag: str) -> None:
    await room.read(Feed(id=FeedId("tag"), url="https://f.example/tag", tags=(tag,)), feed_of(item(1)))
    assert "Article 1" in body_of(await typed("/latest", tag))
    assert json.dumps(f"you follow {tag}")[1:-1] in body_of(await typed("/feedbell", f"follow {tag}"))
    assert "No post has that tag yet" not in body_of(await typed("/feedbell", f'follow "{tag}"'))
    assert json.dumps(f"you follow {tag} no more")[1:-1] in body_of(await typed("/feedbell", f"unfollow {tag}"))
    assert "you follow no tag" in body_of(await typed("/feedbell", "following"))


async def test_feedbell_takes_every_command_and_says_help_without_one(typed: Type) -> None:
    assert "search WORDS" in body_of(await typed("/feedbell"))
    assert "RoCE on NVIDIA" in body_of(await typed("/feedbell", "search lossless spectrum"))
    assert PART_2 in body_of(await typed("/feedbell", "latest evpn"))
    assert "all well" in body_of(await typed("/feedbell", "status"))


async def test_public_is_shown_to_the_channel(slack: SlackServer, typed: Type) -> None:
    answer = await typed("/latest", "bgp public")
    assert not answer.is_ephemeral
    assert len(slack.messages) == 1


async def test_feed_text_pings_nobody(room: Room, slack: SlackServer, typed: Type) -> None:
    evil = "&lt;!channel&gt; &lt;@U0READER&gt; *b* [a](b)"
    await room.read(Feed(id=FeedId("evil"), url="https://f.example/evil"), feed_of(item(19, "evil", title=evil)))
    for command in ("/latest", "/feedbell"):
        await typed(command, "evil public" if command == "/latest" else "feeds")
    await typed("/latest", "<!channel> @here public")
    assert slack.pings == []


async def test_buttons_page_in_place_and_show_in_the_channel(slack: SlackServer, typed: Type, pressed: Type) -> None:
    answer = await typed("/latest", "2")
    assert not (await pressed(button_of(answer.body, "Older"))).late
    older = (await replies(slack, 2))[1]
    assert (older["replace_original"], older["response_type"]) == (True, "ephemeral")
    assert "InfiniBand" in json.dumps(older) or "BGP" in json.dumps(older)
    assert slack.messages == []
    await pressed(button_of(answer.body, "Show in channel"))
    public = (await replies(slack, 3))[2]
    assert (public["replace_original"], public["response_type"]) == (False, "in_channel")
    assert len(slack.messages) == 1


async def test_a_slow_command_is_acknowledged_at_once_and_answered_once(
    room: Room, slack: SlackServer, typed: Type
) -> None:
    gate = asyncio.Event()
    get_page = room.web.get_page

    async def slowly(url: str, **ways: object) -> object:
        await gate.wait()
        return await get_page(url, **ways)

    room.web.pages["https://site.example/feed"] = feed_of(item(1))
    room.web.get_page = slowly  # type: ignore[method-assign,assignment]  # the page comes when the test says so
    answer = await typed("/feedbell", "add https://site.example/feed", user="U0ADMIN")
    assert (answer.late, answer.body or {}) == (False, {})
    gate.set()
    said = await replies(slack, 1)
    assert "example-feed" in json.dumps(said)
    confirm = button_of(said[0], "Confirm")
    assert confirm["value"] == "r:0:add:https://site.example/feed confirm"
    assert len(said) == 1
