"""What the port does to every request: headers, sizes, time, and room for the next one."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack, suppress
from datetime import timedelta

import pytest
from aiohttp import web

from bot.core.model.feed import FeedId
from bot.web.connections import Connections
from bot.web.health import Alive, Ready, ready
from tests.edge.web_bot import Bot, serve
from tests.edge.web_facts import NOW


async def send(port: int, text: bytes) -> bytes:
    """Send raw bytes and return what comes until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(text)
        return await reader.read()
    finally:
        writer.close()


async def rest(reader: asyncio.StreamReader) -> bytes:
    """Return what still comes until the server closes, politely or not."""
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


RAW = [
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"NONSENSE\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n",
    b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


@pytest.mark.parametrize("text", RAW)
async def test_no_answer_names_the_software_and_each_carries_the_security_headers(text: bytes) -> None:
    async with serve() as (bot, _):
        assert bot.running is not None
        head = (await send(bot.running.port, text)).partition(b"\r\n\r\n")[0].lower()
        assert b"server:" not in head
        assert b"set-cookie" not in head
        assert b"content-security-policy: default-src 'none'" in head
        assert b"x-content-type-options: nosniff" in head
        assert b"aiohttp" not in head


async def test_pages_hold_no_inline_script_or_style_and_nothing_remote() -> None:
    async with serve() as (bot, client):
        for path in ("/", "/feeds", "/feeds/ai-networking", "/destinations", "/deliveries", "/search?q=evpn", "/inbox"):
            text = await (await client.get(bot.url + path)).text()
            assert text.count("<script") == text.count('<script src="/static/live.js?v='), path
            assert " style=" not in text, path
            assert 'src="http' not in text, path


async def test_a_body_of_64_kb_is_read_and_one_byte_more_is_refused() -> None:
    async with serve() as (bot, client):
        assert (await client.post(f"{bot.url}/unsubscribe/good", data=b"x" * 65_536)).status == 200
        assert (await client.post(f"{bot.url}/unsubscribe/good", data=b"x" * 65_537)).status == 413

        async def chunks() -> object:
            for _ in range(66):
                yield b"x" * 1_024

        assert (await client.post(f"{bot.url}/unsubscribe/good", data=chunks())).status == 413
        assert bot.unsubscribed == ["good"]


async def test_a_store_that_cannot_be_read_is_503_with_words() -> None:
    async with serve() as (bot, client):
        bot.status.is_down = True
        answer = await client.get(bot.url + "/feeds")
        assert (answer.status, answer.headers["Retry-After"]) == (503, "10")
        assert "Not right now" in await answer.text()


# --- patience --------------------------------------------------------------------------------------------------------


async def serve_impatiently(head_seconds: float, most: int) -> tuple[asyncio.Server, web.AppRunner, int]:
    async def hello(_: web.Request) -> web.Response:
        return web.Response(text="hello")

    app = web.Application()
    app.router.add_get("/", hello)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    assert runner.server is not None
    connections = Connections(runner.server, {}, head_seconds=head_seconds, most=most)
    server = await asyncio.get_running_loop().create_server(connections, "127.0.0.1", 0)
    return server, runner, server.sockets[0].getsockname()[1]


async def stop(server: asyncio.Server, runner: web.AppRunner) -> None:
    server.close()
    await runner.cleanup()
    await server.wait_closed()


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
async def test_a_connection_that_sends_no_whole_head_is_closed(sent: bytes) -> None:
    server, runner, port = await serve_impatiently(head_seconds=0.05, most=100)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        assert await rest(reader) == b""
        writer.close()
    finally:
        await stop(server, runner)


async def test_a_kept_connection_is_not_closed_while_it_is_idle_but_when_the_next_head_drips() -> None:
    server, runner, port = await serve_impatiently(head_seconds=0.05, most=100)
    request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):
            writer.write(request)
            assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
            await asyncio.sleep(0.1)  # longer than a head may take
        writer.write(request[:10])
        assert await rest(reader) == b""
        writer.close()
    finally:
        await stop(server, runner)


