"""Socket Mode: connections end, envelopes come twice, Slack is away."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from bot.chat.slack import SlackChat
from bot.clock import SystemClock
from bot.store.store import open_store
from tests.chat_room import Room
from tests.edge.raw_http import RawServer, Request, answer
from tests.servers.slack import SlackServer


async def test_a_repeated_envelope_is_acknowledged_but_answered_once(
    slack: SlackServer, slack_by_socket: SlackChat
) -> None:
    first = await slack.users.slash("/latest", "bgp", envelope_id="e1")
    again = await slack.users.slash("/latest", "bgp", envelope_id="e1")
    assert first.body
    assert (again.late, again.body or {}) == (False, {})
    assert len(slack.users.responses) == 1


async def test_two_replicas_answer_an_envelope_once(
    room: Room, slack: SlackServer, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    stores = [await open_store(f"sqlite:///{tmp_path / 'room.db'}") for _ in range(2)]
    chats = [
        SlackChat(
            commands=room.commands,
            clock=SystemClock(),
            session=session,
            api_url=slack.api_url,
            app_token=slack.app_token,
            seen=store,
        )
        for store in stores
    ]
    for chat in chats:
        await chat.start()
    async with asyncio.timeout(20):
        await slack.socket.wait_connected(2)
    for _ in range(4):
        await slack.users.slash("/latest", "bgp", envelope_id="e1")
    assert len(slack.users.responses) == 1
    for chat, store in zip(chats, stores, strict=True):
        await chat.stop()
        await store.close(now=room.clock.now())


@pytest.mark.parametrize("reason", ["refresh_requested", "warning", "drop"])
async def test_a_connection_that_ends_is_replaced(slack: SlackServer, slack_by_socket: SlackChat, reason: str) -> None:
    await slack.socket.disconnect(reason)
    async with asyncio.timeout(20):
        while slack.socket.opened < 2 or not slack.socket.connections:
            await asyncio.sleep(0.01)
    assert (await slack.users.slash("/latest", "bgp")).body
    assert slack_by_socket.state().connected


async def test_a_refused_token_is_told_and_nothing_else_stands_still(
    room: Room, session: aiohttp.ClientSession
) -> None:
    async with SlackServer() as slack:
        chat = SlackChat(
            commands=room.commands, clock=SystemClock(), session=session, api_url=slack.api_url, app_token="xapp-wrong"
        )
        await chat.start()
        async with asyncio.timeout(20):
            while "invalid_auth" not in chat.state().why:
                await asyncio.sleep(0.01)
        assert not chat.state().connected
        await chat.stop()


@pytest.mark.parametrize(
    "page",
    [
        answer("503 Busy", "Content-Type: text/html", body=b"<h1>down</h1>"),
        answer("200 OK", "Content-Type: text/html", body=b"<h1>a proxy</h1>"),
        answer("200 OK", "Content-Type: application/json", body=b"[1]"),
        answer("200 OK", "Content-Type: application/json", body=b'{"ok": true}'),
        answer("200 OK", "Content-Type: application/json", body=b'{"ok": true, "url": ["x"]}'),
        answer("200 OK", "Content-Type: application/json", body=b""),
        answer("200 OK", "Content-Type: application/json", body=b'{"ok": false, "error": {"a": 1}}'),
        answer("200 OK", "Content-Type: application/json", body=b"[" * 100_000),
        answer("429 Slow", "Content-Type: text/plain", "Retry-After: 1", body=b"slow"),
    ],
)
async def test_whatever_is_answered_for_a_connection_it_is_tried_again(
    room: Room, session: aiohttp.ClientSession, page: bytes
) -> None:
    async with RawServer({"/api/apps.connections.open": page}) as server:
        chat = SlackChat(
            commands=room.commands,
            clock=SystemClock(),
            session=session,
            api_url=server.url("/api/"),
            app_token="xapp-x",
        )
        await chat.start()
        async with asyncio.timeout(20):
            while len(server.requests) < 2:
                await asyncio.sleep(0.01)
        assert not chat.state().connected
        await chat.stop()


@pytest.mark.parametrize("header", ["Retry-After: 3", "retry-after: 3"])
@pytest.mark.parametrize(
    "body",
    [
        ("application/json", b'{"ok": false, "error": "ratelimited"}'),
        ("text/html", b"<h1>slow</h1>"),
    ],
)
async def test_a_connection_is_not_asked_for_before_slack_wants_to_be_asked(
    room: Room, session: aiohttp.ClientSession, header: str, body: tuple[str, bytes]
) -> None:
    page = answer("429 Slow", f"Content-Type: {body[0]}", header, body=body[1])
    times: list[float] = []

    async def slow(_: asyncio.StreamWriter, __: Request) -> AsyncIterator[bytes]:
        times.append(asyncio.get_running_loop().time())
        yield page

    async with RawServer({"/api/apps.connections.open": slow}) as server:
        url = server.url("/api/")
        chat = SlackChat(commands=room.commands, clock=SystemClock(), session=session, api_url=url, app_token="xapp-x")
        await chat.start()
        async with asyncio.timeout(20):
            while len(times) < 2:
                await asyncio.sleep(0.01)
        assert 3.0 <= times[1] - times[0] < 10
        assert chat.state().why == "Slack asks us to slow down"
        await chat.stop()


async def test_a_slack_that_is_away_is_connected_to_once_it_is_back(
    room: Room, session: aiohttp.ClientSession, unused_tcp_port: int
) -> None:
    chat = SlackChat(
        commands=room.commands,
        clock=SystemClock(),
        session=session,
        api_url=f"http://127.0.0.1:{unused_tcp_port}/api/",
        app_token="xapp-test-app",
    )
    await chat.start()
    async with asyncio.timeout(30):
        while "can't connect" not in chat.state().why:
            await asyncio.sleep(0.01)
        async with SlackServer(port=unused_tcp_port) as slack:
            await slack.socket.wait_connected()
            assert (await slack.users.slash("/latest", "bgp")).body
            await chat.stop()


@pytest.fixture
def unused_tcp_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
