"""What is told of the work: log lines, metrics, and the facts behind /healthz and /readyz."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from bot.app.parts import Observers, Parts
from bot.config.settings import Settings
from bot.core.errors import StoreUnavailable
from bot.core.model.delivery import Dead, Held, RetryAt, Sent, Settlement, outcome_of
from bot.core.model.feed import FeedId
from bot.ports import Clock
from bot.services.events import PollEvent, SendEvent
from bot.telemetry.logs import setup_logging
from bot.telemetry.redaction import Redactor

if TYPE_CHECKING:
    from bot.telemetry.metrics import Metrics

log = logging.getLogger("bot")

BEAT = timedelta(seconds=1)


def start_logging(settings: Settings) -> Redactor:
    """Log as the settings say, with every secret that they hold hidden."""
    redactor = Redactor(secrets_of(settings))
    setup_logging(settings.log.level, settings.log.format, redactor)
    return redactor


def secrets_of(settings: Settings) -> list[str]:
    """Every secret in force."""
    return [*settings.every_secret(), *_passwords_of(settings.state)]


def _passwords_of(state: str) -> list[str]:
    """The password in a PostgreSQL address, as written and as meant: libpq's words may hold either, bare."""
    try:
        parts = urlsplit(state)
        written = [parts.password, *parse_qs(parts.query).get("password", [])]
    except ValueError:  # libpq may read what the library can't
        written = [state]
    return [form for one in written if one for form in {one, unquote(one)}]


def log_poll(event: PollEvent) -> None:
    if event.error is not None:
        log.warning("feed not read", extra={"feed": event.feed, "error": event.error})
    elif event.new:
        log.info("feed polled", extra={"feed": event.feed, "new": event.new, "owed": event.owed})


def log_send(event: SendEvent) -> None:
    outcome, why = outcome_of(event.result)
    facts = {"destination": event.destination, "kind": event.kind.value, "delivery": event.idem}
    level = logging.INFO if isinstance(event.result, Sent) else logging.WARNING
    log.log(level, outcome, extra=facts if why is None else {**facts, "why": why})


class Watch:
    """Counts events, and knows whether the loops and the store's writer are alive (R-23)."""

    def __init__(self, clock: Clock, metrics: "Metrics") -> None:
        self._clock = clock
        self.metrics = metrics
        self.on_new: Callable[[FeedId], None] = lambda feed_id: None
        # Whoever looks at a page now would see another one; whether that can wait.
        self.on_change: Callable[[bool], None] = lambda can_wait: None
        self._ticked = clock.monotonic()
        self._writing_since: float | None = None

    @property
    def observers(self) -> Observers:
        return Observers(polled=self._polled, sent=self._sent)

    def _polled(self, event: PollEvent) -> None:
        log_poll(event)
        if event.outcome != "put off":
            self.metrics.polled(event.outcome, at=self._clock.now(), new=event.new, owed=event.owed)
        if event.new:
            self.on_new(event.feed)
        self.on_change(not event.new and event.error is None)

    def _sent(self, event: SendEvent) -> None:
        log_send(event)
        service = event.destination.partition(":")[0]
        self.metrics.delivered(service, outcome_of(event.result)[0], event.delay)
        self.on_change(False)
        if event.looked and (verdict := _reconciled(event.result)) is not None:
            self.metrics.reconciled(verdict)

    async def tick(self) -> None:
        """The loops have come round."""
        self._ticked = self._clock.monotonic()
        self.metrics.ticked(self._clock.now())

    async def beat(self, parts: Parts) -> None:
        """Measure, for as long as the bot runs, how late the event loop is and whether the store still writes."""
        asked: asyncio.Task[None] | None = None
        while True:
            began = self._clock.monotonic()
            await self._clock.sleep(BEAT)
            self.metrics.loop_delayed(timedelta(seconds=self._clock.monotonic() - began) - BEAT)
            if asked is None or asked.done():
                self._writing_since = self._clock.monotonic()
                asked = asyncio.create_task(self._ask_writer(parts), name="ask the writer")

    async def _ask_writer(self, parts: Parts) -> None:
        with suppress(StoreUnavailable):  # an answer too: it stands not still; the loops tell what is wrong
            await parts.store.ping()
        self._writing_since = None

    @property
    def since_tick(self) -> timedelta:
        return timedelta(seconds=self._clock.monotonic() - self._ticked)

    @property
    def write_blocked(self) -> timedelta:
        if self._writing_since is None:
            return timedelta(0)
        return timedelta(seconds=self._clock.monotonic() - self._writing_since)


def _reconciled(result: Settlement) -> str | None:
    """What a look-up said, for the count of unknown outcomes (I12); None: it said nothing yet."""
    match result:
        case Sent():
            return "found"
        case RetryAt() if not result.blind:
            return "absent"
        case RetryAt() | Held() | Dead():
            return "unreconcilable"
        case _:
            return None
