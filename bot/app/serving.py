"""The web, introduced to the rest of the house."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from bot.app.observing import Watch
from bot.app.parts import Parts
from bot.core.errors import PortUnavailable
from bot.core.filters import Verdict
from bot.core.model.entry import Entry
from bot.core.model.feed import FeedId
from bot.core.model.route import Route
from bot.services.life import verdicts_of
from bot.telemetry.metrics import Sample
from bot.web.health import Alive, Ready
from bot.web.live import Live
from bot.web.parts import Handler, InboxMessage, WebParts, WebSub
from bot.web.server import Running, make_app, start

WhyDown = Callable[[], Mapping[str, str | None]]  # each chat connection: why it is down, None where it is up


@asynccontextmanager
async def web_running(
    parts: Parts,
    watch: Watch,
    *,
    address: tuple[str, int],
    poke: Callable[[FeedId], Awaitable[bool]],
    unsubscribe: Callable[[str], Awaitable[bool]],
    inbox: Callable[[], Sequence[InboxMessage]],
    chat_routes: Sequence[tuple[str, str, Handler]] = (),
    chat: WhyDown = dict,
    websub: WebSub | None = None,
) -> AsyncIterator[Running]:
    """Serve pages and endpoints until the block ends. Raises PortUnavailable."""
    facts, live = _Facts(parts, watch, chat), Live(parts.clock)
    watch.on_change = live.changed
    app = make_app(
        WebParts(
            clock=parts.clock,
            settings=lambda: parts.settings,
            status=parts.store,
            alive=facts.alive,
            ready=facts.ready,
            live=live,
            metrics=facts.metrics,
            poke=poke,
            unsubscribe=unsubscribe,
            websub=websub,
            why=facts.why,
            inbox=inbox,
            polls=watch.metrics.history.hours,
            chat_routes=chat_routes,
        )
    )
    try:
        running = await start(app, *address)
    except OSError as error:
        host, port = address
        number = error.errno or 0  # asyncio's own words name the address again; a name server's numbers are negative
        why = os.strerror(number).lower() if number > 0 else error.strerror or error
        raise PortUnavailable(f"cannot listen on {host}:{port}: {why}; choose another http.listen") from error
    try:
        yield running
    finally:
        await running.stop()


class _Facts:
    """Answers the web's questions about this process and the store."""

    def __init__(self, parts: Parts, watch: Watch, chat: WhyDown) -> None:
        self._parts = parts
        self._watch = watch
        self._chat = chat
        self._killed = 0  # parse workers that the metrics know of

    def alive(self) -> Alive:
        return Alive(since_tick=self._watch.since_tick, write_blocked=self._watch.write_blocked)

    async def ready(self) -> Ready:
        now = self._parts.clock.now()
        waiting = await self._parts.store.overdue(now=now)
        return Ready(
            late=await self._parts.store.late_feeds(now=now),
            oldest_waiting_at=min((at for _, at in waiting), default=None),
            chat=self._chat(),
        )

    async def metrics(self) -> tuple[bytes, str]:
        store, now = self._parts.store, self._parts.clock.now()
        counts, totals = await store.feed_counts(now=now), await store.totals(now=now)
        waiting = await store.overdue(now=now)
        oldest = min((at for _, at in waiting), default=now)
        for _ in range(self._parts.parser.killed - self._killed):
            self._watch.metrics.parser_killed("document")
        self._killed = self._parts.parser.killed
        self._watch.metrics.chat({name: why is None for name, why in self._chat().items()})
        return self._watch.metrics.expose(
            Sample(
                feeds=counts.feeds,
                feeds_failing=counts.failing,
                feeds_overdue=counts.late,
                entries=totals.entries,
                waiting=totals.waiting,
                oldest_waiting=now - oldest,
                parked=sum(row.destination.parked is not None for row in await store.destination_rows()),
                held=totals.held,
                dead=totals.dead,
            )
        )

    async def why(self, entry: Entry) -> Sequence[tuple[Route, Verdict]]:
        feeds = {state.feed.id: state.feed for state in await self._parts.store.feeds()}
        routes = await self._parts.routing.all_routes()
        return verdicts_of(entry, feeds, routes, now=self._parts.clock.now())
