"""Pages that stay up to date: what a browser is told, when, and how many may listen."""

from __future__ import annotations

import asyncio
import time

import aiohttp
import pytest

from bot.clock import SystemClock
from bot.web.live import STREAMS
from tests.edge.web_bot import Bot, serve
from tests.edge.web_facts import FEED


def patient() -> Bot:
    """A bot in whose web waiting takes time."""
    return Bot(clock=SystemClock())


async def told(answer: aiohttp.ClientResponse) -> str:
    """Return the mark of the next event of a stream."""
    while line := (await answer.content.readline()).decode():
        if line.startswith("id: "):
            return line.removeprefix("id: ").strip()
    raise AssertionError("the stream ended")


async def test_an_open_page_is_told_of_a_change() -> None:
    async with serve(patient()) as (bot, client):
        async with client.get(f"{bot.url}/events?since={bot.live.mark}") as answer:
            assert answer.content_type == "text/event-stream"
            assert answer.headers["Cache-Control"] == "no-store"
            bot.live.changed()
            assert await told(answer) == bot.live.mark


async def test_what_changed_between_two_streams_is_told_by_the_next() -> None:
    async with serve(patient()) as (bot, client):
        loaded = bot.live.mark
        bot.live.changed()
        async with client.get(f"{bot.url}/events?since={loaded}") as answer:
            seen = await told(answer)
        bot.live.changed()
        async with client.get(f"{bot.url}/events?since={loaded}", headers={"Last-Event-ID": seen}) as answer:
            assert await told(answer) == bot.live.mark != seen
        for unknown in ("", "of-another-process-0"):
            async with client.get(f"{bot.url}/events", headers={"Last-Event-ID": unknown}) as answer:
                assert await told(answer) == bot.live.mark


async def test_a_page_that_has_seen_all_is_told_nothing_and_asks_again_after_a_while() -> None:
    async with serve() as (bot, client):  # in whose web waiting takes no time
        answer = await client.get(f"{bot.url}/events?since={bot.live.mark}")
        assert await answer.text() == "retry: 1000\n\n"


async def test_what_can_wait_is_told_by_the_next_stream_or_with_the_next_change() -> None:
    async with serve(patient()) as (bot, client):
        loaded = bot.live.mark
        async with client.get(f"{bot.url}/events?since={loaded}") as answer:
            bot.live.changed(can_wait=True)
            bot.live.changed()
            assert await told(answer) == bot.live.mark
        bot.live.changed(can_wait=True)
        async with client.get(f"{bot.url}/events?since={loaded}") as answer:
            assert await told(answer) == bot.live.mark


async def test_so_many_streams_and_no_more_and_one_that_closes_makes_room() -> None:
    async with serve(patient()) as (bot, client), aiohttp.ClientSession() as other:
        address = f"{bot.url}/events?since={bot.live.mark}"
        streams = [await client.get(address) for _ in range(STREAMS)]
        refused = await other.get(address)
        assert refused.status == 503
        assert refused.headers["Retry-After"] == "30"
        assert (await other.get(f"{bot.url}/")).status == 200
        streams[0].close()
        for _ in range(100):
            if (again := await other.get(address)).status == 200:
                break
            await asyncio.sleep(0.01)
        assert again.status == 200
        for one in (*streams, again):
            one.close()


async def test_a_stop_waits_for_no_stream() -> None:
    async with serve(patient()) as (bot, client):
        assert bot.running is not None
        answer = await client.get(f"{bot.url}/events?since={bot.live.mark}")
        began = time.monotonic()
        await bot.running.stop()
        assert await answer.text() == "retry: 1000\n\n"
        assert time.monotonic() - began < 2  # less than the stop's own patience


async def test_only_get_opens_a_stream() -> None:
    async with serve() as (bot, client):
        assert (await client.head(f"{bot.url}/events")).status == 405


LIVE = ["/", "/feeds", f"/feeds/{FEED}", "/destinations", "/inbox"]


@pytest.mark.parametrize("path", [*LIVE, "/search", "/deliveries"])
async def test_a_script_may_run_where_there_is_one_and_ask_nobody_but_us(path: str) -> None:
    async with serve() as (bot, client):
        answer = await client.get(bot.url + path)
        text, policy = await answer.text(), answer.headers["Content-Security-Policy"]
        assert ("script-src 'self'; connect-src 'self'" in policy) is (path in LIVE)
        assert (f'data-since="{bot.live.mark}"' in text) is (path in LIVE)
        assert "unsafe" not in policy
