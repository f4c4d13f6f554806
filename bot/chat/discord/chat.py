"""Discord's side of chat: takes what comes by either transport, and sees that each is answered once and in time."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import aiohttp
from aiohttp import web

from bot.chat.discord.answers import PONG, Json, to_callback, to_choices, to_deferral, to_message
from bot.chat.discord.api import ChatApi
from bot.chat.discord.budget import Budget, BudgetStore, Starts
from bot.chat.discord.requests import Interaction, InteractionKind, read_interaction
from bot.chat.discord.sync import LeaseStore, keep_commands
from bot.chat.discord.verify import verify
from bot.chat.inbound import Once, SeenStore, body_of
from bot.chat.state import ChatState
from bot.chat.works import Works
from bot.core.errors import Forged
from bot.ports import Clock
from bot.services.commands import Commands

if TYPE_CHECKING:
    from bot.chat.discord.gateway import Gateway

log = logging.getLogger(__name__)

INTERACTIONS_KEPT = timedelta(minutes=20)  # their tokens live for fifteen


class SharedStore(SeenStore, LeaseStore, Protocol):
    """What replicas share."""


class DiscordChat:
    """With a public key interactions come over HTTP and no gateway is opened, else by the gateway (small print 4)."""

    def __init__(
        self,
        *,
        commands: Commands,
        clock: Clock,
        session: aiohttp.ClientSession,
        store: BudgetStore,
        api_url: str,
        agent: str,
        bot_token: str | None = None,
        public_key: str | None = None,
        shared: SharedStore | None = None,
    ) -> None:
        """`shared` is the same store where replicas share it: then one of them holds the gateway."""
        self._commands = commands
        self._clock = clock
        self._store = store
        self._shared = shared
        self._public_key = public_key
        self._has_token = bot_token is not None
        self._api = ChatApi(session, clock, api_url=api_url, agent=agent, token=bot_token)
        self._works = Works()
        self._taken = Once(clock, keep=INTERACTIONS_KEPT, store=shared)
        self._sync: asyncio.Task[None] | None = None
        self._gateway = self._make_gateway(api_url, bot_token) if bot_token is not None and not public_key else None

    def routes(self) -> list[web.RouteDef]:
        """What is served over HTTP; it carries its own proof. Nothing where the gateway is used."""
        return [web.post("/discord/interactions", self._over_http)] if self._public_key is not None else []

    async def start(self) -> None:
        """Begin to connect and to make the commands known; returns at once, connected or not."""
        if self._has_token:
            work = keep_commands(self._api, self._store, self._shared, self._clock)
            self._sync = asyncio.create_task(work, name="discord commands")
        if self._gateway is not None:
            self._gateway.start()

    async def stop(self) -> None:
        """Take nothing more, and give the answers that are worked on."""
        if self._sync is not None:
            self._sync.cancel()
            await asyncio.gather(self._sync, return_exceptions=True)
        if self._gateway is not None:
            await self._gateway.stop()
        await self._works.stop()

    async def probe(self) -> str:
        """Return how commands come. Raises NotifyError with why they can't."""
        if self._has_token:
            await self._api.get("/applications/@me")
        return "by the gateway" if self._gateway is not None else "over HTTP, which Discord alone can try"

    def state(self) -> ChatState:
        return self._gateway.state if self._gateway is not None else ChatState(connected=True)

    def _make_gateway(self, api_url: str, token: str) -> "Gateway":
        from bot.chat.discord.gateway import Gateway  # discord.py costs 200 ms, which HTTP does not need

        return Gateway(
            token=token,
            api_url=api_url,
            budget=Budget(self._api, self._store, self._clock),
            starts=Starts(self._store, self._clock),
            leases=self._shared,
            clock=self._clock,
            take=self._take,
        )

    # --- over HTTP ---------------------------------------------------------------------------------------------------

    async def _over_http(self, request: web.Request) -> web.StreamResponse:
        body = await body_of(request)
        try:
            found = verify(self._public_key or "", request.headers, body, now=self._clock.now())
            interaction = read_interaction(found)
        except Forged as forged:
            log.info("a request to Discord's endpoint was refused", extra={"why": str(forged)})
            raise web.HTTPUnauthorized(text="not Discord") from None
        said = await self._taken.answer(f"discord {interaction.id}", lambda: self._packed(interaction))
        # Another replica has taken it, and answers: this one's word would be a second answer.
        return web.Response(body=said, content_type="application/json") if said else web.Response(status=202)

    async def _packed(self, interaction: Interaction) -> bytes:
        return json.dumps(await self._first_answer(interaction), ensure_ascii=False).encode("utf-8", "replace")

    # --- by the gateway ----------------------------------------------------------------------------------------------

    def _take(self, payload: Mapping[str, object]) -> None:
        self._works.start(self._answer_by_request(payload), "discord interaction")

    async def _answer_by_request(self, payload: Mapping[str, object]) -> None:
        """A session that resumes is told again what it may have missed."""
        try:
            interaction = read_interaction(payload)
        except Forged as error:
            log.warning("an interaction could not be read", extra={"why": str(error)})
            return
        if await self._taken.is_first(f"discord {interaction.id}"):
            await self._api.call_back(interaction, await self._first_answer(interaction))

    # --- both --------------------------------------------------------------------------------------------------------

    async def _first_answer(self, interaction: Interaction) -> Json:
        """Return the answer if it is quick; else what says that it comes later, and see to that."""
        if interaction.kind is InteractionKind.PING:
            return {"type": PONG}
        if interaction.completion is not None:
            return await self._complete(interaction)
        if interaction.asked is None:
            return {"type": PONG}
        task = self._works.start(self._commands.answer(interaction.asked), f"discord {interaction.asked.name}")
        if await self._works.quickly(task):
            return to_callback(task.result(), interaction)

        async def answer_later() -> None:
            await self._api.edit_original(interaction, to_message(await task))

        self._works.start(answer_later(), "discord answer")
        return to_deferral(interaction)

    async def _complete(self, interaction: Interaction) -> Json:
        asked = interaction.completion
        if asked is None or not asked.of:
            return to_choices(())
        complete = self._commands.complete_tags if asked.of == "tags" else self._commands.complete_feeds
        task = self._works.start(_listed(complete(asked.prefix, asked.who)), "discord completion")
        return to_choices(task.result() if await self._works.quickly(task, 2.0) else ())


async def _listed(names: Awaitable[Sequence[str]]) -> Sequence[str]:
    return await names
