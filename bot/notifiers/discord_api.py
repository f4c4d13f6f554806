"""Requests to Discord: buckets that are empty, tokens that were refused, and the distance to a ban."""

from collections import deque
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import timedelta

import aiohttp

from bot.core.errors import Deferred, DestinationDown, NotifyError
from bot.core.model.message import Payload
from bot.notifiers.discord_errors import asked_wait, is_invalid_request, to_error
from bot.notifiers.http import Answer, ask
from bot.notifiers.token import TokenGate
from bot.ports import Clock

SHORT_WAIT = timedelta(seconds=5)  # for an empty bucket; a longer one goes back to the outbox
INVALID_MOST = 1_000  # in INVALID_WINDOW; Discord bans the address at ten times as many (T29)
INVALID_WINDOW = timedelta(minutes=10)


class Refused(Exception):
    """An answer that is no success, and what it means for a message."""

    def __init__(self, answer: Answer, error: NotifyError) -> None:
        super().__init__(str(error))
        self.answer = answer
        self.error = error


class Strikes:
    """How near we are to a ban for bad requests. Discord counts them by our address, whoever makes them."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def add(self, now: float) -> None:
        self._times.append(now)

    def guard(self, now: float) -> None:
        """Raises Deferred where there have been too many."""
        while self._times and self._times[0] <= now - INVALID_WINDOW.total_seconds():
            self._times.popleft()
        if len(self._times) >= INVALID_MOST:
            wait = timedelta(seconds=self._times[0] - now) + INVALID_WINDOW
            raise Deferred("too many bad requests to Discord: pausing before it bans us", retry_after=wait)


class DiscordApi:
    """One token's or no token's requests."""

    def __init__(
        self, session: aiohttp.ClientSession, clock: Clock, headers: Mapping[str, str], strikes: Strikes
    ) -> None:
        self._session = session
        self._clock = clock
        self._headers = dict(headers)
        self._strikes = strikes
        self._empty_until: dict[str, float] = {}
        # A webhook's address is its own proof: that one is refused says nothing about others.
        self._gate = TokenGate(clock) if "Authorization" in headers else None

    async def ask(
        self, method: str, url: str, *, payload: Payload | None = None, params: Mapping[str, str] | None = None
    ) -> Answer:
        """Ask once. Raises Refused on anything but 2xx, DestinationDown by the gate, and what `http.ask` raises."""
        async with self._gate.turn() if self._gate is not None else nullcontext():
            self._strikes.guard(self._clock.monotonic())
            answer = await ask(
                self._session, method, url, service="Discord", payload=payload, params=params, headers=self._headers
            )
            self._learn(answer)
        if is_invalid_request(answer):
            self._strikes.add(self._clock.monotonic())
        if not 200 <= answer.status < 300:
            raise Refused(answer, self._meant(answer))
        return answer

    async def post(self, url: str, payload: Payload, *, bucket: str, params: Mapping[str, str] | None = None) -> Answer:
        """Create a message, after the short wait that the bucket's last answer asked for."""
        left = timedelta(seconds=self._empty_until.get(bucket, 0.0) - self._clock.monotonic())
        if left > SHORT_WAIT:
            raise Deferred("Discord asks us to slow down", retry_after=left, throttled=True)
        if left > timedelta(0):
            await self._clock.sleep(left)
        answer = await self.ask("POST", url, payload=payload, params=params)
        if wait := asked_wait(answer, now=self._clock.now()):
            self._empty_until[bucket] = self._clock.monotonic() + wait.total_seconds()
        else:
            self._empty_until.pop(bucket, None)
        return answer

    def _meant(self, answer: Answer) -> NotifyError:
        error = to_error(answer, now=self._clock.now())
        # A webhook is no account: its 401 says nothing about others.
        is_alone = self._gate is None and isinstance(error, DestinationDown)
        return DestinationDown(str(error)) if is_alone else error

    def _learn(self, answer: Answer) -> None:
        if self._gate is None:
            return
        if answer.status == 401:
            self._gate.refused("Discord refuses the bot token (FEEDBELL_DISCORD__BOT_TOKEN): 401")
        elif answer.status < 500:
            self._gate.taken()
