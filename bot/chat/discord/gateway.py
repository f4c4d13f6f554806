"""The gateway connection by discord.py, which does nothing for us but stay connected: no caches, no intents.

Interactions are taken from the raw packets and answered by plain requests, as those over HTTP are.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import aiohttp
import discord
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL

from bot.chat.discord.api import asked_wait
from bot.chat.discord.budget import Budget, Starts
from bot.chat.discord.sync import LeaseStore
from bot.chat.state import ChatState
from bot.core.errors import FeedbellError, LeaseLost, NotifyError, StoreError
from bot.ports import Clock

log = logging.getLogger(__name__)

LEASE = "discord-gateway"
HELD, RENEWED = timedelta(seconds=20), timedelta(seconds=6)
STANDBY = timedelta(seconds=10)  # between looks whether the replica that holds the gateway is gone
ALIVE = timedelta(minutes=1)  # a session that lived that long is none of a crash loop
FIRST_WAIT, LONGEST_WAIT = 1.0, 600.0  # seconds between tries

# Its records hold payloads, and a traceback for each lost connection; what matters is in ours.
logging.getLogger("discord").setLevel(logging.CRITICAL)


class _Client(discord.Client):
    """Tells what comes in and how the connection is; asks before each IDENTIFY."""

    def __init__(
        self, budget: Budget, take: Callable[[Mapping[str, object]], None], tell: Callable[[ChatState], None]
    ) -> None:
        super().__init__(
            intents=discord.Intents.none(),
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            enable_debug_events=True,  # for the raw packets
        )
        self._budget = budget
        self._is_paid = True  # the first IDENTIFY, before the connection was opened
        self._take = take
        self._tell = tell

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        if not self._is_paid:
            await self._budget.spend()
        self._is_paid = False

    async def on_socket_event_type(self, event: str) -> None:
        if event in ("READY", "RESUMED"):
            self._tell(ChatState(connected=True))

    async def on_disconnect(self) -> None:
        self._tell(ChatState(connected=False, why="connecting to Discord anew"))

    async def on_socket_raw_receive(self, packet: str) -> None:
        if '"INTERACTION_CREATE"' not in packet:
            return
        found = json.loads(packet)
        if found.get("t") == "INTERACTION_CREATE" and isinstance(found.get("d"), dict):
            self._take(found["d"])

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        log.exception("a gateway event failed by a fault of ours", extra={"event": event_method})


class Gateway:
    """Keeps one session, where this replica holds the lease for it."""

    def __init__(
        self,
        *,
        token: str,
        api_url: str,
        budget: Budget,
        starts: Starts,
        leases: LeaseStore | None,
        clock: Clock,
        take: Callable[[Mapping[str, object]], None],
    ) -> None:
        self.state = ChatState(connected=False, why="not connected to Discord yet")
        self._token = token
        self._api_url = api_url.rstrip("/")
        self._budget = budget
        self._starts = starts
        self._leases = leases
        self._clock = clock
        self._take = take
        self._epoch = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._keep_connected(), name="discord gateway")
        self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            try:
                await self._starts.went_well()
                if self._leases is not None:
                    await self._leases.release_lease(LEASE, epoch=self._epoch)
            except StoreError as error:
                log.warning("the gateway's lease was not given back", extra={"error": str(error)})
        self._tell(ChatState(connected=False, why="stopped"))

    def _tell(self, state: ChatState) -> None:
        self.state = state

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """By a fault of ours, if not by a stop: nobody connects any more, and `/readyz` must say so."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._tell(ChatState(connected=False, why=_why(error)))

    async def _keep_connected(self) -> None:
        wait = FIRST_WAIT
        is_first = True
        while True:
            began, asked = self._clock.monotonic(), timedelta(0)
            try:
                if not await self._take_lease():
                    await self._clock.sleep(STANDBY)
                    continue
                if is_first:
                    await self._starts.wait()
                    is_first = False
                why = await self._run()
            except FeedbellError as error:
                why, asked = str(error), asked_wait(error)
            log.warning("no Discord connection", extra={"why": why})
            self._tell(ChatState(connected=False, why=why))
            if timedelta(seconds=self._clock.monotonic() - began) > ALIVE:
                wait = FIRST_WAIT
            await self._clock.sleep(max(timedelta(seconds=wait * (1 + self._clock.roll() / 10)), asked))
            wait = min(wait * 2, LONGEST_WAIT)

    async def _take_lease(self) -> bool:
        if self._leases is None:
            return True
        now = self._clock.now()
        epoch = await self._leases.take_lease(LEASE, now=now, until=now + HELD)
        if epoch is None:
            # That is as it should be: nothing is down.
            self._tell(ChatState(connected=True, why="another replica holds Discord's gateway"))
            return False
        self._epoch = epoch
        return True

    async def _run(self) -> str:
        """Serve one client until it ends; return why it did."""
        answer = await self._budget.spend()
        # discord.py keeps these addresses at its classes: one process, one Discord.
        Route.BASE = self._api_url
        DiscordWebSocket.DEFAULT_GATEWAY = _address(answer)
        client = _Client(self._budget, self._take, self._tell)
        async with client:
            serving = asyncio.create_task(client.start(self._token), name="discord client")
            leasing = asyncio.create_task(self._keep_lease(), name="discord lease")
            noting = asyncio.create_task(self._note_success(), name="discord start")
            tasks = (serving, leasing, noting)
            try:
                ended, _ = await asyncio.wait({serving, leasing}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        error = next(iter(ended)).exception()
        if client.ws is None and isinstance(error, AttributeError):
            return "can't connect to Discord"  # discord.py trips over the session that it never had
        return "the connection ended" if error is None else _why(error)

    async def _keep_lease(self) -> None:
        if self._leases is None:
            await asyncio.Event().wait()
            return
        good_until = self._clock.monotonic() + HELD.total_seconds()
        while True:
            await self._clock.sleep(RENEWED)
            try:
                await self._leases.renew_lease(LEASE, epoch=self._epoch, until=self._clock.now() + HELD)
                good_until = self._clock.monotonic() + HELD.total_seconds()
            except LeaseLost:
                raise
            except StoreError:
                # Nobody else can take it before it runs out; the store may be back by then.
                if self._clock.monotonic() + RENEWED.total_seconds() > good_until:
                    raise

    async def _note_success(self) -> None:
        await self._clock.sleep(ALIVE)
        await self._starts.went_well()


def _address(answer: Mapping[str, object]) -> URL:
    """Return where the gateway is. Raises NotifyError for an answer that says no address."""
    try:
        return URL(str(answer.get("url") or "wss://gateway.discord.gg"))
    except ValueError:
        raise NotifyError("Discord's answer names no gateway") from None


def _why(error: BaseException) -> str:
    """Say why a client ended."""
    match error:
        case FeedbellError():
            return str(error)
        case discord.LoginFailure():
            return "Discord refuses the bot token (401)"
        case discord.ConnectionClosed():
            return f"Discord closed the connection ({error.code})"
        case discord.HTTPException():
            return f"Discord answered {error.status}"
        case discord.DiscordException() | aiohttp.ClientError() | OSError() | TimeoutError():
            return f"can't connect to Discord ({type(error).__name__})"
        case _:
            log.error("the gateway failed by a fault of ours", exc_info=error)
            return f"fault in feedbell: {type(error).__name__}"