async def test_when_there_are_too_many_the_oldest_without_a_request_goes_and_the_newest_is_served() -> None:
    server, runner, port = await serve_impatiently(head_seconds=30, most=5)
    try:
        kept_reader, kept = await asyncio.open_connection("127.0.0.1", port)
        kept.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await kept_reader.readuntil(b"hello")
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
        answer = await send(port, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert answer.endswith(b"hello")
        assert await rest(slow[0][0]) == b""
        kept.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await kept_reader.readuntil(b"hello")
        for _, writer in [*slow, (None, kept)]:
            writer.close()
    finally:
        await stop(server, runner)


async def test_a_request_amid_a_crowd_that_connects_at_once_and_says_nothing_is_answered() -> None:
    async with serve() as (bot, _):
        assert bot.running is not None
        with ExitStack() as stack:
            crowd = [stack.enter_context(socket.socket()) for _ in range(351)]
            for one in crowd:  # the loop has no turn meanwhile
                one.setblocking(False)
                with suppress(BlockingIOError):
                    one.connect(("127.0.0.1", bot.running.port))
            for one in (crowd[100], crowd[-1]):
                one.send(RAW[0])
            for one in (crowd[100], crowd[-1]):
                answer = await asyncio.get_running_loop().sock_recv(one, 100)
                assert answer.startswith(b"HTTP/1.1 200")


async def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.web.server.BODY_SECONDS", 0.05)
    monkeypatch.setattr("bot.web.server.LINGER_SECONDS", 0.05)
    async with serve() as (bot, _):
        assert bot.running is not None
        head = b"POST /unsubscribe/good HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc"
        assert (await send(bot.running.port, head)).startswith(b"HTTP/1.1 408")


async def test_the_port_is_free_again_after_a_stop() -> None:
    async with serve() as (bot, client):
        assert (await client.get(bot.url + "/healthz")).status == 200
        assert bot.running is not None
        port = bot.running.port
    async with serve(port=port) as (again, client):
        assert (await client.get(again.url + "/healthz")).status == 200


async def test_a_port_that_is_taken_is_an_error_at_start() -> None:
    async with serve() as (bot, _):
        assert bot.running is not None
        with pytest.raises(OSError, match="in use"):
            async with serve(port=bot.running.port):
                pass


# --- health ----------------------------------------------------------------------------------------------------------


async def reasons(bot: Bot, client: object, path: str) -> tuple[int, list[str]]:
    answer = await client.get(bot.url + path)  # type: ignore[attr-defined]
    body = await answer.json()
    assert body["status"] == ("ok" if answer.status == 200 else "failing")
    return answer.status, body["reasons"]


async def test_health_is_green_while_the_loop_and_the_writer_move() -> None:
    async with serve() as (bot, client):
        assert await reasons(bot, client, "/healthz") == (200, [])
        bot.status.is_down = True  # a store that is away is no reason to restart
        assert await reasons(bot, client, "/healthz") == (200, [])
        bot.alive = Alive(since_tick=timedelta(seconds=61))
        assert await reasons(bot, client, "/healthz") == (503, ["nothing has looked for due work for 61 s"])
        bot.alive = Alive(since_tick=timedelta(), write_blocked=timedelta(seconds=31))
        assert await reasons(bot, client, "/healthz") == (503, ["the store's writer has stood still for 31 s"])
        assert (await reasons(bot, client, "/readyz"))[0] == 503


async def test_ready_says_why_not() -> None:
    async with serve() as (bot, client):
        assert await reasons(bot, client, "/readyz") == (200, [])
        bot.ready = Ready(oldest_waiting_at=NOW - timedelta(minutes=16), chat={"Slack": "no answer", "Discord": None})
        assert await reasons(bot, client, "/readyz") == (
            503,
            ["a delivery has been waiting for 16 min", "Slack is not connected: no answer"],
        )
        bot.status.is_down = True
        assert await reasons(bot, client, "/readyz") == (503, ["the store can't be read: database is locked"])


def test_a_feed_that_nobody_polls_is_named() -> None:
    verdict = ready(Ready(late=[(FeedId("ai-networking"), NOW - timedelta(minutes=46))]), now=NOW)
    assert verdict.reasons == ("feed ai-networking has been due for 46 min and was not polled",)
