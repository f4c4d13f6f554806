"""The image that the container stage has built, run as deploy/ runs it: read-only, without rights, as nobody."""

from __future__ import annotations

import asyncio
import json
import re
import time
from ast import literal_eval
from pathlib import Path

import pytest
from aiohttp import ClientSession

from tests.bot_process import eventually
from tests.deploy.container import BASE, IMAGE, PLAIN, POKE, Container, has_image, podman
from tests.process.station import rss
from tests.servers.feeds import Document, FeedServer
from tests.servers.slack import SlackServer

ROOT = Path(__file__).parents[2]
OVER_BASE = 150_000_000  # bytes
pytestmark = pytest.mark.usefixtures("image")
PROBE = """
import os, importlib.metadata as m
def refused(path):
    try: open(path, "w")
    except OSError as error: return error.strerror
    return "written"
print({"uid": os.getuid(), "app": refused("/app/x"), "root": refused("/x"), "etc": refused("/etc/x"),
       "tmp": refused("/tmp/x"), "data": refused("/data/x"),
       "caps": [l.split()[1] for l in open("/proc/self/status") if l.startswith("CapEff")][0],
       "privs": [l.split()[1] for l in open("/proc/self/status") if l.startswith("NoNewPrivs")][0]})
"""
PACKAGES = "import importlib.metadata as m; print(sorted((d.name, d.version) for d in m.distributions()))"


async def test_it_tells_a_post_with_no_right_that_it_does_not_need(container: Container) -> None:
    async with FeedServer() as feeds, SlackServer() as slack:
        url = feeds.serve("/blog.xml", Document(body=rss("1")))
        container.start(
            f'[slack]\napi_url = "{slack.api_url}"\n'
            f'[[feeds]]\nid = "blog"\nurl = "{url}"\nown = true\nallow_private = ["127.0.0.0/8"]\n'
            '[[routes]]\nto = "slack:#general"\n'
        )
        await container.started()
        await eventually(lambda: feeds.hits("/blog.xml") == 1)
        await asyncio.to_thread(podman, "healthcheck", "run", container.name)
        found = await asyncio.to_thread(container.python, PROBE)
        refusal = "Read-only file system"
        assert found == {
            "uid": 65532,
            **dict.fromkeys(("app", "root", "etc"), refusal),
            **dict.fromkeys(("tmp", "data"), "written"),
            "caps": "0" * 16,
            "privs": "1",
        }
        feeds.serve("/blog.xml", Document(body=rss("1", "2")))
        headers = {"Authorization": f"Bearer {POKE}"}
        async with ClientSession() as session:
            await session.post(f"http://127.0.0.1:{container.port}/hooks/poke/blog", headers=headers)
        await eventually(lambda: len(slack.in_channel("#general")) == 1)
        began = time.monotonic()
        await asyncio.to_thread(podman, "stop", "--time", "15", container.name)
        assert time.monotonic() - began < 10
        assert podman("inspect", "--format", "{{.State.ExitCode}} {{.State.OOMKilled}}", container.name) == "0 false"
        log = podman("logs", container.name, errors_too=True)
        assert "Traceback" not in log
        assert "xoxb-" not in log


def test_the_image_holds_what_the_lock_says_and_nothing_that_installs() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = {_plain(name): version for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", lock, re.MULTILINE)}
    listed = literal_eval(podman("run", "--rm", *PLAIN, "--entrypoint", "python3", IMAGE, "-c", PACKAGES))
    found = {_plain(name): version for name, version in listed if name != "feedbell"}
    assert {name: version for name, version in found.items() if pinned.get(name) != version} == {}
    assert len(found) > 20


def _plain(name: str) -> str:
    return re.sub(r"[._-]+", "-", name).lower()


def test_the_image_is_small(capsys: pytest.CaptureFixture[str]) -> None:
    if not has_image(BASE):
        pytest.skip(f"there is no local image {BASE} to compare with (name another in BASE)")
    image, base = (int(podman("image", "inspect", "--format", "{{.Size}}", name)) for name in (IMAGE, BASE))
    with capsys.disabled():
        print(f"\nimage {image / 1e6:.0f} MB, base {base / 1e6:.0f} MB, over it {(image - base) / 1e6:.0f} MB")
    assert image - base <= OVER_BASE


def test_no_secret_and_no_tool_of_ours_is_in_a_layer() -> None:
    facts = json.loads(podman("image", "inspect", IMAGE))[0]["Config"]
    assert facts["User"] == "65532:65532"
    assert facts["Entrypoint"] == ["feedbell"]
    assert facts["Cmd"] == ["run"]
    assert not [name for name in facts["Env"] if re.search("TOKEN|PASSWORD|SECRET", name)]
