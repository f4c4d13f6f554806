"""What a failed HTTP request says about a message: not sent, or unknown."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import aiohttp
import pytest
from aiohttp import web

from bot.core.errors import Deferred, OutcomeUnknown
from bot.notifiers import http
from bot.notifiers.http import Answer, ask, clock_offset
from tests.core.messages import SEEN
from tests.servers.certificates import Certificates

Serve = Callable[[Callable[[web.Request], Awaitable[web.StreamResponse]], ssl.SSLContext | None], Awaitable[str]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    runners: list[web.AppRunner] = []

    async def start(
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]], tls: ssl.SSLContext | None = None
    ) -> str:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handler)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        return f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}/canary"

    yield start
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


async def hello(request: web.Request) -> web.StreamResponse:
    return web.Response(text="hello")


async def test_an_answer_comes_whole(serve: Serve, session: aiohttp.ClientSession) -> None:
    answer = await ask(session, "GET", await serve(hello, None), service="it")
    assert (answer.status, answer.body, answer.whole, answer.json) == (200, b"hello", True, None)


@pytest.mark.parametrize("kind", ["expired", "other-name", "unknown"])
async def test_a_bad_certificate_means_not_sent(serve: Serve, session: aiohttp.ClientSession, kind: str) -> None:
    url = await serve(hello, Certificates().server_context(kind))
    with pytest.raises(Deferred, match="certificate"):
        await ask(session, "POST", url, service="it", payload={})


async def test_a_server_without_tls_behind_https_means_not_sent(serve: Serve, session: aiohttp.ClientSession) -> None:
    url = (await serve(hello, None)).replace("http:", "https:")
    with pytest.raises(Deferred, match="TLS"):
        await ask(session, "POST", url, service="it", payload={})


@pytest.mark.parametrize("url", ["http://name.invalid/canary", "http://127.0.0.1:9/canary", "nonsense", "canary://x"])
async def test_no_connection_means_not_sent_and_keeps_the_url_secret(session: aiohttp.ClientSession, url: str) -> None:
    with pytest.raises(Deferred) as caught:
        await ask(session, "POST", url, service="it", payload={})
    assert "canary" not in str(caught.value)


async def silent(request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise web.HTTPOk


async def test_silence_after_the_request_is_unknown(
    serve: Serve, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await serve(silent, None)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.1)) as hasty:
        with pytest.raises(OutcomeUnknown, match="in time"):
            await ask(hasty, "POST", url, service="it", payload={})
    monkeypatch.setattr(http, "TIMEOUT", aiohttp.ClientTimeout(total=0.1))
    with pytest.raises(OutcomeUnknown, match="in time"):
        await ask(session, "POST", url, service="it", payload={})


async def test_a_body_that_breaks_off_leaves_the_status(serve: Serve, session: aiohttp.ClientSession) -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"half")
        assert request.transport is not None
        request.transport.close()
        return response

    answer = await ask(session, "POST", await serve(broken, None), service="it", payload={})
    assert (answer.status, answer.whole) == (200, False)


async def test_an_endless_answer_is_not_read_to_its_end(
    serve: Serve, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"x" * 10_000)

    monkeypatch.setattr(http, "MAX_ANSWER", 1_000)
    with pytest.raises(OutcomeUnknown, match="too long"):
        await ask(session, "GET", await serve(endless, None), service="it")


async def test_redirects_are_not_followed(serve: Serve, session: aiohttp.ClientSession) -> None:
    async def elsewhere(request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("http://127.0.0.1:9/")

    assert (await ask(session, "POST", await serve(elsewhere, None), service="it", payload={})).status == 302


@pytest.mark.parametrize(
    ("date", "ahead"),
    [
        ("Wed, 16 Sep 2026 09:31:00 GMT", timedelta(minutes=1)),
        ("Wed, 16 Sep 2026 09:29:00 -0000", -timedelta(minutes=1)),
        ("yesterday", None),
        ("", None),
    ],
)
def test_the_date_header_tells_how_clocks_differ(date: str, ahead: timedelta | None) -> None:
    assert clock_offset(Answer(status=200, headers={"date": date}, body=b""), now=SEEN) == ahead
