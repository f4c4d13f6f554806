"""The image, and a container of it started as deploy/ starts it: read-only, without rights, as nobody."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aiohttp import ClientError, ClientSession

IMAGE = "localhost/feedbell:test"
BASE = os.environ.get("BASE", "python:3.13-slim")
MEMORY = 256 * 1024 * 1024
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
PLAIN = ("--network", "host", "--no-healthcheck", *LIMITS)
POKE = "poke-token-of-the-test"


def podman(*arguments: str, check: bool = True, errors_too: bool = False) -> str:
    runtime = ["--runtime", "runc"] if shutil.which("runc") else []
    done = subprocess.run(["podman", *runtime, *arguments], capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, f"podman {arguments}:\n{done.stdout}\n{done.stderr}"
    return (done.stdout + done.stderr * errors_too).strip()


def has_image(name: str) -> bool:
    return subprocess.run(["podman", "image", "exists", name], check=False).returncode == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    name: str
    folder: Path
    port: int

    @property
    def config(self) -> Path:
        return self.folder / "config"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def pid(self) -> int:
        """The bot's process, as this machine numbers it."""
        return int(podman("inspect", "--format", "{{.State.Pid}}", self.name))

    def start(self, text: str, *options: str, environ: Mapping[str, str] | None = None) -> None:
        self.config.mkdir()
        self.data.mkdir()
        (self.config / "config.toml").write_text(text, encoding="utf-8")
        settings = {
            "FEEDBELL_STATE": "sqlite:////data/feedbell.db",
            "FEEDBELL_HTTP__POKE_TOKEN": POKE,
            "FEEDBELL_HTTP__LISTEN": f"127.0.0.1:{self.port}",
            "FEEDBELL_SLACK__BOT_TOKEN": "xoxb-test-bot",
            **(environ or {}),
        }
        podman(
            *("run", "--detach", "--name", self.name, "--network", "host", "--read-only", "--tmpfs", "/tmp"),
            *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "65532:65532"),
            *(*LIMITS, "--memory", str(MEMORY)),
            *("--volume", f"{self.data}:/data:U", "--volume", f"{self.config}:/config:ro"),
            *(part for name, value in settings.items() for part in ("--env", f"{name}={value}")),
            *(*options, IMAGE),
        )

    def python(self, code: str) -> object:
        return literal_eval(podman("exec", self.name, "python3", "-c", code))

    async def started(self) -> None:
        """Wait until it says that it is alive."""
        for _ in range(200):
            if await self._is_healthy():
                return
            await asyncio.sleep(0.1)
        raise AssertionError(podman("logs", self.name, errors_too=True))

    async def _is_healthy(self) -> bool:
        try:
            async with ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}/healthz") as answer:
                return answer.status == 200
        except ClientError:
            return False
