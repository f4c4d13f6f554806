"""People who type `/latest bgp` in a Slack, and see when they are heard and when they are answered."""

import asyncio
import hashlib
import hmac
import itertools
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

from bench.contest import free_port

SECRET = "signing-secret-of-the-bench"
PATIENCE = 15.0  # seconds for an answer; Slack itself gives up the acknowledgement after three


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Seconds until a command was acknowledged, and until its answer was there."""

    acknowledged: float
    answered: float


class People:
    """Slack's side of both transports, and of response URLs, in the process that measures."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.connected = asyncio.Event()
        self._socket: web.WebSocketResponse | None = None
        self._waiting: dict[str, asyncio.Future[object]] = {}
        self._count = itertools.count(1)

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get("/link", self._connect),
            web.post("/answers/{number}", self._answered),
        ]

    async def ask_over_http(self, bot: str) -> Heard:
        """Post the command to the bot, signed, over a new connection."""
        fields, late = self._command()
        body = urlencode(fields).encode()
        stamp = str(int(time.time()))
        digest = hmac.new(SECRET.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={digest}",
        }
        began = time.perf_counter()
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{bot}/slack/commands", data=body, headers=headers) as answer,
        ):
            said = await answer.read()
            if answer.status != 200:
                raise RuntimeError(f"the bot answered {answer.status}")
        return await self._heard(began, json.loads(said) if said else {}, late)

    async def ask_by_socket(self, _: str) -> Heard:
        """Send the command as an envelope."""
        fields, late = self._command()
        name = f"envelope-{next(self._count)}"
        acknowledged = self._waiting[name] = asyncio.get_running_loop().create_future()
        if self._socket is None:
            raise RuntimeError("the bot is not connected")
        began = time.perf_counter()
        await self._socket.send_json(
            {"envelope_id": name, "type": "slash_commands", "payload": fields, "accepts_response_payload": True}
        )
        said = await asyncio.wait_for(acknowledged, PATIENCE)
        return await self._heard(began, said, late)

    async def _heard(self, began: float, said: object, late: "asyncio.Future[object]") -> Heard:
        acknowledged = time.perf_counter() - began
        body = said or await asyncio.wait_for(late, PATIENCE)
        if "BGP" not in json.dumps(body):
            raise RuntimeError(f"no answer to /latest bgp: {body}")
        return Heard(acknowledged=acknowledged, answered=time.perf_counter() - began)

    def _command(self) -> "tuple[dict[str, str], asyncio.Future[object]]":
        number = str(next(self._count))
        late = self._waiting[number] = asyncio.get_running_loop().create_future()
        fields = {
            "team_id": "T0BENCH",
            "channel_id": f"C{number:0>8}",
            "channel_name": "general",
            "user_id": f"U{number:0>8}",  # each asks once: nobody is told to wait
            "command": "/latest",
            "text": "bgp",
            "response_url": f"{self.url}/answers/{number}",
            "trigger_id": number,
        }
        return fields, late

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        self._socket = web.WebSocketResponse()
        await self._socket.prepare(request)
        await self._socket.send_json({"type": "hello", "num_connections": 1})
        self.connected.set()
        async for message in self._socket:
            value = json.loads(message.data)
            self._waiting[value["envelope_id"]].set_result(value.get("payload") or {})
        return self._socket

    async def _answered(self, request: web.Request) -> web.Response:
        self._waiting[request.match_info["number"]].set_result(await request.json())
        return web.Response(text="ok")


@asynccontextmanager
async def people() -> AsyncIterator[People]:
    """Serve them on a free port."""
    port = free_port()
    here = People(port)
    app = web.Application()
    app.add_routes(here.routes())
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield here
    finally:
        await runner.cleanup()
