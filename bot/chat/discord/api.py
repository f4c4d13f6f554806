"""The few requests that chat makes of Discord. Answers to interactions need no token but the interaction's own."""

import asyncio
import json
import logging
from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import quote

import aiohttp

from bot.chat.discord.requests import Interaction
from bot.core.errors import Deferred, NotifyError, OutcomeUnknown
from bot.core.model.message import JsonValue
from bot.core.retry_after import KEPT
from bot.notifiers.http import Answer, ask
from bot.ports import Clock

log = logging.getLogger(__name__)

Json = dict[str, JsonValue]

CALLBACK_TRIES = 4  # within the three seconds that Discord waits
CALLBACK_PAUSE = timedelta(milliseconds=300)
EDIT_TRIES = 8  # within the fifteen minutes that a token lives
EDIT_PAUSE, LONGEST_PAUSE = timedelta(milliseconds=500), timedelta(seconds=30)
REFUSED_FOR = timedelta(minutes=15)  # a token that got 401 is left alone; Discord bans who insists (T29)
REFUSED = "Discord refuses the bot token (401)"
ACKNOWLEDGED = 40060  # Discord's code for an interaction that has its answer


class ChatApi:
    """Asks Discord at `api_url`. `agent` is the User-Agent that Discord wants."""

    def __init__(
        self, session: aiohttp.ClientSession, clock: Clock, *, api_url: str, agent: str, token: str | None
    ) -> None:
        self._session = session
        self._clock = clock
        self._base = api_url.rstrip("/")
        self._agent = {"User-Agent": agent}
        self._auth = {**self._agent, "Authorization": f"Bot {token}"}
        self._turn = asyncio.Lock()  # so that of several who ask at once only one learns of a refusal
        self._refused_until = 0.0

    async def call_back(self, interaction: Interaction, body: Json) -> None:
        """Give the first answer. One that may have arrived is given again: Discord takes only one of them."""
        path = f"/interactions/{interaction.id}/{quote(interaction.token, safe='')}/callback"
        for _ in range(CALLBACK_TRIES):
            answer = await self._try("POST", path, body)
            if answer is not None and answer.status < 500 and answer.status != 429:
                if answer.status >= 400 and _code(answer) != ACKNOWLEDGED:
                    log.warning("Discord refused an answer", extra={"status": answer.status, "code": _code(answer)})
                return
            await self._clock.sleep(CALLBACK_PAUSE)
        log.warning("an answer could not be given in time")

    async def edit_original(self, interaction: Interaction, body: Json) -> None:
        """Give a deferred answer; idempotent, so that it is tried until it is there.

        404 may only mean that Discord has not taken in the deferral yet.
        """
        token = quote(interaction.token, safe="")
        path = f"/webhooks/{interaction.application}/{token}/messages/@original"
        pause = EDIT_PAUSE
        for _ in range(EDIT_TRIES):
            answer = await self._try("PATCH", path, body)
            if answer is not None and answer.status not in (404, 429) and answer.status < 500:
                if answer.status >= 400:
                    log.warning("Discord refused an answer", extra={"status": answer.status, "code": _code(answer)})
                return
            asked = answer.retry_after(now=self._clock.now()) if answer is not None else None
            await self._clock.sleep(min(max(pause, asked or pause), LONGEST_PAUSE))
            pause *= 2
        log.warning("a deferred answer could not be given")

    async def get(self, path: str) -> Mapping[str, object]:
        """Return an object that the bot's own token may read. Raises NotifyError with what is wrong, in words."""
        return _object(await self._own("GET", path))

    async def put_commands(self, application: str, commands: list[JsonValue]) -> None:
        """Replace all commands. Raises NotifyError."""
        await self._own("PUT", f"/applications/{application}/commands", commands)

    async def _own(self, method: str, path: str, body: list[JsonValue] | None = None) -> Answer:
        payload = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        headers = {**self._auth, **({"Content-Type": "application/json"} if body is not None else {})}
        async with self._turn:
            left = self._refused_until - self._clock.monotonic()
            if left > 0:
                raise Deferred(REFUSED, retry_after=timedelta(seconds=left))
            answer = await ask(
                self._session, method, self._base + path, service="Discord", payload=payload, headers=headers
            )
            if answer.status == 401:
                self._refused_until = self._clock.monotonic() + REFUSED_FOR.total_seconds()
                raise Deferred(REFUSED, retry_after=REFUSED_FOR)
        if not 200 <= answer.status < 300:
            asked = answer.retry_after(now=self._clock.now())
            raise Deferred(f"Discord answered {answer.status}", retry_after=asked, throttled=answer.status == 429)
        return answer

    async def _try(self, method: str, path: str, body: Json) -> Answer | None:
        try:
            return await ask(
                self._session, method, self._base + path, service="Discord", payload=body, headers=self._agent
            )
        except (Deferred, OutcomeUnknown):
            return None


def _code(answer: Answer) -> object:
    found = answer.json
    return found.get("code") if isinstance(found, dict) else None


def _object(answer: Answer) -> Mapping[str, object]:
    found = answer.json
    if not isinstance(found, dict):
        raise NotifyError("Discord's answer can't be read")
    return found


def asked_wait(error: Exception) -> timedelta:
    """Return how long Discord wants to be left alone after this; nothing where it doesn't say."""
    asked = error.retry_after if isinstance(error, NotifyError) else None
    return min(asked, KEPT) if asked is not None else timedelta(0)
