"""The local Discord refuses what Discord refuses, and breaks only when told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import discord as library
import pytest
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL

from tests.servers.discord import DiscordServer
from tests.servers.faults import Fault, Json
from tests.servers.journal import SettableClock

Ask = Callable[..., Awaitable[tuple[int, Json]]]
ANSWER = {"type": 4, "data": {"content": "hi", "allowed_mentions": {"parse": []}}}


@pytest.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(clock=SettableClock()) as server:
        yield server


@pytest.fixture
async def ask(discord: DiscordServer) -> AsyncIterator[Ask]:
    headers = {"Authorization": f"Bot {discord.bot_token}", "User-Agent": "DiscordBot (https://example.org, 1)"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def call(method: str, path: str, body: Json | None = None) -> tuple[int, Json]:
            async with session.request(method, discord.api_url + path, json=body) as answer:
                return answer.status, await answer.json() if answer.status != 204 else {}

        yield call


async def code_of(ask: Ask, body: Json, channel: str = "200") -> int:
    return int((await ask("POST", f"/channels/{channel}/messages", body))[1]["code"])


async def test_a_nonce_returns_the_first_message_until_its_window_closes(discord: DiscordServer, ask: Ask) -> None:
    body = {"content": "hi", "nonce": "n1", "enforce_nonce": True}
    ids = [(await ask("POST", "/channels/200/messages", body))[1]["id"] for _ in range(2)]
    assert len(set(ids)) == len(discord.messages) == 1
    assert isinstance(discord.clock, SettableClock)
    discord.clock.move(discord.nonce_window + 1)
    await ask("POST", "/channels/200/messages", body)
    assert len(discord.messages) == 2


async def test_the_nonce_of_a_deleted_message_is_an_unknown_message(discord: DiscordServer, ask: Ask) -> None:
    body = {"content": "hi", "nonce": "n1", "enforce_nonce": True}
    _, made = await ask("POST", "/channels/200/messages", body)
    discord.delete_message("200", made["id"])
    assert await code_of(ask, body) == 10008


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"content": " \n "}, 50006),
        ({"embeds": [{}]}, 50006),
        ({"content": "x" * 2001}, 50035),
        ({"content": "x", "nonce": "x" * 26}, 50035),
        ({"embeds": [{"title": "x"}] * 11}, 50035),
        ({"embeds": [{"title": "x" * 257}]}, 50035),
        ({"embeds": [{"description": "x" * 4097}]}, 50035),
        ({"embeds": [{"description": "x" * 3001}] * 2}, 50035),
        ({"embeds": [{"title": "x", "url": "https://example.org/a b"}]}, 50035),
        ({"embeds": [{"title": "x", "url": "javascript:alert(1)"}]}, 50035),
        ({"embeds": [{"title": "x", "url": "/relative"}]}, 50035),
        ({"embeds": [{"title": "x", "timestamp": "yesterday"}]}, 50035),
        ({"embeds": [{"fields": [{"name": "x", "value": ""}]}]}, 50035),
        ({"content": "x", "components": [{"type": 1, "components": [{"type": 2, "style": 5, "label": "x"}]}]}, 50035),
        ({"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}}, 50035),
    ],
)
async def test_what_discord_refuses_is_refused(discord: DiscordServer, ask: Ask, body: Json, code: int) -> None:
    assert await code_of(ask, body) == code
    assert not discord.messages


async def test_a_refused_embed_is_named_in_the_tree_of_errors(ask: Ask) -> None:
    _, body = await ask(
        "POST", "/channels/200/messages", {"embeds": [{"title": " " + "x" * 256 + " "}, {"title": "x" * 257}]}
    )
    assert body["errors"]["embeds"]["1"]["title"]["_errors"][0]["code"] == "BASE_TYPE_MAX_LENGTH"
    assert "0" not in body["errors"]["embeds"]


async def test_without_the_right_to_read_the_history_is_empty_and_no_error(discord: DiscordServer, ask: Ask) -> None:
    await ask("POST", "/channels/200/messages", {"content": "hi"})
    assert len((await ask("GET", "/channels/200/messages"))[1]) == 1
    discord.set_permissions("200", deny=["READ_MESSAGE_HISTORY"])
    assert not (await ask("GET", "/channels/200/messages"))[1]


async def test_missing_rights_have_their_codes_and_embeds_vanish(discord: DiscordServer, ask: Ask) -> None:
    discord.set_permissions("200", deny=["EMBED_LINKS"])
    await ask("POST", "/channels/200/messages", {"content": "hi", "embeds": [{"title": "x"}]})
    assert discord.messages[0].embeds == []
    discord.set_permissions("200", deny=["SEND_MESSAGES"])
    assert await code_of(ask, {"content": "x"}) == 50013
    discord.set_permissions("200", deny=["VIEW_CHANNEL"])
    assert await code_of(ask, {"content": "x"}) == 50001
    assert await code_of(ask, {"content": "x"}, "201") == 50008
    assert await code_of(ask, {"content": "x"}, "999") == 10003
    assert discord.invalid_requests == 2


async def test_after_gives_the_messages_next_to_it_newest_first(ask: Ask) -> None:
    ids = [(await ask("POST", "/channels/200/messages", {"content": str(n)}))[1]["id"] for n in range(4)]
    _, found = await ask("GET", f"/channels/200/messages?after={ids[0]}&limit=2")
    assert [message["content"] for message in found] == ["2", "1"]  # type: ignore[index]  # a list this time


@pytest.mark.parametrize(
    ("allowed", "pings"),
    [
        (None, ("@everyone", "<@1>", "<@&2>")),
        ({"parse": []}, ()),
        ({"parse": [], "users": ["1"]}, ("<@1>",)),
        ({"parse": ["everyone"], "roles": ["3"]}, ("@everyone",)),
    ],
)
async def test_pings_are_computed_as_allowed(
    discord: DiscordServer, ask: Ask, allowed: Json | None, pings: tuple[str, ...]
) -> None:
    body: Json = {"content": "@everyone <@1> <@&2>", "embeds": [{"title": "@here <@1>"}]}
    await ask("POST", "/channels/200/messages", body | ({"allowed_mentions": allowed} if allowed else {}))
    assert discord.messages[0].pings == pings


async def test_a_wrong_agent_token_or_body_gets_nothing_done(discord: DiscordServer) -> None:
    url = f"{discord.api_url}/channels/200/messages"
    good = {"Authorization": f"Bot {discord.bot_token}", "User-Agent": "DiscordBot (https://example.org, 1)"}
    async with aiohttp.ClientSession() as session:
        for change, status in (({"User-Agent": "curl"}, 403), ({"Authorization": "Bot x"}, 401)):
            async with session.post(url, json={"content": "x"}, headers=good | change) as answer:
                assert answer.status == status
        async with session.post(url, data={"content": "x"}, headers=good) as answer:
            assert answer.status == 400


async def test_webhooks_need_no_token_and_answer_only_when_asked_to_wait(discord: DiscordServer, ask: Ask) -> None:
    path = discord.add_webhook("200").removeprefix(discord.api_url)
    assert (await ask("POST", path, {"content": "x"}))[0] == 204
    status, made = await ask("POST", f"{path}?wait=true", {"content": "y"})
    await ask("PATCH", f"{path}/messages/{made['id']}", {"content": "z"})
    assert (status, discord.messages[1].content) == (200, "z")
    discord.posts.webhooks.clear()
    assert (await ask("POST", path, {"content": "x"}))[1]["code"] == 10015
    assert discord.violations == []
    await ask("POST", path, {"content": "x"})
    assert len(discord.violations) == 1


async def test_a_rate_limit_says_how_long_in_body_and_header(discord: DiscordServer, ask: Ask) -> None:
    discord.faults.add(Fault(kind="rate", retry_after="0.25"))
    status, body = await ask("POST", "/channels/200/messages", {"content": "x"})
    assert (status, body["retry_after"], body["global"]) == (429, 0.25, False)


async def test_a_direct_message_may_be_closed(discord: DiscordServer, ask: Ask) -> None:
    _, channel = await ask("POST", "/users/@me/channels", {"recipient_id": "500"})
    assert (await ask("POST", f"/channels/{channel['id']}/messages", {"content": "x"}))[0] == 200
    discord.guild.closed_to_dms.add("500")
    assert await code_of(ask, {"content": "x"}, channel["id"]) == 50007


async def test_an_interaction_is_answered_once_and_in_time(discord: DiscordServer, ask: Ask) -> None:
    asked, payload = discord.users.make("command", {"name": "latest"})
    path = f"/interactions/{payload['id']}/{payload['token']}/callback"
    assert (await ask("POST", path, ANSWER))[0] == 204
    assert (await ask("POST", path, ANSWER))[1]["code"] == 40060
    await ask("PATCH", f"/webhooks/900/{payload['token']}/messages/@original", {"content": "better"})
    assert [message.content for message in discord.messages] == ["better"]
    asked.late = True
    assert (await ask("POST", path, ANSWER))[1]["code"] == 10062


async def test_the_library_logs_in_resumes_and_identifies_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async with DiscordServer() as server:
        monkeypatch.setattr(Route, "BASE", server.api_url)
        monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", URL(server.gateway.url))
        client = library.Client(intents=library.Intents.none(), max_messages=None)
        tree = app_commands.CommandTree(client)

        @tree.command(name="latest", description="The newest post")
        async def latest(interaction: library.Interaction, tag: str) -> None:
            await interaction.response.send_message(tag, ephemeral=True)

        options = [{"name": "tag", "type": 3, "value": "bgp"}]
        async with client:
            running = asyncio.create_task(client.start(server.bot_token))
            await until(lambda: bool(server.gateway.live))
            await tree.sync()
            assert not (await server.users.command("latest", options)).late
            await server.gateway.reconnect()
            await until(lambda: server.gateway.resumes == 1 and bool(server.gateway.live))
            assert not (await server.users.command("latest", options)).late
            await server.gateway.invalidate()
            await until(lambda: server.gateway.identifies == 2 and bool(server.gateway.live))
            assert not (await server.users.command("latest", options)).late
            await client.close()
            await running
        assert [message.content for message in server.guild.messages] == ["bgp"] * 3
        assert server.messages == []
        assert (server.users.command_writes, server.violations) == (1, [])


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.02)


async def test_a_late_commit_is_seen_only_later(discord: DiscordServer, ask: Ask) -> None:
    discord.faults.add(Fault(kind="status", status=502, store=True, late=0.1))
    url = f"{discord.api_url}/channels/200/messages"
    headers = {"Authorization": f"Bot {discord.bot_token}", "User-Agent": "DiscordBot (https://example.org, 1)"}
    async with aiohttp.ClientSession(headers=headers) as session, session.post(url, json={"content": "x"}) as answer:
        assert (answer.status, discord.messages) == (502, [])
    await until(lambda: len(discord.messages) == 1)


async def test_a_lagging_history_hides_what_is_fresh(discord: DiscordServer, ask: Ask) -> None:
    discord.set(history_lag=5)
    await ask("POST", "/channels/200/messages", {"content": "x"})
    assert not (await ask("GET", "/channels/200/messages"))[1]
    assert isinstance(discord.clock, SettableClock)
    discord.clock.move(5)
    assert (await ask("GET", "/channels/200/messages"))[1]
