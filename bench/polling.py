"""The product's own fetcher, intake and store, put together as `run` does, with a clock that can be set forward."""

import asyncio
import ssl
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from bot.app.parts import destinations_of
from bot.clock import SystemClock
from bot.config.settings import Settings
from bot.core.model.feed import FeedId
from bot.fetch.client import HttpFetcher
from bot.fetch.limits import FetchLimits
from bot.parser.guarded import GuardedParser
from bot.services.events import PollEvent
from bot.services.hosts import HostGate
from bot.services.intake import Intake
from bot.services.routing import Routing
from bot.store.sql import Tx
from bot.store.store import Store, open_store

LATER = timedelta(hours=2)  # after it every feed is due again
PATIENCE = 600  # seconds for a round


class ShiftedClock(SystemClock):
    """Real time, and now and then some hours more."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.shift


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is polled, and from where."""

    urls: Sequence[str]
    state: str
    close: bool = False
    at_once: int = 50
    ca_file: Path | None = None
    rows: int = 0  # feeds in the store in all; those beyond `urls` are never due


def settings_for(urls: Sequence[str]) -> Settings:
    """Feeds of one host as feeds of hosts of their own: pacing by host is lifted, nothing else."""
    return Settings.model_validate(
        {
            "polling": {"host_gap": "0s"},
            "feeds": tuple(
                {"id": f"feed-{number}", "url": url, "own": True, "allow_private": ("127.0.0.0/8",)}
                for number, url in enumerate(urls)
            ),
            "routes": ({"to": "console"},),
        }
    )


class Polls:
    """Polls every feed once in a round, by the very loop of `run`."""

    def __init__(self, scene: Scene, parser: GuardedParser | None = None) -> None:
        self._scene = scene
        self.clock = ShiftedClock()
        self.parser = parser or GuardedParser()
        self.store: Store
        self.intake: Intake
        self._fetcher: HttpFetcher
        self._woken = asyncio.Event()
        self._events: Counter[str] = Counter()
        self._left = 0

    async def open(self) -> None:
        settings = settings_for(self._scene.urls)
        self.store = await open_store(self._scene.state, exclusive=True)
        context = ssl.create_default_context(cafile=self._scene.ca_file)
        keep_alive = timedelta(0) if self._scene.close else FetchLimits().keep_alive
        self._fetcher = HttpFetcher(
            clock=self.clock, contact="https://bench.example", limits=FetchLimits(keep_alive=keep_alive), tls=context
        )
        self.intake = Intake(
            store=self.store,
            fetcher=self._fetcher,
            parser=self.parser,
            clock=self.clock,
            gate=HostGate(self.clock, gap=settings.polling.host_gap),
            routes=Routing(self.store, settings.to_routes()).all_routes,
            observe=self._polled,
            wake=self._woken.set,
            polls=self._scene.at_once,
        )
        feeds = settings.to_feeds()
        others = [replace(feeds[0], id=FeedId(f"other-{number}")) for number in range(self._scene.rows - len(feeds))]
        await self.store.sync_feeds([*feeds, *others], now=self.clock.now())
        if others:
            await self.store._db.write(_put_off)
        await self.store.sync_destinations(destinations_of(settings), now=self.clock.now())

    async def round(self) -> Counter[str]:
        """Poll all of them; return how it went, by outcome."""
        self.clock.shift += LATER
        self._events.clear()
        self._left = len(self._scene.urls)
        async with asyncio.timeout(PATIENCE):
            while self._left > 0:
                self._woken.clear()
                await self.intake.poll_due()
                await self._tick()
        return Counter(self._events)

    async def _tick(self) -> None:
        try:
            async with asyncio.timeout(1):
                await self._woken.wait()
        except TimeoutError:
            return

    async def close(self) -> None:
        await self.intake.stop(timedelta(seconds=5))
        await self.parser.close()
        await self._fetcher.close()
        await self.store.close(now=self.clock.now())

    def _polled(self, event: PollEvent) -> None:
        self._events[event.outcome] += 1
        self._events["entries"] += event.new
        self._events["owed"] += event.owed
        self._left -= 1
        if event.error is not None:
            self._events[f"error: {event.error}"] += 1
        if self._left == 0:
            self._woken.set()


def _put_off(tx: Tx) -> int:
    return tx.run("UPDATE feed SET due_at = due_at + 10 * 365 * 86400000 WHERE id LIKE 'other-%'")
