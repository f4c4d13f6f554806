"""Goals 12 and 15: what a message costs, and an entry that ten thousand wait for."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

from bench.contest import Outside
from bench.measuring import cpu_seconds
from bench.table import Row
from bot.app.parts import Observers, Parts, built, opened
from bot.app.ticking import TICK
from bot.clock import SystemClock
from bot.config.settings import Settings
from bot.core.model.delivery import Sent
from bot.core.model.entry import Entry, Key
from bot.core.model.feed import Feed, FeedId, FeedState
from bot.core.model.plan import FeedChange, IntakePlan, NewEntry
from bot.core.model.route import DestinationUid, Route
from bot.core.owing import deliveries_of
from bot.services.events import SendEvent

CHANNELS, EACH = 10, 50
FEED = Feed(id=FeedId("bench"), url="http://127.0.0.1:9/feed.xml", own=True)


def rows(world: Outside, *, many: int) -> Iterator[Row]:
    """Measure both; `many`: destinations of the fan-out."""
    world.facts()
    cpu, sent = asyncio.run(_messages(world))
    ms, seen = cpu / sent * 1000, len(world.facts()["posts"])
    yield Row(
        number="12",
        what="a Slack message, intent and record included",
        measured=f"{ms:.2f} ms CPU",
        bar="≤ 0.6 ms",
        held=ms <= 0.6 and seen == sent,
        note=f"{sent} messages to {CHANNELS} channels, {seen} arrived",
    )
    owed_s, sending_cpu, wall = asyncio.run(_fan_out(world, many))
    seen, share = len(world.facts()["posts"]), many / 10_000
    note = f"bars for {many:,} destinations; {wall:.0f} s by the clock, {seen:,} arrived"
    yield Row(
        number="15",
        what=f"1 entry to {many:,} destinations: owed in one transaction · CPU to send all",
        measured=f"{owed_s:.2f} s · {sending_cpu:.1f} s",
        bar=f"≤ {share:g} s · ≤ {8 * share:g} s",
        held=owed_s <= share and sending_cpu <= 8 * share and seen == many,
        note=note,
    )


async def _messages(world: Outside) -> tuple[float, int]:
    channels = [DestinationUid(f"slack:C{number:08}") for number in range(CHANNELS)]
    async with _sending(world, channels) as (parts, sent):
        for number in range(EACH):
            await _publish(parts, number, channels)
        before = cpu_seconds()
        await parts.outbox.drain()
        return cpu_seconds() - before, len(sent)


async def _fan_out(world: Outside, many: int) -> tuple[float, float, float]:
    channels = [DestinationUid(f"slack:C{number:08}") for number in range(many)]
    async with _sending(world, channels) as (parts, sent):
        before = cpu_seconds()
        await _publish(parts, 1, channels)
        owed = cpu_seconds() - before
        before, began = cpu_seconds(), time.monotonic()
        while len(sent) < many:
            await parts.outbox.send_due()
            await asyncio.sleep(TICK.total_seconds())
        return owed, cpu_seconds() - before, time.monotonic() - began


@asynccontextmanager
async def _sending(world: Outside, uids: list[DestinationUid]) -> AsyncIterator[tuple[Parts, list[SendEvent]]]:
    """The product's outbox over a new store, its pacing lifted by settings."""
    with tempfile.TemporaryDirectory(prefix="bench-delivery-") as folder:
        settings = Settings.model_validate(
            {
                "state": f"sqlite:///{folder}/bell.db",
                "slack": {"api_url": f"{world.http}/api/", "bot_token": "xoxb-bench"},
                "delivery": {"channel_gap": "0s", "slack_per_minute": 0, "max_new_single": 1_000_000},
            }
        )
        clock, sent = SystemClock(), list[SendEvent]()

        def note(event: SendEvent) -> None:
            if isinstance(event.result, Sent):
                sent.append(event)

        observers = Observers(polled=lambda _: None, sent=note)
        async with (
            opened(settings, clock, exclusive=True) as store,
            built(settings, clock, store, observers=observers, wake=lambda: None) as parts,
        ):
            await store.sync_feeds([FEED], now=clock.now())
            await store.sync_destinations(uids, now=clock.now())
            yield parts, sent
            await parts.outbox.stop(timedelta(seconds=10))


async def _publish(parts: Parts, number: int, to: list[DestinationUid]) -> None:
    """One poll that found one entry, for which every destination waits."""
    now = parts.clock.now()
    state = await parts.store.claim_feed(FEED.id, now=now, lease=timedelta(minutes=5))
    if state is None:
        raise RuntimeError("the feed is held by somebody else")
    await parts.store.commit_intake(_plan(state, number, to), urgent=True)


def _plan(state: FeedState, number: int, to: list[DestinationUid]) -> IntakePlan:
    now = state.next_poll_at
    entry = Entry(
        feed_id=FEED.id,
        feed_title="Bench",
        key=Key(sha256(str(number).encode()).digest()[:16]),
        guid=str(number),
        link=f"https://bench.example/{number}/",
        title=f"Post {number} about anycast",
        text="Words of a post. " * 20,
        tags=("BGP", "RoCE"),
        sort_at=now,
        first_seen_at=now,
        content_hash=str(number),
    )
    owed = deliveries_of(entry, FEED, [Route(name="routes[0]", to=tuple(to))], now=now, story=None, bundle=None)
    change = FeedChange(next_poll_at=now, ok=True, primed_at=now)
    change = replace(change, memory=state.memory)
    return IntakePlan(
        feed_no=state.no,
        epoch=state.epoch,
        at=now,
        change=change,
        entries=(NewEntry(entry=entry, hashes=(entry.key,), deliveries=owed),),
    )
