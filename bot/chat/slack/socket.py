"""One Socket Mode connection, kept alive by a watchdog of our own.

The SDK's client decides by the wall clock whether a connection is stale, so that a clock that is set makes it leave a
good one; it also tries for ever where the token is refused, without telling. Here it serves one connection each: when
that ends, or Slack announces its end, or no pong came for a while, a new client takes over before the old one goes.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import timedelta

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.state import ChatState
from bot.chat.works import Works
from bot.core.errors import Deferred
from bot.core.retry_after import KEPT, parse_retry_after
from bot.ports import Clock

log = logging.getLogger(__name__)

Acknowledge = Callable[[Mapping[str, object] | None], Awaitable[bool]]  # False: the connection is gone
Take = Callable[[Mapping[str, object], Acknowledge], Coroutine[object, object, None]]

PING = 10.0  # seconds between pings; half of it without a pong ends the connection
NO_PONG = 30.0  # seconds of silence after which a connection is taken for dead
LOOK = timedelta(milliseconds=250)  # how often the watchdog looks
CONNECT = 20.0  # seconds for a connection to say hello
OVERLAP = timedelta(seconds=1)  # the old connection still takes acknowledgements while the new one begins
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds between tries to connect
REFUSED_WAIT = 900.0  # seconds: a token that is refused is left alone (T29)
LIMITED_WAIT = 30.0  # seconds: of this method Slack takes few calls a minute, where it doesn't say when the next
REFUSED = frozenset("invalid_auth not_authed account_inactive token_revoked token_expired missing_scope".split())

# The SDK takes every answer for an object, also the page of a proxy, and reads it however deep it goes.
_UNREADABLE = (AttributeError, KeyError, TypeError, RecursionError)
_FAILURES = (SlackClientError, aiohttp.ClientError, OSError, ValueError, *_UNREADABLE)

_quiet = logging.getLogger("bot.chat.slack.sdk")
_quiet.setLevel(logging.CRITICAL)  # its records hold payloads and addresses with tickets


class _Client(SocketModeClient):
    """The SDK's client for one connection: whenever it would make another, it says so instead."""

    def __init__(self, app_token: str, web: AsyncWebClient) -> None:
        super().__init__(app_token, logger=_quiet, web_client=web, auto_reconnect_enabled=False, ping_interval=PING)
        self.proxy = None  # the environment's is for feeds' readers, not for us
        self.greeted = asyncio.Event()
        self.ending = asyncio.Event()

    async def connect_to_new_endpoint(self, force: bool = False) -> None:
        self.ending.set()

    @property
    def is_closed(self) -> bool:
        return self.current_session is None or self.current_session.closed

    @property
    def is_over(self) -> bool:
        return self.ending.is_set() or self.is_closed


