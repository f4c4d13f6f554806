"""Patience with clients has an end: each connection's timers, and which one goes when there are too many (T23).

aiohttp times neither a request's head nor a connection that never sends one, so each of its protocols is wrapped in
one of ours that sees the connection being made. The wrapper speaks only asyncio's and aiohttp's public interfaces.
"""

import asyncio
from collections.abc import Callable
from enum import Enum

from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage, StreamWriter
from aiohttp.streams import StreamReader
from aiohttp.web import BaseRequest, RequestHandler, Server
from multidict import CIMultiDict

HEAD_SECONDS = 5.0  # from the connection, or from the first byte of a further request, to the end of its head
ANSWER_SECONDS = 30.0  # from the head's end until the answer is taken; longer than any handler needs
MOST = 100  # open connections; beside them the bot needs its files for feeds and chat

RequestFactory = Callable[
    [RawRequestMessage, StreamReader, RequestHandler, AbstractStreamWriter, "asyncio.Task[None]"], BaseRequest
]


class Stage(Enum):
    """Where a connection is; in the order in which they are given up when there are too many."""

    HEAD = 0  # it has to send a request's head
    IDLE = 1  # it had an answer and is kept open
    WORK = 2  # we owe it an answer


class Connections:
    """Every open connection of one listening socket, oldest first."""

    def __init__(
        self, server: Server, headers: dict[str, str], *, head_seconds: float = HEAD_SECONDS, most: int = MOST
    ) -> None:
        self._server = server
        self._headers = headers
        self._head_seconds = head_seconds
        self._most = most
        self._open: dict[RequestHandler, Connection] = {}
        self._ranks: tuple[dict[Connection, None], ...] = tuple({} for _ in range(2 * len(Stage)))
        self._make_request: RequestFactory = server.request_factory
        server.request_factory = self._request

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        return Connection(self, self._server(), self._head_seconds)

    def opened(self, connection: "Connection") -> None:
        self._open[connection.inner] = connection
        if len(self._open) > self._most:
            next(next(iter(rank)) for rank in self._ranks if rank).abort()

    def closed(self, connection: "Connection") -> None:
        self._open.pop(connection.inner, None)
        self._ranks[connection.rank].pop(connection, None)

    def moved(self, connection: "Connection", rank: int) -> None:
        """Queue it behind those that would be given up before it; found in one step, for thousands may come at once."""
        self._ranks[connection.rank].pop(connection, None)
        connection.rank = rank
        self._ranks[rank][connection] = None

    def abort(self) -> None:
        """Close what is still open, at once."""
        for connection in list(self._open.values()):
            connection.abort()

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> BaseRequest:
        """Make the request of a head that is complete, or malformed; its writer tells us of the answer's end."""
        connection = self._open.get(protocol)
        if connection is not None:
            connection.begin()
            writer = _Writer(protocol, connection, self._headers)
        return self._make_request(message, payload, protocol, writer, task)


class Connection(asyncio.Protocol):
    """aiohttp's protocol, and a timer that ends it."""

    def __init__(self, all_of_them: Connections, inner: RequestHandler, head_seconds: float) -> None:
        self.inner = inner
        self.stage = Stage.HEAD
        self.answered = False
        self.rank = 0
        self._all = all_of_them
        self._head_seconds = head_seconds
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio makes no other for a stream
        self._transport = transport
        self._expect(Stage.HEAD, self._head_seconds)
        self.inner.connection_made(transport)
        self._all.opened(self)

    def data_received(self, data: bytes) -> None:
        if self.stage is Stage.IDLE:
            self._expect(Stage.HEAD, self._head_seconds)
        self.inner.data_received(data)

    def eof_received(self) -> None:
        self.inner.eof_received()

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._all.closed(self)
        self.inner.connection_lost(exc)

    def begin(self) -> None:
        """A whole head has come."""
        self._expect(Stage.WORK, ANSWER_SECONDS)

    def finish(self) -> None:
        """The answer is written; aiohttp's own keep-alive timer takes over."""
        self.answered = True
        self._enter(Stage.IDLE)
        self._stop_timer()

    def abort(self) -> None:
        self._stop_timer()
        self._all.closed(self)
        if self._transport is not None:
            self._transport.abort()

    def _expect(self, stage: Stage, seconds: float) -> None:
        self._stop_timer()
        self._enter(stage)
        self._timer = asyncio.get_running_loop().call_later(seconds, self.abort)

    def _enter(self, stage: Stage) -> None:
        self.stage = stage
        if self._transport is not None and not self._transport.is_closing():  # an answer may end after its connection
            self._all.moved(self, 2 * stage.value + self.answered)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Writer(StreamWriter):
    """Writes every answer, also those to malformed requests, which no middleware and no signal sees."""

    def __init__(self, protocol: RequestHandler, connection: Connection, headers: dict[str, str]) -> None:
        super().__init__(protocol, asyncio.get_running_loop())
        self._connection = connection
        self._always = headers

    async def write_headers(self, status_line: str, headers: "CIMultiDict[str]") -> None:
        headers.pop("Server", None)  # names the versions of Python and aiohttp
        for name, value in self._always.items():
            headers.setdefault(name, value)
        await super().write_headers(status_line, headers)

    async def write_eof(self, chunk: bytes = b"") -> None:
        await super().write_eof(chunk)
        self._connection.finish()
