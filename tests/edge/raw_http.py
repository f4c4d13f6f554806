"""A server that sends exactly the bytes it is told to, also those that no library would send."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from aiohttp.abc import AbstractResolver, ResolveResult

from bot.clock import SystemClock
from bot.core.model.feed import Feed, FeedId, Validators
from bot.fetch.client import HttpFetcher
from bot.fetch.limits import FetchLimits

LOOPBACK = ("127.0.0.0/8",)
RSS = b'<?xml version="1.0"?><rss version="2.0"><channel><title>t</title></channel></rss>'

# So short that a test of patience is over at once; nothing asserts how long it took.
IMPATIENT = FetchLimits(
    connect=timedelta(seconds=0.4),
    headers=timedelta(seconds=0.1),
    idle=timedelta(seconds=0.3),
    total=timedelta(seconds=2),
    slow_window=timedelta(seconds=0.2),
)


@dataclass(frozen=True, slots=True)
class Request:
    head: bytes
    body: bytes = b""

    @property
    def target(self) -> str:
        return self.head.split(b" ")[1].decode()

    def header(self, name: str) -> str | None:
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.lower().encode():
                return value.strip().decode()
        return None

    @property
    def names(self) -> set[str]:
        return {line.partition(b":")[0].decode().lower() for line in self.head.split(b"\r\n")[1:] if line}


Play = Callable[[asyncio.StreamWriter, Request], "AsyncIterator[bytes]"]


def answer(status: str = "200 OK", *headers: str, body: bytes = b"", length: bool = True) -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers]
    if length and not any(line.lower().startswith("content-length") for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


class RawServer:
    """`pages` maps a path to its bytes, or to a function of the request that yields bytes; then the connection ends."""

    def __init__(self, pages: dict[str, bytes | Play], *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None):
        self.pages = pages
        self.requests: list[Request] = []
        self.connections = 0
        self._host = host
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._host, 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def url(self, path: str = "/", *, host: str | None = None) -> str:
        return f"{'https' if self._tls else 'http'}://{host or self._host}:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
            request = Request(head)
            if length := request.header("Content-Length"):
                request = Request(head, await reader.readexactly(int(length)))
            self.requests.append(request)
            page = self.pages.get(request.target.partition("?")[0], answer("404 Not Found"))
            if isinstance(page, bytes):
                writer.write(page)
                await writer.drain()
                if b"Connection: keep-alive" in page:
                    continue
                return
            async for piece in page(writer, request):
                writer.write(piece)
                await writer.drain()
            return


class Names(AbstractResolver):
    """A name server: each look-up of a name takes its next answer, and goes on with the last."""

    def __init__(self, names: dict[str, list[list[str]]]) -> None:
        self.names = names
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        self.asked.append(host)
        answers = self.names.get(host)
        if not answers:
            raise OSError(-2, "Name or service not known")
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            ResolveResult(hostname=host, host=ip, port=port, family=10 if ":" in ip else 2, proto=6, flags=4)
            for ip in addresses
        ]

    async def close(self) -> None: ...


@asynccontextmanager
async def fetching(
    *,
    limits: FetchLimits = FetchLimits(),  # noqa: B008 - frozen
    names: AbstractResolver | None = None,
    contact: str | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[HttpFetcher]:
    fetcher = HttpFetcher(clock=SystemClock(), limits=limits, resolver=names, contact=contact, tls=tls)
    try:
        yield fetcher
    finally:
        await fetcher.close()


def feed_at(url: str, *, allow: tuple[str, ...] = LOOPBACK, **more: object) -> Feed:
    return Feed(id=FeedId("f"), url=url, allow_private=allow, **more)  # type: ignore[arg-type]


NOTHING = Validators()
