"""Plays rounds of polls for whoever asks by the protocol."""

import asyncio
import time

from bench.polling import Polls, Scene
from bench.protocol import serve


def play(*, feeds: int, base: str, close: bool, state: str) -> None:
    started = time.perf_counter()
    urls = [f"{base}/feedbell/{number}.xml" for number in range(feeds)]
    with asyncio.Runner() as runner:
        polls = runner.run(_opened(Scene(urls=urls, state=state, close=close)))
        serve(
            lambda: {"status": runner.run(polls.round())},
            helpers=lambda: (polls.parser.pid,) if polls.parser.pid is not None else (),
            setup_s=time.perf_counter() - started,
        )
        runner.run(polls.close())


async def _opened(scene: Scene) -> Polls:
    polls = Polls(scene)
    await polls.open()
    return polls