class Socket:
    """Keeps one connection, and hands on what comes through it."""

    def __init__(self, *, app_token: str, api_url: str, clock: Clock, take: Take) -> None:
        self.state = ChatState(connected=False, why="not connected to Slack yet")
        self._app_token = app_token
        self._api_url = api_url.rstrip("/") + "/"
        self._clock = clock
        self._take = take
        self._works = Works()
        self._clients: set[_Client] = set()
        self._least_wait = 0.0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = self._works.start(self._keep_connected(), "slack socket")
        self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._works.stop()
        for client in tuple(self._clients):
            await self._close(client)
        self.state = ChatState(connected=False, why="stopped")

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """By a fault of ours, if not by a stop: nobody connects any more, and `/readyz` must say so."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.state = ChatState(connected=False, why=f"fault in feedbell: {type(error).__name__}")

    async def _keep_connected(self) -> None:
        wait = FIRST_WAIT
        old: _Client | None = None
        while True:
            client = await self._connect()
            if old is not None and (client is not None or old.is_closed):
                self._works.start(self._retire(old), "old slack socket")
                old = None
            if client is None:
                pause = max(wait, self._least_wait)
                await self._clock.sleep(timedelta(seconds=pause * (1 + self._clock.roll() / 10)))
                wait = min(wait * 2, LONGEST_WAIT)
                continue
            wait = FIRST_WAIT
            self.state = ChatState(connected=True)
            why = await self._watch(client)
            log.info("Slack connection ends", extra={"why": why})
            old = client
            if client.is_closed:
                self.state = ChatState(connected=False, why=f"connecting to Slack anew: {why}")

    async def probe(self) -> str:
        """Ask for an address, and do not go there. Raises Deferred with what Slack says."""
        try:
            async with asyncio.timeout(CONNECT):
                await self._address(self._web())
        except _FAILURES as error:
            raise Deferred(self._reason(error)) from None
        return "by Socket Mode"

    def _web(self) -> AsyncWebClient:
        web = AsyncWebClient(base_url=self._api_url, timeout=30, retry_handlers=[], logger=_quiet)
        web.proxy = None
        return web

    async def _connect(self) -> _Client | None:
        web = self._web()
        client = _Client(self._app_token, web)
        client.message_listeners.append(self._hear)
        self._clients.add(client)
        self._least_wait = 0.0
        try:
            async with asyncio.timeout(CONNECT):
                client.wss_uri = await self._address(web)
                await client.connect()  # type: ignore[no-untyped-call]
                await client.greeted.wait()
                return client
        except _FAILURES as error:
            why = self._reason(error)
        await self._close(client)
        log.warning("no Slack connection", extra={"why": why})
        self.state = ChatState(connected=False, why=why)
        return None

    async def _address(self, web: AsyncWebClient) -> str:
        """Ask for the address of one connection. Not by the SDK's client: that reads a refusal as if it were JSON."""
        answer = await web.apps_connections_open(app_token=self._app_token)
        url = answer["url"]
        if not isinstance(url, str) or not url.startswith(("ws://", "wss://")):
            raise ValueError("no address of a socket")
        return url

    def _reason(self, error: Exception) -> str:
        if isinstance(error, SlackApiError):
            return self._learn(error)
        if isinstance(error, TimeoutError):
            return "no answer in time"
        return f"can't connect to Slack ({type(error).__name__})"

    def _learn(self, error: SlackApiError) -> str:
        """Say why there is no address; note how long Slack is to be left alone."""
        found = getattr(error.response, "data", error.response)
        said = found.get("error") if isinstance(found, Mapping) else None
        word = said if isinstance(said, str) else None
        if word == "ratelimited" or _status(error.response) == 429:
            asked = parse_retry_after(_header(error.response, "Retry-After"), now=self._clock.now())
            self._least_wait = min(asked, KEPT).total_seconds() if asked is not None else LIMITED_WAIT
            return "Slack asks us to slow down"
        if word in REFUSED:
            self._least_wait = REFUSED_WAIT
        return f"Slack refuses the app token ({word})" if word is not None else "Slack's answer can't be read"

    async def _watch(self, client: _Client) -> str:
        """Return why another connection is needed. The SDK notes each pong; when it came, our own clock says."""
        noted, since = client.last_ping_pong_time, self._clock.monotonic()
        while not client.is_over:
            await self._clock.sleep(LOOK)
            if client.last_ping_pong_time != noted:
                noted, since = client.last_ping_pong_time, self._clock.monotonic()
            elif self._clock.monotonic() - since > NO_PONG:
                return "no pong for 30 s"
        return "Slack asked for a new one" if client.ending.is_set() else "the connection broke"

    async def _retire(self, client: _Client) -> None:
        await self._clock.sleep(OVERLAP)
        await self._close(client)

    async def _close(self, client: _Client) -> None:
        self._clients.discard(client)
        with suppress(aiohttp.ClientError, OSError):
            await client.close()  # type: ignore[no-untyped-call]

    async def _hear(
        self, client: AsyncBaseSocketModeClient, message: dict[str, object], raw: str | None = None
    ) -> None:
        del raw
        if message.get("type") == "hello" and isinstance(client, _Client):
            client.greeted.set()
            others = message.get("num_connections")
            if isinstance(others, int) and others > len(self._clients):
                log.warning("another process takes commands with the same Slack app token", extra={"open": others})
            return
        envelope_id = message.get("envelope_id")
        if not isinstance(envelope_id, str):
            return

        async def acknowledge(payload: Mapping[str, object] | None) -> bool:
            answer = {"envelope_id": envelope_id, **({"payload": payload} if payload is not None else {})}
            try:
                await client.send_message(json.dumps(answer))
            except (aiohttp.ClientError, OSError, RuntimeError):
                return False
            return True

        self._works.start(self._take(message, acknowledge), "slack envelope")


# The SDK's errors hold its own response where the body was JSON, else that of aiohttp.
def _status(response: object) -> object:
    return getattr(response, "status_code", None) or getattr(response, "status", None)


def _header(response: object, name: str) -> object:
    headers = getattr(response, "headers", None)
    return headers.get(name) if isinstance(headers, Mapping) else None
