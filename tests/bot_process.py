"""The real process, for tests: a folder with a configuration, and `python -m bot` started in it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> object:
        return json.loads(self.out)


class BotProcess:
    """Runs commands of feedbell in `folder`, with `config` as its config.toml and nothing of our own environment."""

    def __init__(
        self, folder: Path, config: str, environ: Mapping[str, str] | None = None, *, module: str = "bot"
    ) -> None:
        self.folder = folder
        self.module = module
        self.environ = dict(environ or {})
        self._running: asyncio.subprocess.Process | None = None
        self.configure(config)

    def configure(self, config: str) -> None:
        (self.folder / "config.toml").write_text(config, encoding="utf-8")

    @property
    def state(self) -> Path:
        return self.folder / "data" / "feedbell.db"

    async def call(
        self, *args: str, stdin: str | None = None, stdout: IO[bytes] | None = None, seconds: float = 60
    ) -> Finished:
        """Run one command to its end; what it prints goes to `stdout`, or is kept."""
        process = await self._spawn(*args, stdin=stdin is not None, stdout=stdout)
        text = None if stdin is None else stdin.encode()
        try:
            out, err = await asyncio.wait_for(process.communicate(text), seconds)
        except TimeoutError:
            process.kill()
            out, err = await process.communicate()
            raise AssertionError(
                f"{args} did not end in {seconds} s:\n{(out or b'').decode()}\n{err.decode()}"
            ) from None
        return Finished(code=process.returncode or 0, out=(out or b"").decode(), err=err.decode())

    async def once(self, *, expect: int | None = 0) -> Finished:
        """One round: poll every feed, deliver what is due."""
        done = await self.call("once")
        assert expect is None or done.code == expect, f"once ended with {done.code}:\n{done.out}\n{done.err}"
        return done

    async def start(self) -> None:
        """Start `run`; its output goes to run.log."""
        with (self.folder / "run.log").open("ab") as log:
            self._running = await asyncio.create_subprocess_exec(
                sys.executable, "-m", self.module, "run", cwd=self.folder, env=self._environ(), stdout=log, stderr=log
            )

    async def stop(self, *, seconds: float = 15) -> int:
        """Ask politely; return the exit code."""
        return await self._end(signal.SIGTERM, seconds)

    async def kill(self) -> None:
        await self._end(signal.SIGKILL, 10)

    @property
    def pid(self) -> int:
        assert self._running is not None
        return self._running.pid

    @property
    def is_running(self) -> bool:
        return self._running is not None and self._running.returncode is None

    async def wait(self, seconds: float = 30) -> int:
        """Wait for `run` to end by itself."""
        assert self._running is not None
        return await asyncio.wait_for(self._running.wait(), seconds)

    @property
    def log(self) -> str:
        path = self.folder / "run.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    async def _end(self, number: signal.Signals, seconds: float) -> int:
        assert self._running is not None
        if self._running.returncode is None:
            self._running.send_signal(number)
        code = await asyncio.wait_for(self._running.wait(), seconds)
        self._running = None
        return code

    async def _spawn(self, *args: str, stdin: bool, stdout: IO[bytes] | None) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            self.module,
            *args,
            cwd=self.folder,
            env=self._environ(),
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if stdout is None else stdout,
            stderr=asyncio.subprocess.PIPE,
        )

    def _environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "SSL_CERT_FILE") if name in os.environ}
        return {**kept, "PYTHONPATH": str(ROOT), "HOME": str(self.folder), "COLUMNS": "120", **self.environ}


async def eventually(check: object, *, seconds: float = 20, every: float = 0.05) -> None:
    """Wait until `check()` is true; for what another process does."""
    assert callable(check)
    for _ in range(int(seconds / every)):
        if check():
            return
        await asyncio.sleep(every)
    raise AssertionError(f"not within {seconds} s: {check}")
