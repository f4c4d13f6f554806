"""The local gateway keeps a session over a lost connection, and closes with the codes that are documented."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.servers.discord import DiscordServer
from tests.servers.faults import Json

Socket = aiohttp.ClientWebSocketResponse


@pytest.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        yield server


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def greet(discord: DiscordServer, http: aiohttp.ClientSession) -> Socket:
    socket = await http.ws_connect(f"{discord.gateway.url}?v=10&encoding=json")
    assert (await socket.receive_json())["op"] == 10
    return socket


async def identify(discord: DiscordServer, http: aiohttp.ClientSession) -> tuple[Socket, Json]:
    socket = await greet(discord, http)
    await socket.send_json({"op": 2, "d": {"token": discord.bot_token, "intents": 0, "properties": {}}})
    return socket, await socket.receive_json()


async def test_what_happened_while_away_comes_with_the_resume(
    discord: DiscordServer, http: aiohttp.ClientSession
) -> None:
    socket, ready = await identify(discord, http)
    await discord.gateway.drop()
    await socket.receive()
    while discord.gateway.live:
        await asyncio.sleep(0.01)
    assert await discord.gateway.dispatch("INTERACTION_CREATE", {"id": "1"}) == 0
    again = await greet(discord, http)
    session = ready["d"]["session_id"]
    await again.send_json({"op": 6, "d": {"token": discord.bot_token, "session_id": session, "seq": ready["s"]}})
    assert [(await again.receive_json())["t"] for _ in range(2)] == ["INTERACTION_CREATE", "RESUMED"]
    assert (discord.gateway.identifies, discord.gateway.resumes) == (1, 1)


async def test_a_client_that_leaves_in_order_ends_its_session(
    discord: DiscordServer, http: aiohttp.ClientSession
) -> None:
    socket, ready = await identify(discord, http)
    await socket.close(code=1000)
    again = await greet(discord, http)
    session = ready["d"]["session_id"]
    await again.send_json({"op": 6, "d": {"token": discord.bot_token, "session_id": session, "seq": 1}})
    answer = await again.receive_json()
    assert (answer["op"], answer["d"]) == (9, False)


@pytest.mark.parametrize(
    ("packet", "code"),
    [
        ({"op": 2, "d": {"token": "wrong", "intents": 0}}, 4004),
        ({"op": 2, "d": {"token": "discord-test-bot-token"}}, 4013),
        ({"op": 3, "d": {}}, 4003),
        ({"no": "op"}, 4002),
    ],
)
async def test_wrong_packets_are_closed_with_their_code(
    discord: DiscordServer, http: aiohttp.ClientSession, packet: Json, code: int
) -> None:
    socket = await greet(discord, http)
    await socket.send_json(packet)
    closed = await socket.receive()
    assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, code)


async def test_a_missing_heartbeat_ends_the_connection_and_is_noted(
    discord: DiscordServer, http: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    discord.gateway.heartbeat_interval = 0.01
    monkeypatch.setattr("tests.servers.discord_gateway.HEARTBEAT_SLACK", 0.05)
    socket = await greet(discord, http)
    assert (await socket.receive()).data == 4009
    assert discord.violations == ["a heartbeat was late"]


async def test_more_identifies_than_allowed_reset_the_token(
    discord: DiscordServer, http: aiohttp.ClientSession
) -> None:
    discord.gateway.sessions_left = 1
    await identify(discord, http)
    socket = await greet(discord, http)
    await socket.send_json({"op": 2, "d": {"token": discord.bot_token, "intents": 0}})
    assert (await socket.receive()).data == 4004
    assert discord.token_revoked
