"""Plays rounds of polls for whoever asks by the protocol."""

import asyncio
import time

from bench.measuring import percentile
from bench.polling import Polls, Scene
from bench.protocol import serve
from bot.app.running import settle_in, share_memory

PROBE = 0.005  # seconds between two looks at the loop


def play(*, feeds: int, base: str, close: bool, state: str, rows: int = 0) -> None:
    started = time.perf_counter()
    share_memory()
    urls = [f"{base}/{number}.xml" for number in range(feeds)]
    with asyncio.Runner() as runner:
        polls = runner.run(_opened(Scene(urls=urls, state=state, close=close, rows=rows)))
        serve(
            lambda command: runner.run(_round(polls, probe=bool(command.get("probe")))),
            helpers=lambda: (polls.parser.pid,) if polls.parser.pid is not None else (),
            setup_s=time.perf_counter() - started,
        )
        runner.run(polls.close())


async def _round(polls: Polls, *, probe: bool) -> dict[str, object]:
    """Play a round; with `probe` also measure how late the event loop is meanwhile, in ms."""
    if not probe:
        return {"status": await polls.round()}
    delays: list[float] = []
    probing = asyncio.create_task(_probe(delays))
    status = await polls.round()
    probing.cancel()
    return {"status": status, "delay_p99_ms": percentile(delays, 0.99) * 1000, "delay_max_ms": max(delays) * 1000}


async def _probe(delays: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(PROBE)
        delays.append(time.perf_counter() - began - PROBE)


async def _opened(scene: Scene) -> Polls:
    polls = Polls(scene)
    await polls.open()
    settle_in()
    return polls
