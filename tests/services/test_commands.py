"""What people type and what they are answered, on any platform."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.model.delivery import Probe
from bot.core.model.feed import Feed, FeedAuth, FeedId
from bot.core.model.route import DestinationUid, Route
from bot.services.commands import COMMANDS, Answer, Who
from tests.chat_room import FEEDS, Room, admin, feed_of, item, someone, words
from tests.store.builders import audited

PART_2 = "EVPN Multihoming Across Vendors, Part 2: Verifying the Forwarding Plane"
SPELLINGS = json.loads((FEEDS.parent / "cases/shared/C100-tag-spelling/inputs.json").read_text(encoding="utf-8"))
PRIVATE = Feed(id=FeedId("inside"), url="https://inside.example/feed", auth=FeedAuth(username="u", password="p"))


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = await Room.open(tmp_path)
    yield room
    await room.close()


@pytest.fixture
async def seed(room: Room) -> Room:
    await room.read_seed()
    return room


@pytest.mark.parametrize(
    ("typed", "titles"),
    [
        ("latest", [PART_2]),
        ("latest evpn", [PART_2]),
        ("latest BGP", ["BGP Unnumbered and Router Advertisements: Disabling RA Is Not Silence, It Is Withdrawal"]),
        ("latest infiniband", ["InfiniBand Routing Engines: Adaptive Routing and Credit Loops"]),
        (
            "latest infiniband 3",
            [
                "InfiniBand Routing Engines: Adaptive Routing and Credit Loops",
                "Diagnosing an InfiniBand Fabric: Counters, Tools, and a Workflow",
                "Link-Layer Troubleshooting with MLXLink and MLXCables",
            ],
        ),
        ("latest roce", ["RoCE on NVIDIA Spectrum-X: Building Lossless Ethernet for AI Fabrics"]),
        ('latest tag:"AI Networking"', [PART_2]),
        ("latest ai-networking", [PART_2]),
        ("LATEST evpn", [PART_2]),
    ],
)
async def test_latest_shows_the_newest_posts_with_a_tag(seed: Room, typed: str, titles: list[str]) -> None:
    answer = await seed.ask(typed)
    assert [card.title for section in answer.message.sections for card in section.cards] == titles
    assert not answer.public


async def test_latest_without_a_tag_names_the_tags_below(seed: Room) -> None:
    assert (await seed.ask("latest")).hint == "Tags: bgp, evpn, infiniband, roce"


async def test_an_unknown_tag_is_answered_with_all_that_exist(seed: Room) -> None:
    assert await seed.say("latest ospf") == "no post tagged ospf; tags: bgp, evpn, infiniband, roce"


async def test_a_typo_is_answered_with_what_was_meant_and_a_button_for_it(seed: Room) -> None:
    answer = await seed.ask("latest infinibnad")
    assert "Did you mean infiniband?" in words(answer)
    button = answer.buttons[0]
    assert "InfiniBand Routing Engines" in await seed.say(f"{button.name} {button.text}")


@pytest.mark.parametrize("spelling", SPELLINGS["same"])
async def test_every_spelling_of_a_tag_finds_its_posts(room: Room, spelling: str) -> None:
    await room.read(Feed(id=FeedId("tag"), url="https://f.example/tag", tags=("open-source",)), feed_of(item(1)))
    assert "Article 1" in await room.say(f"latest {spelling}")


@pytest.mark.parametrize("spelling", SPELLINGS["wrong"])
async def test_what_is_no_tag_is_answered_with_those_that_are(room: Room, spelling: str) -> None:
    await room.read(Feed(id=FeedId("tag"), url="https://f.example/tag", tags=("open-source",)), feed_of(item(1)))
    answer = await room.ask(f"latest {spelling}")
    assert "open-source" in words(answer)
    assert not answer.public


@pytest.mark.parametrize(
    "text", ["%", '" OR 1', 'a"*', "x" * 10_000, "\0", "🙂", "\ud800", "count:99", "feed:nope", "tag:", "'", "_", "\\"]
)
@pytest.mark.parametrize("name", ["latest", "search", "follow", "frob", "\0", "pause", "add"])
async def test_odd_texts_are_answered_in_words(seed: Room, name: str, text: str) -> None:
    for who in (someone(), admin()):
        assert words(await seed.ask(f"{name} {text}", who))


async def test_nothing_is_said_to_exist_before_the_first_poll(room: Room) -> None:
    assert "no posts yet" in await room.say("latest")
    assert "no post has a tag yet" in await room.say("latest bgp")
    assert await room.say("tags") == "no post has a tag yet"
    assert await room.say("feeds") == "no feeds yet"


async def test_public_shows_the_answer_to_the_channel_and_a_mistake_never_does(seed: Room) -> None:
    assert (await seed.ask("latest bgp public")).public
    assert not (await seed.ask("latest ospf public")).public
    shown = next(button for button in (await seed.ask("latest bgp")).buttons if button.posts)
    assert shown.label == "Show in channel"
    assert not any(button.posts for button in (await seed.ask("latest bgp", someone(direct=True))).buttons)


async def test_pages_follow_each_other_without_gap_or_repeat(room: Room) -> None:
    await room.read(Feed(id=FeedId("f"), url="https://f.example/f"), feed_of("".join(map(item, range(1, 8)))))
    seen, page = [], 0
    while True:
        answer = await room.ask("latest 3", page=page)
        seen += [card.title for section in answer.message.sections for card in section.cards]
        older = [button for button in answer.buttons if button.label == "Older"]
        if not older:
            break
        page = older[0].page
    assert seen == [f"Article {number}" for number in range(7, 0, -1)]


async def test_search_wants_every_word(seed: Room) -> None:
    assert "RoCE on NVIDIA Spectrum-X" in await seed.say("search lossless spectrum")
    assert "nothing holds lossless zebra" in await seed.say("search lossless zebra")
    assert "which words" in await seed.say("search")


async def test_a_feed_with_credentials_is_shown_only_where_a_route_gives_it(room: Room) -> None:
    await room.read(PRIVATE, feed_of(item(1, "secret"), title="Inside"))
    await room.read(Feed(id=FeedId("open"), url="https://f.example/f"), feed_of(item(2, "open")))
    given = DestinationUid("slack:#inside")
    room.routing.routes = (Route(name="routes[0]", to=(given,), feeds=frozenset({PRIVATE.id})),)
    assert "you follow" in await room.say("follow secret", someone(direct=True))
    inside = replace(someone(place="slack:C0INSIDE"), names=frozenset({DestinationUid("slack:#inside")}))
    assert "Article 1" in await room.say("latest secret", inside)
    for elsewhere in (someone(), someone(direct=True)):
        for command in ("latest secret", "latest inside", "tags", "feeds", "search article", "status", "latest 5"):
            assert "Article 1" not in await room.say(command, elsewhere)
            assert "Inside" not in await room.say(command, elsewhere)
        assert "secret" not in await room.say("tags", elsewhere)
        assert await room.commands.complete_tags("", elsewhere) == ("open",)
        assert await room.commands.complete_feeds("", elsewhere) == ("open",)
    assert await room.commands.complete_tags("se", inside) == ("secret",)


async def test_a_channel_that_a_route_names_is_known_by_its_id_too(room: Room) -> None:
    await room.read(PRIVATE, feed_of(item(1, "secret"), title="Inside"))
    inside = DestinationUid("slack:#inside")
    room.routing.routes = (Route(name="routes[0]", to=(inside,)),)
    await room.store.sync_destinations([inside], now=room.clock.now())
    assert "no posts yet" in await room.say("latest", someone(place="slack:C0INSIDE"))
    await room.store.set_probe(inside, Probe(remote_id="C0INSIDE"))
    assert "Article 1" in await room.say("latest", someone(place="slack:C0INSIDE"))
    assert "no posts yet" in await room.say("latest", someone(place="discord:C0INSIDE"))


async def test_only_admins_read_which_destination_takes_nothing(seed: Room) -> None:
    uid = DestinationUid("email:somebody@example.org")
    await seed.store.sync_destinations([uid], now=seed.clock.now())
    await seed.store.unsubscribe(uid, now=seed.clock.now())
    assert "1 destination takes nothing right now." in await seed.say("status")
    assert "somebody" not in await seed.say("status")
    assert "email:somebody@example.org takes nothing: unsubscribed" in await seed.say("status", admin())


async def test_a_store_that_is_away_is_told_in_words(seed: Room) -> None:
    await seed.close()
    for typed in ("latest", "follow bgp"):
        assert "can't reach its memory" in await seed.say(typed)
    assert await seed.commands.complete_tags("", someone()) == ()
    assert await seed.commands.complete_feeds("", someone()) == ()


async def test_completions_have_a_limit_of_their_own(seed: Room) -> None:
    for _ in range(300):
        assert await seed.commands.complete_feeds("", someone())
    assert await seed.commands.complete_feeds("", someone()) == ()
    assert await seed.commands.complete_tags("", someone()) == ()
    assert "a lot at once" not in await seed.say("tags")


async def test_a_person_may_ask_thirty_times_a_minute(seed: Room) -> None:
    for _ in range(30):
        assert "a lot at once" not in await seed.say("tags")
    assert "a lot at once; try again in 60 seconds" in await seed.say("tags")
    assert "a lot at once" not in await seed.say("tags", someone("U0OTHER"))
    seed.clock.advance(timedelta(seconds=61))
    assert "a lot at once" not in await seed.say("tags")


async def test_a_channel_may_ask_a_hundred_and_twenty_times_a_minute(seed: Room) -> None:
    for number in range(120):
        await seed.say("help", someone(f"U{number}"))
    assert "a lot at once" in await seed.say("help", someone("U0LATE"))


ROLES = {
    "reader": someone(),
    "reader in a DM": someone(direct=True),
    "admin": admin(),
    "admin in a DM": admin(direct=True),
    "bot": someone("U0BOT", bot=True),
    "bot that is named as admin": admin(bot=True),
    "admin of another platform": Who(
        platform="discord",
        user="U0ADMIN",
        place=DestinationUid("discord:1"),
        dm=DestinationUid("discord-user:U0ADMIN"),
    ),
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", COMMANDS)
async def test_each_command_is_for_those_it_is_meant_for(seed: Room, role: str, name: str) -> None:
    said = await seed.say(f"{name} ai-networking", ROLES[role])
    command = COMMANDS[name]
    is_bot = ROLES[role].is_bot
    if is_bot and (command.for_admins or command.for_people):
        assert "for people, not for bots" in said
    elif command.for_admins and role not in ("admin", "admin in a DM"):
        assert f"your id is {ROLES[role].id}" in said
        assert await audited(seed.store) == []
    else:
        assert "your id is" not in said
        assert "not for bots" not in said


async def test_nobody_may_change_anything_until_admins_are_named(seed: Room) -> None:
    seed.admins.clear()
    for name in ("add https://f.example", "remove x", "pause ai-networking", "resume ai-networking"):
        assert "only people in admins" in await seed.say(name, admin())
    assert not (await seed.store.feeds())[0].paused_at


async def test_help_names_every_command_that_somebody_may_use(seed: Room) -> None:
    everybody, admins = await seed.say("help"), await seed.say("help", admin())
    assert all(command.usage in admins for command in COMMANDS.values())
    assert [name for name, command in COMMANDS.items() if command.usage not in everybody] == [
        name for name, command in COMMANDS.items() if command.for_admins
    ]


async def test_an_unknown_command_is_answered_with_those_that_exist(seed: Room) -> None:
    said = await seed.say("lates")
    assert "did you mean latest?" in said
    assert "search" in said


async def test_status_tells_what_is_wrong_in_words(seed: Room) -> None:
    assert "1 feed: all well." in await seed.say("status")
    await seed.ask("pause ai-networking", admin())
    assert "1 feed: 1 paused." in await seed.say("status")


async def test_completions_are_at_most_twenty_five(room: Room) -> None:
    tags = [f"tag{number}" for number in range(40)]
    await room.read(Feed(id=FeedId("f"), url="https://f.example/f"), feed_of(item(1, *tags) + item(2, "bgp")))
    assert len(await room.commands.complete_tags("", someone())) == 25
    assert await room.commands.complete_tags("#BG", someone()) == ("bgp",)
    assert await room.commands.complete_tags("bpg", someone()) == ("bgp",)


async def test_feed_text_stays_text_in_answers(room: Room) -> None:
    evil = "&lt;!channel&gt; @everyone [a](b)"
    await room.read(Feed(id=FeedId("f"), url="https://f.example/f"), feed_of(item(1, evil, title=evil)))
    answer: Answer = await room.ask("latest")
    assert answer.message.mentions == ()
    assert answer.message.sections[0].cards[0].title == "<!channel> @everyone [a](b)"
