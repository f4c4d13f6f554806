"""The servers run as their own process, steered and read from outside, and their log outlives them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.servers.faults import Json
from tests.servers.journal import read_journal

ROOT = Path(__file__).parents[2]
ALL = ("--slack", "0", "--discord", "0", "--smtp", "0", "--feeds", "0", "--hooks", "0", "--proxy", "slack")


class Oracle:
    def __init__(self, process: subprocess.Popen[str], log: Path, session: aiohttp.ClientSession) -> None:
        assert process.stdout is not None
        self.process = process
        self.log = log
        self.session = session
        self.at: Json = json.loads(process.stdout.readline())

    async def control(self, method: str, path: str, body: Json | None = None) -> Json:
        async with self.session.request(method, self.at["control"] + path, json=body) as answer:
            assert answer.status == 200, await answer.text()
            return dict(await answer.json())

    async def post(self, text: str, server: str = "slack") -> Json:
        headers = {"Authorization": f"Bearer {self.at['slack']['bot_token']}"}
        body = {"channel": "C0OPS", "text": text}
        url = f"{self.at[server]['url']}/api/chat.postMessage"
        async with self.session.post(url, json=body, headers=headers) as answer:
            return dict(await answer.json())


@pytest.fixture
async def oracle(tmp_path: Path) -> AsyncIterator[Oracle]:
    log = tmp_path / "oracle.jsonl"
    command = [sys.executable, "-m", "tests.servers.run", *ALL, "--log", str(log)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        async with aiohttp.ClientSession() as session:
            yield Oracle(process, log, session)
        process.kill()


async def test_another_process_sets_faults_and_reads_messages(oracle: Oracle) -> None:
    await oracle.control("PUT", "/faults", {"slack": [{"kind": "rst", "store": True, "match": "chat.postMessage"}]})
    with pytest.raises(aiohttp.ClientError):
        await oracle.post("stored, not answered")
    assert (await oracle.post("answered"))["ok"]
    texts = [row["text"] for row in (await oracle.control("GET", "/messages?server=slack"))["slack"]]
    assert texts == ["stored, not answered", "answered"]


async def test_actions_change_the_world(oracle: Oracle) -> None:
    done = {"server": "slack", "action": "set_channel", "args": {"channel": "C0OPS", "archived": True}}
    await oracle.control("POST", "/do", done)
    assert (await oracle.post("x"))["error"] == "is_archived"
    cut = {"server": "slack-proxy", "action": "cut", "args": {"cuts": [{"side": "request", "at": 5}]}}
    await oracle.control("POST", "/do", cut)
    with pytest.raises(aiohttp.ClientError):
        await oracle.post("x", "slack-proxy")


async def test_the_log_outlives_a_kill(oracle: Oracle) -> None:
    await oracle.post("x")
    oracle.process.kill()
    oracle.process.wait()
    stored = [line for line in read_journal(oracle.log) if line["what"] == "stored"]
    assert [line["message"]["text"] for line in stored] == ["x"]


async def test_sigterm_ends_it_well(oracle: Oracle) -> None:
    oracle.process.send_signal(signal.SIGTERM)
    assert oracle.process.wait(10) == 0
