"""Discord's people type over HTTP and the gateway, and are answered once, in time, and only they."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.chat.discord import DiscordChat
from bot.chat.discord.definitions import definitions
from bot.chat.discord.requests import read_interaction, to_text
from bot.chat.discord.verify import verify
from bot.clock import SystemClock
from bot.core.errors import Forged
from bot.core.model.feed import Feed, FeedId
from tests.chat_room import Room, RoomClock, feed_of, item
from tests.servers.discord import DiscordServer
from tests.servers.discord_interactions import Asked
from tests.servers.discord_limits import command_errors
from tests.servers.discord_state import DiscordMessage
from tests.servers.faults import Json

C100 = json.loads(
    (Path(__file__).parents[1] / "cases/shared/C100-tag-spelling/inputs.json").read_text(encoding="utf-8")
)
AGENT = "DiscordBot (https://example.org/bot, 0.1)"
PART_2 = "EVPN Multihoming Across Vendors, Part 2: Verifying the Forwarding Plane"
ROCE = "RoCE on NVIDIA Spectrum-X: Building Lossless Ethernet for AI Fabrics"
VECTORS: dict[str, tuple[Json, str]] = {
    "newest": ({}, PART_2),
    "evpn": ({"tag": "evpn"}, PART_2),
    "BGP": ({"tag": "BGP"}, "BGP Unnumbered and Router Advertisements: Disabling RA Is Not Silence, It Is Withdrawal"),
    "infiniband": ({"tag": "infiniband"}, "InfiniBand Routing Engines: Adaptive Routing and Credit Loops"),
    "three": ({"tag": "infiniband", "count": 3}, "Link-Layer Troubleshooting with MLXLink and MLXCables"),
    "roce": ({"tag": "roce"}, ROCE),
    "ospf": ({"tag": "ospf"}, "no post tagged ospf; tags: bgp, evpn, infiniband, roce"),
    "feed": ({"feed": "ai-networking", "tag": "roce"}, ROCE),
    "section": ({"tag": "AI Networking"}, PART_2),
}
Type = Callable[..., Awaitable[Asked]]


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = await Room.open(tmp_path)
    await room.read_seed()
    yield room
    await room.close()


@pytest.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        yield server
        assert server.violations == []


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


Make = Callable[..., DiscordChat]


@pytest.fixture
async def make(room: Room, discord: DiscordServer, session: aiohttp.ClientSession) -> AsyncIterator[Make]:
    """Make bots that are stopped in the end."""
    made: list[DiscordChat] = []

    def one(**more: Any) -> DiscordChat:
        usual: dict[str, Any] = {"store": room.store, "clock": SystemClock(), "bot_token": discord.bot_token}
        chat = DiscordChat(
            commands=room.commands, session=session, api_url=discord.api_url, agent=AGENT, **(usual | more)
        )
        made.append(chat)
        return chat

    yield one
    for chat in made:
        await chat.stop()


@pytest.fixture
async def over_http(make: Make, discord: DiscordServer) -> AsyncIterator[str]:
    chat = make(public_key=discord.users.public_key)
    await chat.start()
    app = web.Application(client_max_size=10_000_000)
    app.add_routes(chat.routes())
    async with TestServer(app) as server:
        yield str(server.make_url("/discord/interactions"))


async def ready(discord: DiscordServer, chat: DiscordChat) -> None:
    async with asyncio.timeout(30):
        await discord.gateway.wait_ready()
        while not chat.state().connected:
            await asyncio.sleep(0.01)


@pytest.fixture
async def by_gateway(make: Make, discord: DiscordServer) -> DiscordChat:
    chat = make()
    await chat.start()
    await ready(discord, chat)
    return chat


@pytest.fixture(params=["HTTP", "gateway"])
def transport(request: pytest.FixtureRequest) -> str:
    """Where a bot takes interactions; "" for the gateway."""
    if request.param == "HTTP":
        return str(request.getfixturevalue("over_http"))
    request.getfixturevalue("by_gateway")
    return ""


def fields(given: Json) -> list[Json]:
    kinds = {bool: 5, int: 4, str: 3}
    return [{"name": name, "type": kinds[type(value)], "value": value} for name, value in given.items()]


@pytest.fixture
def latest(transport: str, discord: DiscordServer) -> Type:
    async def type_(given: Json, **more: Any) -> Asked:
        if transport:
            return await discord.users.command_over_http(transport, "latest", fields(given), **more)
        return await discord.users.command("latest", fields(given), **more)

    return type_


@pytest.fixture
def feedbell(transport: str, discord: DiscordServer) -> Type:
    async def type_(name: str, given: Json | None = None, **more: Any) -> Asked:
        options = [{"name": name, "type": 1, "options": fields(given or {})}]
        if transport:
            return await discord.users.command_over_http(transport, "feedbell", options, **more)
        return await discord.users.command("feedbell", options, **more)

    return type_


@pytest.fixture
def pressed(transport: str, discord: DiscordServer) -> Type:
    async def press(custom_id: str, **more: Any) -> Asked:
        if transport:
            return await discord.users.press_over_http(transport, custom_id, **more)
        return await discord.users.press(custom_id, **more)

    return press


def message_of(discord: DiscordServer, asked: Asked) -> DiscordMessage:
    return discord.guild.find(asked.channel, asked.messages[0])


def text_of(message: DiscordMessage) -> str:
    titles = [f"{embed.get('title', '')} {embed.get('description', '')}" for embed in message.embeds]
    return "\n".join([message.content, *titles]).replace("\\", "")


def buttons_of(message: DiscordMessage) -> dict[str, str]:
    return {item["label"]: item["custom_id"] for row in message.components for item in row["components"]}


@pytest.mark.parametrize(("given_", "shown"), VECTORS.values(), ids=VECTORS)
async def test_latest_answers_by_tag_only_to_the_person_who_asked(
    discord: DiscordServer, latest: Type, given_: Json, shown: str
) -> None:
    asked = await latest(given_)
    assert not asked.late
    assert shown in text_of(message_of(discord, asked))
    assert message_of(discord, asked).is_ephemeral


@pytest.mark.parametrize("tag", [spelling for spelling in C100["same"] if spelling.strip()])
async def test_every_spelling_is_understood(room: Room, discord: DiscordServer, latest: Type, tag: str) -> None:
    await room.read(Feed(id=FeedId("tag"), url="https://f.example/tag", tags=("open-source",)), feed_of(item(1)))
    assert "Article 1" in text_of(message_of(discord, await latest({"tag": tag})))


async def test_feedbell_has_every_command(discord: DiscordServer, feedbell: Type) -> None:
    async def say(name: str, given: Json | None = None) -> str:
        return text_of(message_of(discord, await feedbell(name, given)))

    assert "search WORDS" in await say("help")
    assert ROCE in await say("search", {"words": "lossless spectrum"})
    assert "all well" in await say("status")
    assert "you follow bgp" in await say("follow", {"tag": "bgp"})
    assert "you follow: bgp" in await say("following")
    assert "no more" in await say("unfollow", {"tag": "bgp"})
    assert "your id is discord:500" in await say("pause", {"feed": "ai-networking"})


async def test_public_is_shown_to_the_channel(discord: DiscordServer, latest: Type) -> None:
    assert not message_of(discord, await latest({"tag": "bgp", "public": True})).is_ephemeral
    assert len(discord.messages) == 1


async def test_feed_text_pings_and_formats_nothing(room: Room, discord: DiscordServer, latest: Type) -> None:
    evil = "@everyone &lt;@500&gt; **b** [a](b)"
    await room.read(Feed(id=FeedId("evil"), url="https://f.example/evil"), feed_of(item(19, "evil", title=evil)))
    asked = await latest({"tag": "evil", "public": True})
    await latest({"tag": "@everyone <@500> ||x||", "public": True})
    assert text_of(message_of(discord, asked)).startswith("\n@everyone <@500> **b** [a](b)")
    assert "[a](b)" not in message_of(discord, asked).embeds[0]["title"]
    assert discord.pings == []


async def test_buttons_page_in_place_and_show_in_the_channel(
    discord: DiscordServer, latest: Type, pressed: Type
) -> None:
    asked = await latest({"count": 2})
    buttons = buttons_of(message_of(discord, asked))
    before = text_of(message_of(discord, asked))
    older = await pressed(buttons["Older"])
    assert (older.callback or {})["type"] == 7
    assert text_of(message_of(discord, older)) != before
    assert discord.messages == []
    await pressed(buttons["Show in channel"])
    assert [PART_2 in text_of(message) for message in discord.messages] == [True]


async def test_a_slow_command_is_deferred_and_answered_once(
    room: Room, discord: DiscordServer, feedbell: Type, pressed: Type
) -> None:
    gate = asyncio.Event()
    get_page = room.web.get_page

    async def slowly(url: str, *, from_chat: bool) -> object:
        await gate.wait()
        return await get_page(url, from_chat=from_chat)

    room.web.pages["https://site.example/feed"] = feed_of(item(1))
    room.web.get_page = slowly  # type: ignore[method-assign,assignment]  # the page comes when the test says so
    asked = await feedbell("add", {"url": "https://site.example/feed"}, user="501")
    assert ((asked.callback or {})["type"], asked.late) == (5, False)
    gate.set()
    message = await until(lambda: found if "example-feed" in text_of(found := message_of(discord, asked)) else None)
    gate.clear()
    confirmed = await pressed(buttons_of(message)["Confirm"], user="501")
    assert (confirmed.callback or {})["type"] == 6
    gate.set()
    await until(lambda: "added as example-feed;" in text_of(message_of(discord, confirmed)) or None)
    assert [state.feed.id for state in await room.store.feeds()] == ["ai-networking", "example-feed"]
    assert (await room.store.chat_feeds())[0][1] == "discord:200"


async def until(look: Callable[[], Any]) -> Any:
    async with asyncio.timeout(20):
        while (found := look()) is None:
            await asyncio.sleep(0.02)
        return found


async def test_fields_are_completed(discord: DiscordServer, transport: str) -> None:
    async def complete(name: str, typed: str) -> list[str]:
        options = [{"name": name, "type": 3, "value": typed, "focused": True}]
        if transport:
            asked = await discord.users.command_over_http(transport, "latest", options, kind="autocomplete")
        else:
            asked = await discord.users.autocomplete("latest", options)
        return [choice["value"] for choice in (asked.callback or {})["data"]["choices"]]

    assert await complete("tag", "") == ["infiniband", "bgp", "evpn", "roce"]
    assert await complete("tag", "IN") == ["infiniband"]
    assert await complete("feed", "net") == ["ai-networking"]


async def test_direct_messages_are_answered_there(discord: DiscordServer, latest: Type) -> None:
    channel = discord.guild.open_dm("500").id
    asked = await latest({"tag": "bgp"}, channel=channel)
    assert "BGP Unnumbered" in text_of(message_of(discord, asked))
    assert "Show in channel" not in buttons_of(message_of(discord, asked))


# --- commands --------------------------------------------------------------------------------------------------------


def test_the_definitions_are_what_discord_takes() -> None:
    assert command_errors(definitions()) == {}


async def test_commands_are_written_when_they_changed_and_not_else(
    room: Room, discord: DiscordServer, make: Make
) -> None:
    for _ in range(2):
        chat = make(public_key=discord.users.public_key)
        await chat.start()
        await until(lambda: discord.users.commands.get("") or None)
        await chat.stop()
    assert discord.users.command_writes == 1
    await room.store.put_meta("discord_commands", "others")
    chat = make(public_key=discord.users.public_key)
    await chat.start()
    await until(lambda: discord.users.command_writes == 2 or None)


# --- the gateway -----------------------------------------------------------------------------------------------------


async def test_no_gateway_is_opened_where_a_public_key_is_set(over_http: str, discord: DiscordServer) -> None:
    await discord.users.command_over_http(over_http, "latest", [])
    assert discord.gateway.identifies == 0


async def test_case_c086_reidentifying_never_answers_twice(by_gateway: DiscordChat, discord: DiscordServer) -> None:
    for count in range(2, 4):
        await discord.gateway.invalidate()
        await until(lambda count=count: discord.gateway.identifies == count or None)  # type: ignore[misc]
        await ready(discord, by_gateway)
    asked = await discord.users.command("latest", fields({"tag": "bgp"}))
    assert (asked.late, len(asked.messages)) == (False, 1)
    assert len(discord.gateway.live) == 1


async def test_an_event_that_is_told_again_is_answered_once(by_gateway: DiscordChat, discord: DiscordServer) -> None:
    asked, payload = discord.users.make("command", {"name": "latest", "type": 1, "options": []})
    for _ in range(3):
        await discord.gateway.dispatch("INTERACTION_CREATE", payload)
    await until(lambda: asked.callback)
    await discord.users.command("latest")
    callbacks = [one for one in discord.requests if one.path.endswith(f"/{asked.token}/callback")]
    assert (len(callbacks), len(asked.messages)) == (1, 1)


async def test_a_resumed_session_goes_on(by_gateway: DiscordChat, discord: DiscordServer) -> None:
    await discord.gateway.reconnect()
    await until(lambda: discord.gateway.resumes or None)
    await ready(discord, by_gateway)
    assert not (await discord.users.command("latest")).late
    assert discord.gateway.identifies == 1


async def test_one_of_two_replicas_holds_the_gateway(room: Room, make: Make, discord: DiscordServer) -> None:
    class Other:
        """The same store, as another process sees it."""

        def __init__(self) -> None:
            self.owner = "other"

        def __getattr__(self, name: str) -> Any:
            return getattr(room.store, name)

        async def take_lease(self, name: str, *, now: datetime, until: datetime) -> int | None:
            held = await room.store.meta("held-by")
            if held not in (None, self.owner):
                return None
            await room.store.put_meta("held-by", self.owner)
            return 1

        async def renew_lease(self, name: str, *, epoch: int, until: datetime) -> None: ...

        async def release_lease(self, name: str, *, epoch: int) -> None: ...

    one = make(shared=Other())
    await one.start()
    await ready(discord, one)
    second = Other()
    second.owner = "second"
    two = make(shared=second)
    await two.start()
    await until(lambda: "another replica" in two.state().why or None)
    assert two.state().connected
    assert len(discord.gateway.live) == 1


async def test_a_refused_token_is_told(make: Make) -> None:
    chat = make(bot_token="wrong")
    await chat.start()
    await until(lambda: "refuses the bot token" in chat.state().why or None)
    assert not chat.state().connected


async def test_the_last_fifty_starts_of_a_day_are_not_spent(make: Make, discord: DiscordServer) -> None:
    discord.gateway.sessions_left = 50
    chat = make()
    await chat.start()
    await until(lambda: "only 50 starts" in chat.state().why or None)
    assert discord.gateway.identifies == 0


async def test_our_own_count_of_starts_holds_too(room: Room, make: Make, discord: DiscordServer) -> None:
    class Worn:
        def __getattr__(self, name: str) -> Any:
            return getattr(room.store, name)

        async def count_identify(self, *, now: datetime) -> int:
            return 951

    chat = make(store=Worn())
    await chat.start()
    await until(lambda: "951 starts" in chat.state().why or None)
    assert discord.gateway.identifies == 0


# --- signatures ------------------------------------------------------------------------------------------------------


@pytest.fixture
def post(over_http: str, session: aiohttp.ClientSession) -> Callable[..., Awaitable[tuple[int, str]]]:
    async def send(body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        async with session.post(over_http, data=body, headers=headers) as answer:
            return answer.status, await answer.text()

    return send


Post = Callable[..., Awaitable[tuple[int, str]]]


async def test_a_ping_is_answered_with_a_pong(post: Post, discord: DiscordServer) -> None:
    body = json.dumps({"id": "1", "application_id": "900", "type": 1, "token": "x", "version": 1}).encode()
    assert await post(body, discord.users.sign(body)) == (200, '{"type": 1}')


async def test_whatever_is_not_signed_is_refused(post: Post, discord: DiscordServer) -> None:
    body = b'{"id": "1", "application_id": "900", "type": 1}'
    good = discord.users.sign(body)
    stamp, signature = good["X-Signature-Timestamp"], good["X-Signature-Ed25519"]
    wrong: list[tuple[bytes, dict[str, str]]] = [
        (body, {}),
        (body + b" ", good),
        (body, {**good, "X-Signature-Ed25519": ""}),
        (body, {**good, "X-Signature-Ed25519": "0" * 128}),
        (body, {**good, "X-Signature-Ed25519": signature[:-1]}),
        (body, {**good, "X-Signature-Ed25519": "é" * 128}),
        (body, {**good, "X-Signature-Timestamp": "9" * 5_000}),
        (body, {**good, "X-Signature-Timestamp": f"0{stamp}"}),
        # A byte that wanders from the body to the timestamp leaves the signature valid.
        (body[1:], {**good, "X-Signature-Timestamp": stamp + "{"}),
        (body, discord.users.sign(body, at=datetime.now(UTC).timestamp() - 302)),
        (body, discord.users.sign(body, at=datetime.now(UTC).timestamp() + 302)),
    ]
    for bad, headers in wrong:
        assert await post(bad, headers) == (401, "not Discord")


@pytest.mark.parametrize("body", [b"", b"[]", b"7", b"{", b'{"type":2}', b'{"type":99}', b"\xff", b"[" * 20_000])
async def test_signed_nonsense_is_refused_too(post: Post, discord: DiscordServer, body: bytes) -> None:
    assert (await post(body, discord.users.sign(body)))[0] == 401


async def test_a_replay_gets_the_same_answer_and_nothing_happens_again(
    room: Room, post: Post, discord: DiscordServer
) -> None:
    options = [{"name": "follow", "type": 1, "options": fields({"tag": "bgp"})}]
    _, payload = discord.users.make("command", {"name": "feedbell", "type": 1, "options": options})
    body = json.dumps(payload).encode()
    first = await post(body, discord.users.sign(body))
    await room.store.remove_follow("discord-user:500", "bgp")  # type: ignore[arg-type]
    assert await post(body, discord.users.sign(body)) == first
    assert await room.store.follows() == []


async def test_a_body_of_more_than_64_kib_is_too_large(post: Post, discord: DiscordServer) -> None:
    body = b'{"x": "' + b"x" * 70_000 + b'"}'
    assert (await post(body, discord.users.sign(body)))[0] == 413


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(max_size=10), st.sampled_from(["latest", "1", "p:0:x:"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "options", "value", "type", "custom_id", "user", "id"]), inner),
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(
    st.fixed_dictionaries(
        {"type": st.sampled_from([1, 2, 3, 4, 5, None, "2", []]), "id": st.sampled_from(["1", "", 7])},
        optional={
            name: JSON
            for name in ("token", "application_id", "data", "member", "user", "channel_id", "message", "guild_id")
        },
    )
)
def test_interactions_of_any_content_are_read_or_called_forged(payload: Json) -> None:
    try:
        read_interaction({"application_id": "9", "token": "t", "channel_id": "2", "user": {"id": "5"}} | payload)
    except Forged:
        return


@settings(max_examples=200)
@given(st.text(max_size=40), st.text(max_size=140), st.binary(max_size=40))
def test_verification_only_ever_accepts_or_calls_it_forged(stamp: str, signature: str, body: bytes) -> None:
    headers = {"X-Signature-Timestamp": stamp, "X-Signature-Ed25519": signature}
    with pytest.raises(Forged):
        verify("ab" * 32, headers, body, now=datetime(2026, 5, 20, tzinfo=UTC))


def test_fields_read_as_they_would_be_typed() -> None:
    assert to_text("latest", fields({"tag": "bgp", "count": 3, "feed": 'a"b', "public": True})) == (
        'bgp count:3 feed:"ab" public:true'
    )
    assert to_text("latest", fields({"public": False})) == ""
    assert to_text("nothing", fields({"tag": "x"})) == ""


# --- starts ----------------------------------------------------------------------------------------------------------


async def test_a_crash_loop_starts_ever_later_and_a_good_session_ends_it(room: Room) -> None:
    from bot.chat.discord.budget import Starts

    clock = RoomClock()
    for _ in range(5):
        await Starts(room.store, clock).wait()
        clock.advance(timedelta(seconds=1))
    assert [slept.total_seconds() for slept in clock.slept] == [0, 0, 5, 10, 20]
    await Starts(room.store, clock).went_well()
    await Starts(room.store, clock).wait()
    assert clock.slept[-1] == timedelta(0)
    clock.advance(timedelta(hours=1))
    await Starts(room.store, clock).wait()
    assert clock.slept[-1] == timedelta(0)
