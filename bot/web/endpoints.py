"""What machines ask: health, metrics, pokes, pushes, and the one click that ends a mail subscription."""

import asyncio
import logging

from aiohttp import web

from bot.core.errors import Forged, StoreError
from bot.core.model.feed import FeedId
from bot.web import health
from bot.web.guard import bearer, is_secret
from bot.web.parts import WebParts

log = logging.getLogger(__name__)

STORE_SECONDS = 4.0  # a probe waits no longer for a store that hangs
PUSH_BYTES = 2_000_000  # a fat ping brings the feed itself, unlike all else that comes in
PUSH_SECONDS = 5.0
_NO_STORE = {"Cache-Control": "no-store"}


class Endpoints:
    """Handlers that carry their own proof, or need none; and /metrics, which the guard of the pages covers."""

    def __init__(self, parts: WebParts) -> None:
        self._parts = parts

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/healthz", self.healthz),
            web.get("/readyz", self.readyz),
            web.get("/metrics", self.metrics),
            web.route("*", "/hooks/poke/{feed}", self.poke),
            web.get("/websub/{feed}", self.confirm),
            web.post("/websub/{feed}", self.push),
        ]

    async def healthz(self, request: web.Request) -> web.Response:
        """Never asks the store: it may be what hangs."""
        return _answer(health.alive(self._parts.alive()))

    async def readyz(self, request: web.Request) -> web.Response:
        verdict = health.alive(self._parts.alive())
        if verdict.ok:
            verdict = await self._ready()
        return _answer(verdict)

    async def _ready(self) -> health.Verdict:
        try:
            async with asyncio.timeout(STORE_SECONDS):
                facts = await self._parts.ready()
        except TimeoutError:
            return health.Verdict(reasons=(f"the store did not answer within {STORE_SECONDS:.0f} s",))
        except StoreError as error:
            return health.Verdict(reasons=(f"the store can't be read: {error}",))
        return health.ready(facts, now=self._parts.clock.now())

    async def metrics(self, request: web.Request) -> web.Response:
        text, content_type = await self._parts.metrics()
        return web.Response(body=text, headers={"Content-Type": content_type, **_NO_STORE})

    async def poke(self, request: web.Request) -> web.Response:
        """Small print 1. Whether a feed exists is told only to those who have the token."""
        token = self._parts.settings().http.poke_token
        if token is None:
            raise web.HTTPNotFound
        if request.method != "POST":
            raise web.HTTPMethodNotAllowed(request.method, ["POST"])
        if not is_secret(bearer(request.headers.get("Authorization")), token.get_secret_value()):
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": 'Bearer realm="feedbell poke"'})
        feed_id = FeedId(request.match_info["feed"])
        if not await self._parts.poke(feed_id):
            raise web.HTTPNotFound(text="no such feed")
        log.info("feed poked", extra={"feed": feed_id})
        return web.json_response({"accepted": feed_id}, status=202)

    async def confirm(self, request: web.Request) -> web.Response:
        """A hub asks whether we want a subscription (WebSub, section 5.3)."""
        challenge = None
        if self._parts.websub is not None:
            challenge = await self._parts.websub.confirm(FeedId(request.match_info["feed"]), dict(request.query))
        if challenge is None:
            raise web.HTTPNotFound
        return web.Response(text=challenge, content_type="text/plain")

    async def push(self, request: web.Request) -> web.Response:
        """A hub brings news (section 7); what it brings is only read if it is signed."""
        if self._parts.websub is None:
            raise web.HTTPNotFound
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            async with asyncio.timeout(PUSH_SECONDS):
                body = await request.clone(client_max_size=PUSH_BYTES).read()
            known = await self._parts.websub.receive(FeedId(request.match_info["feed"]), body, headers)
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        except Forged:
            raise web.HTTPUnauthorized(text="the signature does not match") from None
        if not known:
            raise web.HTTPNotFound
        return web.Response(status=202)


def _answer(verdict: health.Verdict) -> web.Response:
    body = {"status": "ok" if verdict.ok else "failing", "reasons": list(verdict.reasons)}
    return web.json_response(body, status=200 if verdict.ok else 503, headers=_NO_STORE)
