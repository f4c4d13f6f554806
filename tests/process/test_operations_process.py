"""How the process starts, stops and refuses to start."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.bot_process import eventually
from tests.process.station import Station
from tests.servers.faults import Fault


async def sending_slowly(here: Station, fault: Fault, *titles: str) -> None:
    """Start, publish, and return while the first message is on its way."""
    here.follow("blog", "0")
    await here.started()
    here.slack.faults.add(fault)
    here.publish("blog", "0", *titles)
    before = len(here.slack.requests)
    await here.poll_again()
    await eventually(lambda: any("chat.postMessage" in one.path for one in here.slack.requests[before:]))


async def test_a_second_process_on_one_state_names_the_lock_and_its_holder(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        for command in ("run", "once"):
            second = await here.bot.call(command)
            assert second.code == 75, second.err
            [line] = [line for line in second.err.splitlines() if "lock" in line]
            assert str(here.bot.state) + ".lock" in line or "feedbell.db.lock" in line
            assert f"process {here.bot.pid}" in line
            assert "Traceback" not in second.err
        assert (await here.bot.call("latest")).code == 0
        assert (await here.ask("GET", "/healthz")).status == 200


def _waits_for_no_signal(pid: int) -> bool:
    """Whether the process dies of no SIGHUP: it ignores it, or has its own way with it."""
    masks = dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "Sig" in line)
    return bool((int(masks["SigIgn"], 16) | int(masks["SigCgt"], 16)) & 1)


async def test_a_reload_that_is_asked_for_during_the_start_does_not_end_it(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        here.configure()
        await here.bot.start()
        await eventually(lambda: _waits_for_no_signal(here.bot.pid))
        for _ in range(200):
            os.kill(here.bot.pid, signal.SIGHUP)
            if "app.running: running" in here.bot.log:
                break
            await asyncio.sleep(0.01)
        await here.entry_count(1)
        assert (await here.ask("GET", "/healthz")).status == 200


async def test_a_stop_during_slow_sends_loses_and_doubles_nothing(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        titles = [str(number) for number in range(1, 9)]
        await sending_slowly(here, Fault(kind="delay", match="chat.postMessage", seconds=2, times=None), *titles)
        began = time.monotonic()
        assert await here.bot.stop() == 0
        assert time.monotonic() - began < 10
        assert "Traceback" not in here.bot.log
        assert len(here.titles()) < 8
        here.slack.faults.clear()
        await here.start()
        await here.told(*titles)


async def test_a_send_that_hangs_is_left_for_the_look_up(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        await sending_slowly(here, Fault(kind="hang", match="chat.postMessage", store=True), "1")
        began = time.monotonic()
        assert await here.bot.stop() == 0
        assert time.monotonic() - began < 10
        await here.start()
        await eventually(lambda: "found" in here.bot.log)
        await here.told("1")


async def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        await sending_slowly(here, Fault(kind="hang", match="chat.postMessage"), "1")
        pid = here.bot.pid
        os.kill(pid, signal.SIGTERM)
        await asyncio.sleep(0.5)
        assert here.bot.is_running
        began = time.monotonic()
        os.kill(pid, signal.SIGTERM)
        assert await here.bot.wait(5) == -signal.SIGTERM
        assert time.monotonic() - began < 2


async def test_a_port_that_is_taken_is_one_clear_line(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        with socket.create_server(("127.0.0.1", here.port)):
            here.follow("blog", "1")
            here.configure()
            done = await here.bot.call("run")
        assert done.code == 75
        assert "Traceback" not in done.err
        [line] = [line for line in done.err.splitlines() if "cannot listen" in line]
        assert line.endswith(
            f"cannot listen on 127.0.0.1:{here.port}: address already in use; choose another http.listen"
        )


async def test_health_of_a_bot_that_does_not_run_says_so_in_one_line(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.configure()
        done = await here.bot.call("health")
    assert (done.code, done.err) == (
        1,
        f"no answer from 127.0.0.1:{here.port}: connection refused; is `feedbell run` running?\n",
    )


async def test_health_answers_within_five_seconds_of_the_start(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        here.configure()
        await here.bot.start()

        async def healthy() -> bool:
            return "ok" in await here.page("/healthz")

        await here.becomes(healthy, seconds=5)
        assert (await here.bot.call("health")).code == 0
        assert await here.bot.stop() == 0
        down = await here.bot.call("health")
        assert down.code == 1
        assert down.err.strip() or down.out.strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_an_idle_bot_stops_in_a_moment(tmp_path: Path, number: signal.Signals) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        os.kill(here.bot.pid, number)
        assert await here.bot.wait(5) == 0
        assert "stopped" in here.bot.log
