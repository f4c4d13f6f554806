"""The one port: what may come in, how long it may take, and what every answer carries (T22, T23)."""

import asyncio
import logging
import os
import socket
from dataclasses import dataclass

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from bot.core.errors import StoreError
from bot.web.connections import Connections
from bot.web.endpoints import Endpoints
from bot.web.guard import Access, access
from bot.web.parts import Handler, WebParts
from bot.web.policy import HEADERS
from bot.web.site import Site

log = logging.getLogger(__name__)

BODY_BYTES = 65_536
BODY_SECONDS = 5.0
KEEP_ALIVE_SECONDS = 15.0
LINGER_SECONDS = 1.0  # for a client that still sends what was refused
STOP_SECONDS = 3.0
BACKLOG = 1024  # connections that the kernel keeps for us
ACCEPTED_AT_ONCE = 16  # in one turn of the loop: whoever comes amid a thousand is heard before he is pushed out
# Those that carry their own proof. All else is a page, also what does not exist: strangers can't tell the two apart.
PUBLIC = ("/healthz", "/readyz", "/hooks/", "/websub/", "/unsubscribe/", "/static/")

PARTS = web.AppKey("parts", WebParts)
SITE = web.AppKey("site", Site)


def make_app(parts: WebParts) -> web.Application:
    """Return the application; `start` serves it."""
    app = web.Application(client_max_size=BODY_BYTES, middlewares=[_errors, _guard, _whole_body])
    site = Site(parts)
    app[PARTS] = parts
    app[SITE] = site
    app.router.add_routes(Endpoints(parts).routes())
    app.router.add_routes(site.routes())
    app.on_shutdown.append(parts.live.end)
    for method, path, answer in parts.chat_routes:
        app.router.add_route(method, path, answer)
    return app


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server that listens."""

    port: int
    _server: asyncio.Server
    _runner: web.AppRunner
    _connections: Connections

    async def stop(self) -> None:
        """Take no more connections, let answers finish for a moment, close the rest."""
        self._server.close()
        await self._runner.cleanup()
        self._connections.abort()
        await self._server.wait_closed()


async def start(app: web.Application, host: str, port: int) -> Running:
    """Listen on `host`; `port` 0 takes a free one. Raises OSError where the address can't be had."""
    runner = web.AppRunner(
        app,
        access_log=None,  # addresses carry tokens of their own
        logger=_server_log(),
        keepalive_timeout=KEEP_ALIVE_SECONDS,
        lingering_time=LINGER_SECONDS,
        shutdown_timeout=STOP_SECONDS,
        auto_decompress=False,  # nobody who may write here compresses, and signatures are over what was sent
    )
    await runner.setup()
    if runner.server is None:  # pragma: no cover - setup() makes it
        raise RuntimeError("aiohttp made no server")
    connections = Connections(runner.server, HEADERS)
    try:
        server = await asyncio.get_running_loop().create_server(connections, host, port, backlog=ACCEPTED_AT_ONCE)
    except OSError:
        await runner.cleanup()
        raise
    _widen(server)
    found: int = server.sockets[0].getsockname()[1]
    log.info("listening", extra={"host": host, "port": found})
    return Running(port=found, _server=server, _runner=runner, _connections=connections)


def _widen(server: asyncio.Server) -> None:
    """Let more wait than are accepted at once; asyncio has one number for both."""
    for one in server.sockets:
        with socket.socket(fileno=os.dup(one.fileno())) as same:
            same.listen(BACKLOG)


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn what went wrong into an answer that fits who asked."""
    try:
        return await handler(request)
    except web.HTTPRedirection:
        raise
    except web.HTTPException as error:
        return request.app[SITE].error(request, error, as_page=_is_for_people(request))
    except StoreError as error:
        log.warning("store unavailable", extra={"path": request.match_info.get_info().get("path"), "error": str(error)})
        away = web.HTTPServiceUnavailable(text="the store can't be read right now", headers={"Retry-After": "10"})
        return request.app[SITE].error(request, away, as_page=_is_for_people(request))


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    if not _is_public(request):
        http = request.app[PARTS].settings().http
        proof = request.headers.get("Authorization")
        match access(http, host=request.headers.get("Host"), authorization=proof):
            case Access.NO_SUCH_PAGE:
                raise web.HTTPNotFound
            case Access.PROOF_WANTED:
                raise web.HTTPUnauthorized(headers={"WWW-Authenticate": 'Basic realm="feedbell", charset="UTF-8"'})
            case Access.GRANTED:
                pass
    return await handler(request)


@web.middleware
async def _whole_body(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Read the body before anybody works on it, within its time and size. A push has its own measure."""
    if request.body_exists and not request.path.startswith("/websub/"):
        if (request.content_length or 0) > BODY_BYTES:
            raise web.HTTPRequestEntityTooLarge(BODY_BYTES, request.content_length or 0)
        try:
            async with asyncio.timeout(BODY_SECONDS):
                await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
    return await handler(request)


def _is_public(request: web.Request) -> bool:
    chat = {path for _, path, _ in request.app[PARTS].chat_routes}
    return request.path.startswith(PUBLIC) or request.path in chat


def _is_for_people(request: web.Request) -> bool:
    """Tell whether somebody reads the answer; mail programs, which post there too, look at the status alone."""
    return not _is_public(request) or request.path.startswith("/unsubscribe/")


def _server_log() -> logging.Logger:
    """Return aiohttp's logger, for faults of ours only: what strangers send malformed is no news."""
    logger = logging.getLogger("bot.web.http")
    if not any(isinstance(one, _OurFaults) for one in logger.filters):
        logger.addFilter(_OurFaults())
    return logger


class _OurFaults(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, HttpProcessingError | ConnectionError)
