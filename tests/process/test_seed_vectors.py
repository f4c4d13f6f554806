"""The seed feed and what must become of it: each row of the product's table of vectors."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cases.world import World
from tests.servers.faults import Fault

SEED = Path(__file__).parent.parent / "feeds" / "seed"
URL = "http://feeds.example.org/ai-networking/index.xml"
ALL = ["slack:#news", "discord:news", "email:reader@example.org"]
WHOLE = (SEED / "ai-networking.xml").read_bytes()
ITEMS = json.loads((SEED / "index.json").read_text(encoding="utf-8"))["feed"]["items"]
TITLES = [item["title"] for item in ITEMS]  # newest first
PART_2, PART_1, ROUTER_ADVERTISEMENTS = TITLES[:3]
NOW = datetime(2026, 9, 16, 9, 30, tzinfo=UTC)


def without(*titles: str, document: bytes = WHOLE) -> bytes:
    """Return the document without some of its items."""
    head, *items = document.split(b"<item>")
    kept = [item for item in items if not any(title.encode() in item for title in titles)]
    end = b"" if items[-1] in kept else items[-1].partition(b"</item>")[2]
    return b"<item>".join((head, *kept)) + end


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(tmp_path, live=False) as world:
        world.clock.set(NOW)
        world.subscribe(URL, "", ALL)
        yield world


async def poll(world: World, document: bytes) -> dict[str, list[str]]:
    """Serve a document, poll it, and return what each target was told by that."""
    before = {name: len(posts) for name, posts in world.posts().items()}
    world.serve(URL, document, "index.xml", {})
    world.clock.move(timedelta(minutes=15))
    await world.once()
    return {name: [post.title for post in posts[before[name] :]] for name, posts in world.posts().items()}


def to_all(*titles: str) -> dict[str, list[str]]:
    return {name: list(titles) for name in ALL}


async def latest(world: World, *words: str) -> list[dict[str, Any]]:
    done = await world.bot.call("latest", *words, "--json")
    assert done.code == 0, done.err
    found = done.json
    assert isinstance(found, list)
    return found


async def test_first_poll_tells_nobody_but_latest_knows_all(world: World) -> None:
    assert await poll(world, WHOLE) == to_all()
    assert [entry["title"] for entry in await latest(world, "-n", "20")] == TITLES


async def test_two_parts_of_one_day_come_in_their_order(world: World) -> None:
    assert await poll(world, without(PART_1, PART_2)) == to_all()
    assert await poll(world, WHOLE) == to_all(PART_1, PART_2)
    assert await poll(world, WHOLE) == to_all()


async def test_a_second_part_of_the_same_day_is_told_alone(world: World) -> None:
    assert await poll(world, without(PART_2)) == to_all()
    assert await poll(world, WHOLE) == to_all(PART_2)


async def test_latest_finds_what_is_asked_for_by_its_own_tag(world: World) -> None:
    await poll(world, WHOLE)
    answers = {
        (): [PART_2],
        ("evpn",): [PART_2],
        ("BGP",): [ROUTER_ADVERTISEMENTS],
        ("infiniband",): [TITLES[4]],
        ("infiniband", "3"): TITLES[4:7],
        ("roce",): [TITLES[7]],
    }
    for words, titles in answers.items():
        assert [entry["title"] for entry in await latest(world, *words)] == titles, words
    days = [entry["published"][:10] for entry in await latest(world, "infiniband", "3")]
    assert days == ["2026-03-07", "2026-02-22", "2026-02-08"]


async def test_an_unknown_tag_is_answered_with_the_known_ones(world: World) -> None:
    await poll(world, WHOLE)
    done = await world.bot.call("latest", "ospf")
    assert done.code == 1
    assert "no post tagged ospf" in done.err
    assert "tags: bgp, evpn, infiniband, roce" in done.err


async def test_the_tag_is_the_second_category_and_never_the_section(world: World) -> None:
    await poll(world, WHOLE)
    assert [entry["tags"] for entry in await latest(world, "-n", "20")] == [[item["tags"][1]] for item in ITEMS]


KILLS = [(point, target) for point in ("poll.before_commit", "send.before_record") for target in ALL]
KILLS += [("send.body_read", target) for target in ALL[:2]]  # a mail server's answer has no body


@pytest.mark.parametrize(("point", "target"), KILLS)
async def test_a_kill_between_an_answer_and_its_record_makes_one_message(
    tmp_path: Path, point: str, target: str
) -> None:
    async with World(tmp_path, live=False) as world:
        world.clock.set(NOW)
        world.subscribe(URL, "", [target])
        await poll(world, without(PART_2))
        world.serve(URL, WHOLE, "index.xml", {})
        world.secrets["FEEDBELL_CRASH"] = f"{point}:1"
        world.configure()
        died = await world.bot.call("once")
        assert died.code == -signal.SIGKILL, f"{point} was not passed: {died.err}"
        del world.bot.environ["FEEDBELL_CRASH"], world.secrets["FEEDBELL_CRASH"]
        for _ in range(2):
            world.clock.move(timedelta(minutes=1))
            await world.once()
        if target.startswith("email:"):
            assert len({mail.message_id for mail in world.smtp.messages}) == 1
            assert {mail.subject for mail in world.smtp.messages} == {PART_2}
        else:
            assert [post.title for post in world.posts()[target]] == [PART_2]


async def test_one_platform_that_is_down_holds_up_nobody_else(world: World) -> None:
    await poll(world, without(PART_1, PART_2))
    world.slack.faults.add(Fault(kind="rst", match="chat.postMessage", times=None))
    told = await poll(world, WHOLE)
    assert told["discord:news"] == told["email:reader@example.org"] == [PART_1, PART_2]
    assert told["slack:#news"] == []
    world.slack.faults.clear()
    for _ in range(3):
        await poll(world, WHOLE)
    assert {name: [post.title for post in posts] for name, posts in world.posts().items()} == to_all(PART_1, PART_2)


async def test_guids_that_change_to_https_tell_only_the_operator_and_him_once(world: World) -> None:
    world.slack.team.add_channel("desk")
    world.top["ops"] = "slack:#desk"
    http = WHOLE.replace(b"<guid>https://", b"<guid>http://").replace(b"<link>https://", b"<link>http://")
    assert await poll(world, http) == to_all()
    assert await poll(world, WHOLE) == to_all()
    assert await poll(world, WHOLE) == to_all()
    assert len(world.slack.in_channel("#desk")) == 1


async def test_a_corrected_typo_edits_the_message_in_place(world: World) -> None:
    typo = b"a packet capture that was quietly lying"
    await poll(world, without(PART_2))
    await poll(world, WHOLE.replace(typo, b"a paket capture that was quietly lying"))
    assert await poll(world, WHOLE) == to_all()
    shown = world.posts()
    assert {name: [post.title for post in posts] for name, posts in shown.items()} == to_all(PART_2)
    for name in ("slack:#news", "discord:news"):
        assert typo.decode() in shown[name][0].text
    assert world.slack.in_channel("#news")[0].is_edited
    assert world.discord.in_channel("200")[0].edited_at is not None


async def test_a_title_of_mentions_and_markup_is_shown_as_typed(world: World) -> None:
    title = "@everyone <!channel> [a](b)"
    raw = b"@everyone\n&lt;!channel&gt;\r\n[a](b)"
    await poll(world, without(PART_2))
    assert await poll(world, WHOLE.replace(PART_2.encode(), raw)) == to_all(title)
    assert world.slack.pings == world.discord.pings == []
    [mail] = world.smtp.messages
    assert mail.recipients == ("reader@example.org",)
    assert {name.lower() for name in mail.message.keys()} <= MAIL_HEADERS


MAIL_HEADERS = frozenset(
    "from to subject date message-id mime-version content-type auto-submitted precedence list-id references "
    "content-transfer-encoding".split()
)


NO_WHOLE_FEED = {
    "empty": b"",
    "cut": WHOLE[: len(WHOLE) // 3],
    "page": b"<!DOCTYPE html><html><title>Back soon</title></html>",
}


async def test_an_answer_that_is_no_whole_feed_changes_nothing(tmp_path: Path) -> None:
    async with World(tmp_path, live=False) as world:
        world.clock.set(NOW)
        urls = {f"http://feeds.example.org/{name}.xml": answer for name, answer in NO_WHOLE_FEED.items()}
        for url in urls:
            world.subscribe(url, "", ["slack:#news"])
        for is_whole in (True, False, True, False, False, False, True):
            for url, answer in urls.items():
                world.serve(url, WHOLE if is_whole else answer, "index.xml", {})
            world.clock.move(timedelta(minutes=15))
            await world.once()
        assert world.posts() == {"slack:#news": []}
        assert len(await latest(world, "-n", "30")) == len(urls) * len(TITLES)


async def test_the_first_entry_of_a_feed_that_was_empty_is_told(world: World) -> None:
    assert await poll(world, without(*TITLES)) == to_all()
    assert await poll(world, (SEED / "timeline" / "01.xml").read_bytes()) == to_all(TITLES[7])


async def test_the_history_of_the_feed_is_told_day_by_day(world: World) -> None:
    for number in range(1, 8):
        await poll(world, (SEED / "timeline" / f"0{number}.xml").read_bytes())
    told = list(reversed(TITLES[:7]))
    assert {name: [post.title for post in posts] for name, posts in world.posts().items()} == to_all(*told)
