"""A bot and the people who type to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.chat.discord import DiscordChat
from bot.chat.slack import SlackChat
from bot.clock import SystemClock
from tests.chat_room import Room
from tests.edge.chat.people import AGENT, Click, Make, Type, fields, ready
from tests.servers.discord import DiscordServer
from tests.servers.discord_interactions import Asked
from tests.servers.faults import Json
from tests.servers.slack import SlackServer
from tests.servers.slack_users import SlackAnswer


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    """The commands over a store that has read the seed feed."""
    room = await Room.open(tmp_path)
    await room.read_seed()
    yield room
    await room.close()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    async with SlackServer() as server:
        yield server
        assert server.violations == []


@pytest.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        yield server
        assert server.violations == []


@pytest.fixture
async def slack_over_http(room: Room, slack: SlackServer, session: aiohttp.ClientSession) -> AsyncIterator[str]:
    """The address of a bot that is reached over HTTP."""
    chat = SlackChat(
        commands=room.commands,
        clock=SystemClock(),
        session=session,
        api_url=slack.api_url,
        signing_secret=slack.users.signing_secret,
    )
    await chat.start()
    app = web.Application()
    app.add_routes(chat.routes())
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")
        await chat.stop()


@pytest.fixture
async def slack_by_socket(room: Room, slack: SlackServer, session: aiohttp.ClientSession) -> AsyncIterator[SlackChat]:
    """A bot that is connected by Socket Mode."""
    chat = SlackChat(
        commands=room.commands,
        clock=SystemClock(),
        session=session,
        api_url=slack.api_url,
        app_token=slack.app_token,
        signing_secret=slack.users.signing_secret,
    )
    await chat.start()
    async with asyncio.timeout(20):
        await slack.socket.wait_connected()
        while not chat.state().connected:
            await asyncio.sleep(0.01)
    yield chat
    await chat.stop()


@pytest.fixture(params=["HTTP", "Socket Mode"])
def slack_transport(request: pytest.FixtureRequest) -> str:
    """Where a bot takes what people do; "" for Socket Mode."""
    if request.param == "HTTP":
        return str(request.getfixturevalue("slack_over_http"))
    request.getfixturevalue("slack_by_socket")
    return ""


@pytest.fixture
def typed(slack_transport: str, slack: SlackServer) -> Type:
    """Type a command."""

    async def slash(command: str, text: str = "", **more: str) -> SlackAnswer:
        return await slack.users.slash_over_http(f"{slack_transport}/slack/commands", command, text, **more)

    return slash if slack_transport else slack.users.slash


@pytest.fixture
def pressed(slack_transport: str, slack: SlackServer) -> Type:
    """Press a button."""

    async def press(button: Json) -> SlackAnswer:
        return await slack.users.press_over_http(f"{slack_transport}/slack/interactive", button)

    return press if slack_transport else slack.users.press


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
async def discord_over_http(make: Make, discord: DiscordServer) -> AsyncIterator[str]:
    chat = make(public_key=discord.users.public_key)
    await chat.start()
    app = web.Application(client_max_size=10_000_000)
    app.add_routes(chat.routes())
    async with TestServer(app) as server:
        yield str(server.make_url("/discord/interactions"))


@pytest.fixture
async def by_gateway(make: Make, discord: DiscordServer) -> DiscordChat:
    chat = make()
    await chat.start()
    await ready(discord, chat)
    return chat


@pytest.fixture(params=["HTTP", "gateway"])
def discord_transport(request: pytest.FixtureRequest) -> str:
    """Where a bot takes interactions; "" for the gateway."""
    if request.param == "HTTP":
        return str(request.getfixturevalue("discord_over_http"))
    request.getfixturevalue("by_gateway")
    return ""


@pytest.fixture
def latest(discord_transport: str, discord: DiscordServer) -> Click:
    async def type_(given: Json, **more: Any) -> Asked:
        if discord_transport:
            return await discord.users.command_over_http(discord_transport, "latest", fields(given), **more)
        return await discord.users.command("latest", fields(given), **more)

    return type_


@pytest.fixture
def feedbell(discord_transport: str, discord: DiscordServer) -> Click:
    async def type_(name: str, given: Json | None = None, **more: Any) -> Asked:
        options = [{"name": name, "type": 1, "options": fields(given or {})}]
        if discord_transport:
            return await discord.users.command_over_http(discord_transport, "feedbell", options, **more)
        return await discord.users.command("feedbell", options, **more)

    return type_


@pytest.fixture
def clicked(discord_transport: str, discord: DiscordServer) -> Click:
    async def press(custom_id: str, **more: Any) -> Asked:
        if discord_transport:
            return await discord.users.press_over_http(discord_transport, custom_id, **more)
        return await discord.users.press(custom_id, **more)

    return press
