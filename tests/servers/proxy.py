"""A TCP proxy that cuts, stalls or drips a connection at a given byte of the request or the answer.

async with Proxy(slack.port) as proxy:
    proxy.cut(Cut(side="response", at=17, how="rst"))
    ...                      # talk to proxy.url instead of slack.url
    proxy.connections[0]     # bytes that passed up and down: one clean run tells which cuts there are
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Self

from tests.servers.faults import Json
from tests.servers.loopback import reset

SIDES = ("request", "response")
WAYS = ("rst", "fin", "stall", "drip")
CHUNK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where and how to break a connection: after `at` bytes of one side, counted from the connection's start.

    `seconds` is how long a stall lasts before the end (0: for ever), or the time between the bytes of a drip.
    """

    side: str
    at: int
    how: str = "rst"
    seconds: float = 0.0
    skip: int = 0  # connections that pass unharmed first
    times: int | None = 1

    def __post_init__(self) -> None:
        if self.side not in SIDES or self.how not in WAYS or self.at < 0:
            raise ValueError(f"a cut is made on one of {SIDES}, by one of {WAYS}, at byte 0 or later")


@dataclass(slots=True)
class Passed:
    """What went through one connection."""

    up: int = 0
    down: int = 0
    cut: bool = False


class Proxy:
    """Listens on loopback and passes everything on to one port, until a cut is due."""

    name = "proxy"

    def __init__(self, target: int, *, port: int = 0) -> None:
        self.target = target
        self.connections: list[Passed] = []
        self._cuts: list[Cut] = []
        self._seen: dict[int, int] = {}
        self._port = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def cut(self, *cuts: Cut) -> None:
        """Replace the list of cuts; a new connection meets the first that is due. No cuts: all is well."""
        self._cuts = list(cuts)
        self._seen = dict.fromkeys(range(len(cuts)), 0)

    def cut_json(self, cuts: list[Json]) -> None:
        self.cut(*(Cut(**raw) for raw in cuts))

    def messages_json(self) -> list[Json]:
        return [asdict(passed) for passed in self.connections]

    def actions(self) -> dict[str, Callable[..., object]]:
        return {"cut": self.cut_json}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _due(self) -> Cut | None:
        for number, cut in enumerate(self._cuts):
            self._seen[number] += 1
            turn = self._seen[number] - cut.skip
            if turn >= 1 and (cut.times is None or turn <= cut.times):
                return cut
        return None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        passed = Passed()
        self.connections.append(passed)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            reset(writer.transport)
            self._tasks.discard(task)
            return
        cut = self._due()
        try:
            await self._both(_Pump(cut, passed, writer, back), reader, there)
        except asyncio.CancelledError:
            pass  # the proxy closes; the streams of asyncio report a cancelled handler as an error
        finally:
            self._tasks.discard(task)
            for end in (writer, back):
                end.close()

    async def _both(self, pump: _Pump, reader: asyncio.StreamReader, there: asyncio.StreamReader) -> None:
        """Run both directions until both ended, or a cut ended both."""
        ways = [
            asyncio.ensure_future(pump.run("request", reader, pump.back)),
            asyncio.ensure_future(pump.run("response", there, pump.writer)),
        ]
        try:
            pending = set(ways)
            while pending and not pump.passed.cut:
                _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


@dataclass(slots=True)
class _Pump:
    cut: Cut | None
    passed: Passed
    writer: asyncio.StreamWriter  # to the client
    back: asyncio.StreamWriter  # to the server

    async def run(self, side: str, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while await self._step(side, source, sink):
                pass
        except OSError:
            reset(self.writer.transport)
            reset(self.back.transport)

    async def _step(self, side: str, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> bool:
        left = self._left(side)
        if left == 0 and self.cut is not None and self.cut.how != "drip":
            await self._break(self.cut)
            return False
        data = await source.read(1 if left == 0 else min(left or CHUNK, CHUNK))
        if not data:
            if sink.can_write_eof():
                sink.write_eof()
            return False
        sink.write(data)
        await sink.drain()
        if side == "request":
            self.passed.up += len(data)
        else:
            self.passed.down += len(data)
        if left == 0 and self.cut is not None:
            await asyncio.sleep(self.cut.seconds)
        return True

    def _left(self, side: str) -> int | None:
        """Return the bytes until the cut of this side; None when there is none."""
        if self.cut is None or self.cut.side != side:
            return None
        done = self.passed.up if side == "request" else self.passed.down
        return max(0, self.cut.at - done)

    async def _break(self, cut: Cut) -> None:
        if cut.how == "stall":
            await asyncio.sleep(cut.seconds or 86_400)
        await asyncio.sleep(0.001)  # what was passed on must leave before a reset throws it away
        self.passed.cut = True
        for end in (self.writer, self.back):
            if cut.how == "rst":
                reset(end.transport)
            else:
                end.close()
