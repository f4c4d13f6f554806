"""Socket Mode: tickets, hello, envelopes with three seconds to acknowledge, refreshes, repetitions."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING

from aiohttp import WSMsgType, web

from tests.servers.faults import Json
from tests.servers.slack_state import SlackError

if TYPE_CHECKING:
    from tests.servers.slack import SlackServer

DEADLINE = 3.0  # seconds to acknowledge
TICKET_LIFE = 30.0
MAX_CONNECTIONS = 10


class SocketMode:
    """The server's end of Socket Mode for one app."""

    def __init__(self, slack: SlackServer) -> None:
        self.opened = 0  # how often a client asked for a connection
        self.connections: list[web.WebSocketResponse] = []
        self.acknowledged: list[tuple[str, float]] = []  # envelope and seconds it took
        self._slack = slack
        self._tickets: dict[str, float] = {}
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._turn = itertools.count()
        self._arrival = asyncio.Event()
        self._frozen: set[web.WebSocketResponse] = set()

    def open(self, token: str, method: str) -> Json:
        """Answer apps.connections.open."""
        if method != "POST":
            raise SlackError("insecure_request")
        if not token:
            raise SlackError("not_authed")
        if token == self._slack.bot_token:
            raise SlackError("not_allowed_token_type")
        if token != self._slack.app_token:
            raise SlackError("invalid_auth")
        if self._slack.auth_error:
            raise SlackError(self._slack.auth_error)
        self.opened += 1
        ticket = f"ticket-{self.opened}"
        self._tickets[ticket] = self._slack.clock() + TICKET_LIFE
        host = self._slack.url.removeprefix("http")
        return {"url": f"ws{host}/link/?ticket={ticket}&app_id=A0FEEDBELL"}

    async def connect(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection for as long as it lives."""
        until = self._tickets.pop(request.query.get("ticket", ""), None)
        if until is None or until < self._slack.clock():
            return web.Response(status=404, text="unknown or used ticket")
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        if len(self.connections) >= MAX_CONNECTIONS:
            await socket.send_json({"type": "disconnect", "reason": "too_many_websockets"})
            await socket.close()
            return socket
        self.connections.append(socket)
        self._slack.note("socket", connections=len(self.connections))
        await socket.send_json(self._hello())
        self._arrival.set()
        try:
            async for message in socket:
                if socket in self._frozen:
                    continue
                if message.type == WSMsgType.PING:
                    await socket.pong(message.data)
                elif message.type == WSMsgType.TEXT:
                    self._take(message.data)
        finally:
            self.connections.remove(socket)
            self._frozen.discard(socket)
            self._slack.note("socket", connections=len(self.connections))
        return socket

    async def wait_connected(self, connections: int = 1) -> None:
        """Wait until this many clients have said hello."""
        while len(self.connections) < connections:
            self._arrival.clear()
            await self._arrival.wait()

    async def deliver(self, envelope: Json, *, hold: float = DEADLINE) -> Json | None:
        """Send an envelope to one of the connections; return the acknowledgement's payload, None when none came."""
        if not self.connections:
            self._slack.violate(f"no connection for {envelope.get('type')}")
            return None
        socket = self.connections[next(self._turn) % len(self.connections)]
        arrived: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[envelope["envelope_id"]] = arrived
        sent_at = asyncio.get_running_loop().time()
        await socket.send_json(envelope)
        try:
            payload = await asyncio.wait_for(arrived, hold)
        except TimeoutError:
            self._slack.violate(f"no acknowledgement of {envelope['envelope_id']} within {hold} s")
            return None
        took = asyncio.get_running_loop().time() - sent_at
        self.acknowledged.append((envelope["envelope_id"], took))
        self._slack.note("acknowledged", envelope=envelope["envelope_id"], seconds=round(took, 4))
        return payload

    async def disconnect(self, reason: str = "refresh_requested") -> int:
        """Ask all clients to connect anew (`warning`, `refresh_requested`, `link_disabled`), or `drop` them."""
        sockets = tuple(self.connections)
        for socket in sockets:
            if reason != "drop":
                await socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-1"}})
            if reason != "warning":
                await socket.close()
        return len(sockets)

    def freeze(self) -> int:
        """Leave the present connections open but deaf: no pong, no envelope is heard. New ones are well."""
        self._frozen.update(self.connections)
        return len(self._frozen)

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "connection_info": {"app_id": "A0FEEDBELL"},
            "num_connections": len(self.connections),
            "debug_info": {"host": "applink-1", "build_number": 1, "approximate_connection_time": 18060},
        }

    def _take(self, text: str) -> None:
        try:
            value = json.loads(text)
        except ValueError:
            self._slack.violate(f"not JSON over the socket: {text[:80]!r}")
            return
        waiting = self._waiting.get(value.get("envelope_id", ""))
        if waiting is None:
            self._slack.violate(f"acknowledgement of an unknown envelope: {text[:80]!r}")
        elif not waiting.done():
            waiting.set_result(value.get("payload") or {})
