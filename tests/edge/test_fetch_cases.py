"""Each line of http_cases.jsonl: what servers do, and what a fetch makes of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import trustme

from bot.core.errors import AddressRefused, FetchError
from bot.core.model.feed import Fetched, NotModified, Validators
from tests.edge.raw_http import IMPATIENT, NOTHING, RSS, Names, Play, RawServer, Request, answer, feed_at, fetching

CASES = [json.loads(line)["case"] for line in (Path(__file__).parent / "http_cases.jsonl").read_text().splitlines()]
GZIP = "Content-Encoding: gzip"


async def slow_headers(_: asyncio.StreamWriter, __: Request) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    await asyncio.sleep(60)


async def slow_drip(_: asyncio.StreamWriter, __: Request) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield b"x"
        await asyncio.sleep(0.02)


async def reset(writer: asyncio.StreamWriter, _: Request) -> AsyncIterator[bytes]:
    yield answer("200 OK", "Content-Length: 10000", body=b"x" * 1024)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


Page = bytes | Play
FAIL: dict[str, tuple[Page, str]] = {
    "redirect-loop": (answer("301 Moved", "Location: /feed"), "redirects more than 5 times"),
    "redirect-file": (answer("302 Found", "Location: file:///etc/passwd"), "only addresses that begin with http"),
    "410": (answer("410 Gone"), "410"),
    "404-then-200": (answer("404 Not Found"), "404"),
    "503-html": (answer("503 Busy", body=b"<html>"), "503"),
    "slow-headers": (slow_headers, "does not answer in time"),
    "slow-drip": (slow_drip, "comes too slowly"),
    "short-body": (answer("200 OK", "Content-Length: 10000", body=b"x" * 4000), "broke off before its end"),
    "chunked-broken": (
        answer("200 OK", "Transfer-Encoding: chunked", body=b"5\r\nhello\r\n", length=False),
        "broke off before its end",
    ),
    "bad-gzip": (answer("200 OK", GZIP, body=RSS), "says it is gzip, but it is not"),
    "gzip-truncated": (answer("200 OK", GZIP, body=gzip.compress(RSS * 50)[:60]), "compressed answer broke off"),
    "br": (answer("200 OK", "Content-Encoding: br", body=b"\x0b\x02\x80"), "in a way that was not asked for"),
    "reset": (reset, "closed the connection|broke off"),
    "huge-headers": (answer("200 OK", *[f"X-{n}: {'x' * 4000}" for n in range(50)], f"X: {'x' * 200_000}"), "HTTP"),
}


@pytest.mark.parametrize("case", FAIL)
async def test_the_fetch_fails_and_says_why(case: str) -> None:
    page, reason = FAIL[case]
    async with RawServer({"/feed": page}) as server, fetching(limits=IMPATIENT) as fetcher:
        with pytest.raises(FetchError, match=reason):
            await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)


async def test_redirect_chain() -> None:
    pages: dict[str, Page] = {f"/{n}": answer("302 Found", f"Location: /{n + 1}") for n in range(12)}
    async with RawServer(pages) as server, fetching() as fetcher:
        with pytest.raises(FetchError, match="redirects more than 5 times"):
            await fetcher.fetch(feed_at(server.url("/0")), server.url("/0"), NOTHING)
    assert len(server.requests) == 6


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest/", "http://127.0.0.1:18999/"])
async def test_redirect_metadata_and_redirect_localhost(target: str) -> None:
    async with RawServer({"/feed": answer("302 Found", f"Location: {target}")}, host="127.0.0.2") as server:
        async with fetching() as fetcher:
            with pytest.raises(AddressRefused):
                await fetcher.fetch(feed_at(server.url("/feed"), allow=("127.0.0.2/32",)), server.url("/feed"), NOTHING)


async def test_moved_permanently() -> None:
    pages: dict[str, Page] = {"/feed": answer("301 Moved", "Location: /new"), "/new": answer(body=RSS)}
    async with RawServer(pages) as server, fetching() as fetcher:
        result = await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
    assert isinstance(result, Fetched)
    assert (result.body, result.hops) == (RSS, ((301, server.url("/new")),))


async def test_304_and_304_ignored_and_etag_changes() -> None:
    async with RawServer({"/feed": answer("304 Not Modified", length=False)}) as server, fetching() as fetcher:
        url = server.url("/feed")
        known = Validators(etag='"1"', url=url)
        assert isinstance(await fetcher.fetch(feed_at(url), url, known), NotModified)
        server.pages["/feed"] = answer("200 OK", 'ETag: "2"', body=RSS)
        ignored = await fetcher.fetch(feed_at(url), url, known)
        assert isinstance(ignored, Fetched)
        assert ignored.validators.etag == '"2"'


@pytest.mark.parametrize("header", ["120", "Mon, 02 Sep 2024 10:02:00 GMT"])
async def test_429_and_429_date(header: str) -> None:
    page = answer("429 Slow", f"Retry-After: {header}", "Date: Mon, 02 Sep 2024 10:00:00 GMT")
    async with RawServer({"/feed": page}) as server, fetching() as fetcher:
        with pytest.raises(FetchError, match="too many requests") as caught:
            await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
    assert caught.value.retry_after == timedelta(minutes=2)


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "text/html; charset=x", None])
async def test_wrong_type_and_no_type(kind: str | None) -> None:
    page = answer("200 OK", *([f"Content-Type: {kind}"] if kind else []), body=RSS)
    async with RawServer({"/feed": page}) as server, fetching() as fetcher:
        result = await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
    assert isinstance(result, Fetched)
    assert (result.body, result.content_type) == (RSS, kind)


async def test_tls_bad() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    async with RawServer({"/feed": answer(body=RSS)}, tls=context) as server, fetching() as fetcher:
        with pytest.raises(FetchError, match=r"certificate of 127.0.0.1 is not trusted"):
            await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
    assert server.requests == []


async def test_https_is_spoken_and_no_redirect_leaves_it(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    tls = ssl.create_default_context(cafile=tmp_path / "ca.pem")
    plain = RawServer({"/feed": answer(body=RSS)})
    async with RawServer({"/feed": answer(body=RSS)}, tls=context) as server, plain, fetching(tls=tls) as fetcher:
        url = server.url("/feed")
        assert (await fetcher.fetch(feed_at(url), url, NOTHING)).url == url
        server.pages["/feed"] = answer("302 Found", f"Location: {plain.url('/feed')}")
        with pytest.raises(FetchError, match="from https to http"):
            await fetcher.fetch(feed_at(url), url, NOTHING)
    assert plain.requests == []


async def test_cookie_wall() -> None:
    pages: dict[str, Page] = {
        "/feed": answer("302 Found", "Location: /login", "Set-Cookie: id=1; Path=/"),
        "/login": answer("403 Forbidden", body=b"<html>log in</html>"),
    }
    names = Names({"feeds.example": [["127.0.0.1"]]})  # a jar would keep no cookies of a bare address
    async with RawServer(pages) as server, fetching(names=names) as fetcher:
        url = server.url("/feed", host="feeds.example")
        with pytest.raises(FetchError, match="403"):
            await fetcher.fetch(feed_at(url), url, NOTHING)
    assert "cookie" not in {name for request in server.requests for name in request.names}


@pytest.mark.parametrize("etag", ["a\rb", "a\nb", "a\x00b", "a\x07b", "\xe9t\xe9"])
async def test_header_crlf(etag: str) -> None:
    """A validator that could not go back as it came is not kept, or the whole answer is refused."""
    page = b'HTTP/1.1 200 OK\r\nETag: "' + etag.encode("latin-1") + b'"\r\nContent-Length: 0\r\n\r\n'
    async with RawServer({"/feed": page}) as server, fetching() as fetcher:
        try:
            result = await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
        except FetchError:
            return
        assert result.validators.etag is None


def test_every_case_has_its_test() -> None:
    named = " ".join(name for name in globals() if name.startswith("test_")).replace("_", "-")
    assert [case for case in CASES if case not in FAIL and case not in named] == []
    assert len(CASES) == 28
