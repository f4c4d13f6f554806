"""A receiver of generic webhooks that checks each as the Standard Webhooks specification asks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

from aiohttp import web

from tests.servers.faults import Json
from tests.servers.journal import Clock, Journal, wall_clock
from tests.servers.loopback import LoopbackServer

TOLERANCE = 300.0  # seconds between the sender's clock and ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One accepted delivery; the same `id` again is a repetition of it."""

    at: float
    id: str
    path: str
    body: Json


class HookServer(LoopbackServer):
    """Takes POSTs at any path; with `secret` set, only those that are signed with it."""

    name = "hooks"

    def __init__(
        self,
        *,
        port: int = 0,
        journal: Journal | None = None,
        clock: Clock = wall_clock,
        secret: bytes | None = None,
    ) -> None:
        super().__init__(port=port, journal=journal, clock=clock)
        self.secret = secret
        self.messages: list[Hook] = []

    def messages_json(self) -> list[Json]:
        return [asdict(hook) for hook in self.messages]

    def set_secret(self, secret: str | None = None) -> None:
        """Set the key, in the form `whsec_` and base64, or as it is."""
        self.secret = None if secret is None else key_of(secret)

    def actions(self) -> dict[str, Callable[..., object]]:
        return {"set_secret": self.set_secret}

    def routes(self) -> list[web.AbstractRouteDef]:
        return [web.post("/{path:.*}", self._take)]

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        why = self._wrong(request, body)
        if why:
            self.violate(why)
            return web.Response(status=400, text=why)
        hook = Hook(at=self.clock(), id=request.headers["webhook-id"], path=request.path, body=json.loads(body))
        self.messages.append(hook)
        self.note("stored", message=asdict(hook))
        return web.Response(status=204)

    def _wrong(self, request: web.Request, body: bytes) -> str | None:
        id, stamp = request.headers.get("webhook-id", ""), request.headers.get("webhook-timestamp", "")
        if not id or "." in id:
            return "webhook-id is missing or has a dot"
        if not stamp.isdigit() or abs(int(stamp) - self.clock()) > TOLERANCE:
            return "webhook-timestamp is missing or off"
        if request.content_type != "application/json":
            return "the body is not announced as application/json"
        try:
            if not isinstance(json.loads(body), dict):
                return "the body is not an object"
        except ValueError:
            return "the body is not JSON"
        return self._signature_fault(id, stamp, body, request.headers.get("webhook-signature", ""))

    def _signature_fault(self, id: str, stamp: str, body: bytes, given: str) -> str | None:
        if self.secret is None:
            return None
        digest = hmac.new(self.secret, f"{id}.{stamp}.".encode() + body, hashlib.sha256).digest()
        wanted = "v1," + base64.b64encode(digest).decode()
        return None if wanted in given.split(" ") else "webhook-signature is wrong"


def key_of(secret: str) -> bytes:
    """Return the bytes of a secret: after `whsec_` stands base64, anything else is the key itself."""
    return base64.b64decode(secret.removeprefix("whsec_")) if secret.startswith("whsec_") else secret.encode()
