"""Slack's side of chat: takes what comes by either transport, and sees that each is answered once and in time."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

import aiohttp
from aiohttp import web

from bot.chat.inbound import Once, SeenStore, body_of
from bot.chat.slack.answers import Json, ResponseUrls, to_json, to_reply
from bot.chat.slack.requests import Request, read_command, read_form, read_payload, read_press
from bot.chat.slack.socket import Acknowledge, Socket
from bot.chat.slack.verify import verify
from bot.chat.state import ChatState
from bot.chat.works import Works
from bot.core.errors import Forged
from bot.ports import Clock
from bot.services.commands import Commands

log = logging.getLogger(__name__)

REPLAYED_WITHIN = timedelta(seconds=600)  # twice the window of a signature
ENVELOPES_KEPT = timedelta(hours=1)


class SlackChat:
    """With an app token commands come by Socket Mode, else with a signing secret over HTTP (small print 4)."""

    def __init__(
        self,
        *,
        commands: Commands,
        clock: Clock,
        session: aiohttp.ClientSession,
        api_url: str,
        app_token: str | None = None,
        signing_secret: str | None = None,
        seen: SeenStore | None = None,
    ) -> None:
        """`seen` is what replicas share; without it this process alone remembers what it has taken."""
        self._commands = commands
        self._clock = clock
        self._secret = signing_secret if app_token is None else None
        self._urls = ResponseUrls(session, clock, api_url)
        self._works = Works()
        self._requests = Once(clock, keep=REPLAYED_WITHIN, store=seen)
        self._envelopes = Once(clock, keep=ENVELOPES_KEPT, store=seen)
        self._socket = None
        if app_token is not None:
            self._socket = Socket(app_token=app_token, api_url=api_url, clock=clock, take=self._take_envelope)

    def routes(self) -> list[web.RouteDef]:
        """What is served over HTTP; each carries its own proof. Nothing in Socket Mode."""
        if self._secret is None:
            return []
        return [
            web.post("/slack/commands", self._over_http(self._command)),
            web.post("/slack/interactive", self._over_http(self._press)),
        ]

    async def start(self) -> None:
        """Begin to connect; returns at once, connected or not."""
        if self._socket is not None:
            self._socket.start()

    async def stop(self) -> None:
        """Take nothing more, and give the answers that are worked on."""
        if self._socket is not None:
            await self._socket.stop()
        await self._works.stop()

    async def probe(self) -> str:
        """Return how commands come. Raises NotifyError with why they can't."""
        return await self._socket.probe() if self._socket is not None else "over HTTP, which Slack alone can try"

    def state(self) -> ChatState:
        return self._socket.state if self._socket is not None else ChatState(connected=True)

    # --- over HTTP ---------------------------------------------------------------------------------------------------

    def _over_http(
        self, answer: Callable[[bytes], Awaitable[bytes]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            body = await body_of(request)
            try:
                key = verify(self._secret or "", request.headers, body, now=self._clock.now())
                said = await self._requests.answer(f"{request.path} {key}", lambda: answer(body))
            except Forged as forged:
                log.info("a request to Slack's endpoint was refused", extra={"why": str(forged)})
                raise web.HTTPUnauthorized(text="not Slack") from None
            return web.Response(body=said, content_type="application/json" if said else "text/plain")

        return handle

    async def _command(self, body: bytes) -> bytes:
        fields = read_form(body)
        if fields.get("ssl_check") == "1":
            return b""
        immediate = await self._answer_soon(read_command(fields))
        return b"" if immediate is None else json.dumps(immediate, ensure_ascii=False).encode("utf-8", "replace")

    async def _press(self, body: bytes) -> bytes:
        request = read_press(read_payload(read_form(body).get("payload")))
        if request is not None:
            self._answer_later(request)
        return b""

    # --- by Socket Mode ----------------------------------------------------------------------------------------------

    async def _take_envelope(self, envelope: Mapping[str, object], acknowledge: Acknowledge) -> None:
        """Acknowledge within half a second; an envelope that was taken before gets nothing but that (R-5)."""
        request = None
        try:
            request = _read_envelope(envelope)
        except Forged as error:
            log.warning("an envelope could not be read", extra={"why": str(error)})
        is_new = await self._envelopes.is_first(f"slack {envelope.get('envelope_id')}")
        if request is None or not is_new:
            await acknowledge(None)
        elif request.is_press:
            await acknowledge(None)
            self._answer_later(request)
        else:
            immediate = await self._answer_soon(request)
            if not await acknowledge(immediate) and immediate is not None:
                # The connection is gone and the answer with it; the response URL is another way to the same person.
                await self._urls.post(request.response_url, immediate)

    # --- both --------------------------------------------------------------------------------------------------------

    async def _answer_soon(self, request: Request) -> Json | None:
        """Return the answer if it is quick; else it comes to the response URL later."""
        task = self._works.start(self._commands.answer(request.asked), f"slack {request.asked.name}")
        if await self._works.quickly(task):
            return to_json(task.result())

        async def post_later() -> None:
            await self._urls.post(request.response_url, to_reply(await task, request))

        self._works.start(post_later(), "slack answer")
        return None

    def _answer_later(self, request: Request) -> None:
        """A button's answer can only come to the response URL."""

        async def answer() -> None:
            said = await self._commands.answer(request.asked)
            await self._urls.post(request.response_url, to_reply(said, request))

        self._works.start(answer(), f"slack {request.asked.name}")


def _read_envelope(envelope: Mapping[str, object]) -> Request | None:
    payload = envelope.get("payload")
    if envelope.get("type") == "slash_commands" and isinstance(payload, dict):
        return read_command(payload)
    return read_press(payload) if envelope.get("type") == "interactive" else None
