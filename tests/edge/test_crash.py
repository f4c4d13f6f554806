"""A named crash point kills the process at the passage that was asked for, and only there."""

import signal
import subprocess
import sys

import aiohttp
import pytest
from aiohttp import web

from bot import crash
from bot.core.errors import ConfigError

PASSER = """
import os, sys
from bot import crash
crash.arm(os.environ)
for number in range(1, 5):
    crash.point("poll.headers")
    crash.point("poll.body")
    print(number, flush=True)
"""


def passages(wish: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", PASSER], env={crash.VARIABLE: wish}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.split()[-1] if done.stdout else "0"


def test_there_are_24_points() -> None:
    assert len(set(crash.POINTS)) == len(crash.POINTS) == 24


@pytest.mark.parametrize(
    ("wish", "code", "last"),
    [
        ("", 0, "4"),
        ("poll.body", -signal.SIGKILL, "0"),
        ("poll.body:1", -signal.SIGKILL, "0"),
        ("poll.body:3", -signal.SIGKILL, "2"),
        ("poll.body:9", 0, "4"),
        ("poll.parsed:1", 0, "4"),
    ],
)
def test_the_process_dies_at_the_asked_passage_of_the_asked_point(wish: str, code: int, last: str) -> None:
    assert passages(wish) == (code, last)


@pytest.mark.parametrize("wish", ["poll.nowhere", "poll.body:0", "poll.body:x", "poll.body:-1", ":1"])
def test_a_wish_that_means_nothing_is_refused_at_the_start(wish: str) -> None:
    with pytest.raises(ConfigError, match="the points are"):
        crash.arm({crash.VARIABLE: wish})


def test_nothing_is_traced_unless_armed() -> None:
    crash.arm({})
    assert crash.trace_points("send") == []


async def test_a_post_passes_all_points_of_a_request_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    passed: list[str] = []
    app = web.Application()
    app.add_routes([web.post("/", answer)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    crash.arm({crash.VARIABLE: "send.body_read:1000"})
    monkeypatch.setattr(crash, "_pass", passed.append)
    try:
        async with aiohttp.ClientSession(trace_configs=crash.trace_points("send")) as session:
            port = runner.addresses[0][1]
            for _ in range(2):
                async with session.post(f"http://127.0.0.1:{port}/", json={"a": 1}) as response:
                    await response.read()
    finally:
        crash.arm({})
        await runner.cleanup()
    moments = ["before_connect", "connected", "mid_body", "body_written", "headers", "body_read"]
    assert passed == [f"send.{moment}" for moment in moments] * 2
