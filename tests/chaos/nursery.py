"""Starts bots quickly: one process that has imported feedbell, and forks a process of its own for each start.

A test that kills thousands of bots can't pay for thousands of interpreters. What runs in the fork is the command line
itself, as `python -m bot` runs it, with an environment, a folder and a log of its own. Kills during start-up use real
interpreters instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import select
import signal
import sys
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from tests.chaos.sick_disk import sicken
from tests.servers.faults import Json

ROOT = Path(__file__).parent.parent.parent


class Child:
    """One start of feedbell."""

    def __init__(self, pid: int, ended: asyncio.Future[int]) -> None:
        self.pid = pid
        self._ended = ended

    @property
    def status(self) -> int | None:
        """The exit code, a signal's number below zero; None while it runs."""
        return self._ended.result() if self._ended.done() else None

    def signal(self, number: signal.Signals) -> None:
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def wait(self, seconds: float = 60) -> int:
        return await asyncio.wait_for(asyncio.shield(self._ended), seconds)


class Nursery:
    """`async with Nursery() as nursery: child = await nursery.start(folder, ["run"], environ)`."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._born: dict[int, asyncio.Future[Child]] = {}
        self._living: dict[int, asyncio.Future[int]] = {}
        self._number = 0
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "COVERAGE_PROCESS_START") if name in os.environ}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.chaos.nursery",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
            env=kept,
        )
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._reading is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    async def start(
        self,
        folder: Path,
        arguments: list[str],
        environ: dict[str, str],
        log: Path,
        *,
        lease: float = 0,
        user: int = 0,
        sick: int = 0,
    ) -> Child:
        """`lease`: seconds in the place of the two minutes; `user`: another user's number, to whom rights apply;
        `sick`: the seed of a disk on which commits fail."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._number += 1
        self._born[self._number] = asyncio.get_running_loop().create_future()
        wish = {"no": self._number, "folder": str(folder), "args": arguments, "env": environ, "log": str(log)}
        wish |= {"lease": lease, "user": user, "sick": sick}
        self._process.stdin.write(json.dumps(wish).encode() + b"\n")
        return await asyncio.wait_for(self._born[self._number], 30)

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            told: Json = json.loads(line)
            if "born" in told:
                ended = self._living[told["pid"]] = asyncio.get_running_loop().create_future()
                self._born.pop(told["born"]).set_result(Child(told["pid"], ended))
            else:
                self._living.pop(told["pid"]).set_result(told["ended"])
        for waiting in self._born.values():
            waiting.set_exception(RuntimeError("the nursery is gone; its complaint stands in stderr"))


# --- the other process ----------------------------------------------------------------------------------------------


def serve() -> None:
    """Fork for each line on stdin, tell of each end; stdin's end kills whoever is left."""
    _import_everything()
    gc.freeze()
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    living: set[int] = set()
    rest = b""
    while True:
        ready, _, _ = select.select([0, readable], [], [])
        if readable in ready:
            os.read(readable, 4096)
            _reap(living)
        if 0 in ready:
            chunk = os.read(0, 65_536)
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                living.add(_fork(json.loads(line)))
    for pid in living:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _import_everything() -> None:
    """What any command imports, so that no child must: one that may not read the library could not."""
    "example.org".encode("idna")  # a codec is imported when it is first used

    import aiosmtplib  # noqa: F401
    import apscheduler.schedulers.asyncio
    import apscheduler.triggers.interval  # noqa: F401
    import psycopg  # noqa: F401

    import bot.app.running
    import bot.cli.group
    import bot.cli.managing
    import bot.cli.running
    import bot.cli.standing
    import bot.clock
    import bot.notifiers.email
    import bot.store.postgres  # noqa: F401


def _say(**told: object) -> None:
    os.write(1, json.dumps(told).encode() + b"\n")


def _reap(living: set[int]) -> None:
    while living:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        living.discard(pid)
        _say(pid=pid, ended=os.waitstatus_to_exitcode(status))


def _fork(wish: Json) -> int:
    pid = os.fork()
    if pid == 0:
        _be_feedbell(wish)
    _say(born=wish["no"], pid=pid)
    return pid


def _be_feedbell(wish: Json) -> NoReturn:
    code = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        log = os.open(wish["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.closerange(3, 64)
        os.chdir(wish["folder"])
        os.environ.clear()
        os.environ.update(wish["env"])
        if wish["lease"]:
            _shorten_leases(wish["lease"])
        if wish["sick"]:
            sicken(wish["sick"])
        if wish["user"]:
            os.setgid(wish["user"])
            os.setuid(wish["user"])
        code = _call(wish["args"])
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _shorten_leases(seconds: float) -> None:
    """Nobody waits two minutes for each pause; all else about a lease stays as it is."""
    import bot.services.intake
    import bot.services.outbox

    bot.services.intake.LEASE = bot.services.outbox.LEASE = timedelta(seconds=seconds)


def _call(arguments: list[str]) -> int:
    from bot.cli.group import main

    try:
        main(arguments, prog_name="feedbell")
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001 - as an interpreter would
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


if __name__ == "__main__":
    serve()
