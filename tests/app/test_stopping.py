"""How the loops end: whoever waits for somebody outside keeps nobody else from it."""

import asyncio
from pathlib import Path

import pytest

from bot.app.running import serve
from bot.app.ticking import Wakers
from bot.clock import SystemClock
from tests.app.test_reloading import running

PATIENCE = 20.0  # seconds, of a slow machine


async def test_a_stop_does_not_wait_for_a_hub_that_does_not_answer(tmp_path: Path) -> None:
    async with running(tmp_path / "config.toml") as (parts, _, _, _):
        wakers, stopping, asked = Wakers(SystemClock()), asyncio.Event(), asyncio.Event()

        async def ask_the_hub() -> None:
            asked.set()
            await asyncio.Event().wait()

        serving = asyncio.create_task(serve(parts, wakers, stopping, ask_the_hub))
        await asked.wait()
        stopping.set()
        wakers.wake()
        async with asyncio.timeout(PATIENCE):
            await serving


async def test_a_loop_that_fails_ends_the_others_and_is_told(tmp_path: Path) -> None:
    async with running(tmp_path / "config.toml") as (parts, _, _, _):

        async def fail() -> None:
            raise ZeroDivisionError

        async with asyncio.timeout(PATIENCE):
            with pytest.raises(ZeroDivisionError):
                await serve(parts, Wakers(SystemClock()), asyncio.Event(), fail)
