"""The ground that the HTTP servers stand on: a loopback port, a record of requests, the gate where faults strike."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.servers.faults import Fault, FaultPlan, Json
from tests.servers.journal import Clock, Journal, wall_clock
from tests.servers.rates import PatienceWatch

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
MAX_REQUEST = 26 * 1024 * 1024  # Discord takes 25 MiB; above it the server itself must say no
CLOCKS_DIFFER = 0.1  # seconds; what two processes on one machine may see apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it came in, before any fault."""

    at: float
    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}" + (f"?{self.query}" if self.query else "")

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def to_json(self) -> Json:
        return {
            "at": self.at,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "headers": [list(pair) for pair in self.headers],
            "body": self.body.decode("utf-8", "replace"),
        }


def reset(transport: asyncio.BaseTransport | None) -> None:
    """Close with a TCP reset: what the other side has not read yet is lost to it."""
    if transport is None:
        return
    sock = transport.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):  # the other side was faster
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if isinstance(transport, asyncio.WriteTransport):
        transport.abort()


def raw_answer(answer: web.StreamResponse, now: float) -> bytes:
    """Return the bytes of an answer as they would go over the wire."""
    body = answer.body if isinstance(answer, web.Response) and isinstance(answer.body, bytes) else b""
    reason = answer.reason or HTTPStatus(answer.status).phrase
    headers = {"Date": formatdate(now, usegmt=True), **answer.headers}
    headers |= {"Content-Length": str(len(body)), "Connection": "close"}
    head = f"HTTP/1.1 {answer.status} {reason}\r\n" + "".join(f"{key}: {value}\r\n" for key, value in headers.items())
    return head.encode("latin-1", "replace") + b"\r\n" + body


def middle(answer: bytes) -> int:
    """Return where half of the body has passed: a client that trusts the header is then in for less than it says."""
    head = answer.find(b"\r\n\r\n") + 4
    return head + (len(answer) - head) // 2


class LoopbackServer:
    """Base of the HTTP servers. Use `async with`; with port 0 a free one is taken."""

    name = "http"

    def __init__(
        self,
        *,
        port: int = 0,
        journal: Journal | None = None,
        clock: Clock = wall_clock,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.clock = clock
        self.faults = FaultPlan()
        self.requests: list[Received] = []
        self.violations: list[str] = []  # what the real service takes, but no good client does
        self.patience = PatienceWatch(clock)
        self._journal = journal or Journal()
        self._port = port
        self._tls = tls
        self._runner: web.AppRunner | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = asyncio.Event()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    def routes(self) -> list[web.AbstractRouteDef]:
        raise NotImplementedError

    def actions(self) -> dict[str, Callable[..., object]]:
        """Return what another process may do to the server, by name."""
        return {}

    def messages_json(self) -> list[Json]:
        return []

    def note(self, what: str, **facts: object) -> None:
        self._journal.write(self.name, what, self.clock(), facts)

    def violate(self, what: str) -> None:
        self.violations.append(what)
        self.note("violation", text=what)

    def rate_key(self, received: Received) -> str:
        """Return what a Retry-After holds for."""
        return received.path

    def rate_answer(self, retry_after: str | None) -> web.Response:
        headers = {} if retry_after is None else {"Retry-After": retry_after}
        return web.Response(status=429, text="too many requests", headers=headers)

    def error_answer(self, fault: Fault) -> web.Response:
        return web.Response(status=fault.status, text=fault.error, headers=fault.headers)

    @property
    def is_closing(self) -> bool:
        return self._closing.is_set()

    def own(self, work: Awaitable[object]) -> None:
        """Run `work` beside the requests; the server's end cancels it."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=MAX_REQUEST, middlewares=[self._gate])
        app.on_response_prepare.append(self._set_date)
        app.add_routes(self.routes())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, ssl_context=self._tls)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()

    async def _set_date(self, request: web.Request, answer: web.StreamResponse) -> None:
        # aiohttp has put the machine's own time there by now.
        if self.clock is not wall_clock:
            answer.headers["Date"] = formatdate(self.clock(), usegmt=True)

    @web.middleware
    async def _gate(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await handler(request)
        try:
            body = await request.read()
        except ConnectionError:
            self.note("torn", line=f"{request.method} {request.path}")  # the client left in the middle: nothing is done
            return web.Response(status=400)
        received = Received(
            at=self.clock(),
            method=request.method,
            path=request.path,
            query=request.query_string,
            headers=tuple(request.headers.items()),
            body=body,
        )
        self.requests.append(received)
        self.note("request", **received.to_json())
        key = self.rate_key(received)
        if (early := self.patience.early_by(key)) > CLOCKS_DIFFER:
            self.violate(f"came {early:.1f} s before it was asked to: {received.line}")
        fault = self.faults.take(received.line)
        if fault is None:
            answer = await handler(request)
        else:
            self.note("fault", line=received.line, fault=fault.to_json())
            answer = await self._strike(fault, request, handler)
        if answer.status in (429, 503):
            self.patience.ask(key, answer.headers.get("Retry-After"))
        return answer

    async def _strike(self, fault: Fault, request: web.Request, handler: Handler) -> web.StreamResponse:
        done: web.StreamResponse | None = None
        if fault.kind == "delay":
            await self.wait(fault.seconds)
            return await handler(request)
        if fault.store and fault.late:
            self.own(self._act_late(fault.late, request, handler))
        elif fault.store:
            done = await handler(request)
        elif fault.kind == "slow":
            done = await handler(request)
        if fault.kind in ("status", "rate", "error"):
            return self._refusal(fault)
        await self._break(fault, request, raw_answer(done, self.clock()) if done is not None else b"")
        return web.Response(status=500)  # never seen: the connection is gone

    async def _act_late(self, seconds: float, request: web.Request, handler: Handler) -> None:
        await asyncio.sleep(seconds)
        await handler(request)

    def _refusal(self, fault: Fault) -> web.Response:
        if fault.kind == "rate":
            return self.rate_answer(fault.retry_after)
        if fault.kind == "error":
            return self.error_answer(fault)
        kind = fault.headers.get("Content-Type", "text/html; charset=utf-8")
        return web.Response(
            status=fault.status, body=fault.body.encode(), headers=dict(fault.headers) | {"Content-Type": kind}
        )

    async def _break(self, fault: Fault, request: web.Request, answer: bytes) -> None:
        transport = request.transport
        if transport is None:
            return
        end = middle(answer) if fault.at is None else fault.at
        if fault.kind == "slow":
            await self._drip(transport, answer, fault.seconds)
        elif answer[:end]:
            transport.write(answer[:end])
        if fault.kind == "hang":
            await self.wait(fault.seconds or None)
        if fault.kind == "rst":
            await asyncio.sleep(0)  # what was written must leave before the reset throws it away
            reset(transport)
        else:
            transport.close()

    async def _drip(self, transport: asyncio.Transport, answer: bytes, seconds: float) -> None:
        for byte in answer:
            if transport.is_closing() or self._closing.is_set():
                return
            transport.write(bytes((byte,)))
            await asyncio.sleep(seconds)

    async def wait(self, seconds: float | None) -> None:
        """Wait, but never longer than the server lives."""
        try:
            await asyncio.wait_for(self._closing.wait(), seconds)
        except TimeoutError:
            return
