"""A WebSub hub: it verifies who subscribes, and pushes with a signature (W3C WebSub)."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from urllib.parse import parse_qsl

from aiohttp import ClientSession, web

from tests.servers.loopback import LoopbackServer


class HubServer(LoopbackServer):
    """`callbacks` says where a callback really is: its public address is nobody's here."""

    name = "hub"

    def __init__(self, *, lease_s: int = 864_000) -> None:
        super().__init__()
        self.lease_s = lease_s
        self.subscriptions: dict[str, dict[str, str]] = {}  # by topic, verified ones
        self.asked: list[dict[str, str]] = []
        self.callbacks: tuple[str, str] = ("", "")
        self._verifying: list[asyncio.Task[None]] = []

    def routes(self) -> list[web.AbstractRouteDef]:
        return [web.post("/hub", self._subscribe)]

    def here(self, callback: str) -> str:
        return callback.replace(*self.callbacks)

    async def _subscribe(self, request: web.Request) -> web.Response:
        form = dict(parse_qsl((await request.read()).decode()))
        self.asked.append(form)
        self._verifying.append(asyncio.create_task(self._verify(form)))
        return web.Response(status=202)

    async def _verify(self, form: dict[str, str]) -> None:
        challenge = "challenge-" + hashlib.sha256(form["hub.callback"].encode()).hexdigest()[:10]
        query = {
            "hub.mode": form["hub.mode"],
            "hub.topic": form["hub.topic"],
            "hub.challenge": challenge,
            "hub.lease_seconds": str(self.lease_s),
        }
        async with (
            ClientSession() as session,
            session.get(self.here(form["hub.callback"]), params=query) as answer,
        ):
            if answer.status == 200 and await answer.text() == challenge:
                self.subscriptions[form["hub.topic"]] = form

    async def push(self, topic: str, body: bytes, *, method: str = "sha256", secret: str | None = None) -> int:
        """Tell the subscriber; return its answer."""
        form = self.subscriptions[topic]
        key = (form["hub.secret"] if secret is None else secret).encode()
        headers = {
            "Content-Type": "application/rss+xml",
            "X-Hub-Signature": f"{method}={hmac.new(key, body, method).hexdigest()}",
        }
        url = self.here(form["hub.callback"])
        async with ClientSession() as session, session.post(url, data=body, headers=headers) as answer:
            return answer.status
