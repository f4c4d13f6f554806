"""The parser port: hands documents to the worker process one by one, and outlives whatever happens to it."""

import asyncio
import fcntl
import logging
import math
import os
import pickle
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Final

import bot
from bot.core.errors import NotAFeed, ParserFailed
from bot.core.model.entry import Key, ParsedFeed
from bot.parser.limits import DEFAULT_LIMITS, ParseLimits
from bot.parser.wire import HEAD, Answer, Question, ask, to_answer

log = logging.getLogger(__name__)

# All that the worker is told of our environment, which holds tokens.
_KEPT_VARIABLES: Final = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT")
_BUFFER: Final = 1 << 20
_ENDING: Final = 2.0  # seconds that a worker whose pipe broke is given to end by itself
_LARGE: Final = 1 << 20  # bytes of an answer from which reading it would hold up the loop

# What an answer can do other than arrive.
_BROKEN: Final = (OSError, asyncio.IncompleteReadError, pickle.UnpicklingError, ValueError, TypeError, EOFError)


class GuardedParser:
    """Implements ports.Parser.

    The worker starts with the first document, and ends when there was none for a while. Documents wait
    in order; one that kills the worker fails alone.
    """

    def __init__(self, limits: ParseLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._turn = asyncio.Lock()
        self._worker: Process | None = None
        self._retiring: asyncio.TimerHandle | None = None
        self.killed = 0  # workers lost to a document, for the metrics

    def configure(self, limits: ParseLimits) -> None:
        """Go by these from the next worker on."""
        self._limits = limits

    @property
    def pid(self) -> int | None:
        """The worker's process, while there is one."""
        return self._worker.pid if self._worker is not None and self._worker.returncode is None else None

    async def parse(self, body: bytes, *, url: str, content_type: str | None, listed: dict[bytes, Key]) -> ParsedFeed:
        question = Question(body=body, url=url, content_type=content_type, listed=listed)
        async with self._turn:
            answer = await self._ask(*ask(question))
        if answer.feed is not None:
            return answer.feed
        if answer.not_a_feed is not None:
            raise NotAFeed(answer.not_a_feed)
        raise ParserFailed(answer.failed or "the parser gave no answer")

    async def close(self) -> None:
        """End the worker. A document it still reads fails."""
        self._cancel_retirement()
        await self._dismiss()

    async def _ask(self, head: bytes, document: bytes) -> Answer:
        self._cancel_retirement()
        worker = await self._ready_worker()
        is_done = False
        try:
            async with asyncio.timeout(self._limits.wall.total_seconds()):
                answer = await self._converse(worker, head, document)
            is_done = True
            if answer.failed is not None and answer.is_last:
                return self._lost(answer.failed, kind="ParserFailed")
        except TimeoutError:
            return self._lost("it took too long to parse")
        except _BROKEN as error:
            return self._lost(await _last_sign(worker), kind=type(error).__name__)
        finally:
            # Also when the caller gave up: whatever comes out of this worker now belongs to no later document.
            if not is_done or answer.is_last:
                await self._dismiss()
        self._retiring = asyncio.get_running_loop().call_later(self._limits.idle.total_seconds(), self._retire)
        return answer

    async def _converse(self, worker: Process, head: bytes, document: bytes) -> Answer:
        if worker.stdin is None or worker.stdout is None:
            raise EOFError
        with suppress(ConnectionError):  # a worker that ends before it has read all may have said why
            worker.stdin.write(head)
            for start in range(0, len(document), _BUFFER):  # at one go the transport would copy it all
                worker.stdin.write(document[start : start + _BUFFER])
                await worker.stdin.drain()
        length = int.from_bytes(await worker.stdout.readexactly(HEAD), "big")
        if length > self._limits.answer:
            raise ValueError("too long an answer")
        packed = await worker.stdout.readexactly(length)
        return await asyncio.to_thread(to_answer, packed) if length > _LARGE else to_answer(packed)

    def _lost(self, reason: str, *, kind: str = "TimeoutError") -> Answer:
        self.killed += 1
        log.warning("parse worker lost", extra={"reason": reason, "error": kind})
        return Answer(failed=reason)

    async def _ready_worker(self) -> Process:
        worker = self._worker
        if worker is not None and (worker.returncode is not None or worker.stdin is None or worker.stdin.is_closing()):
            await self._dismiss()
        if self._worker is None:
            self._worker = await self._start()
        return self._worker

    async def _start(self) -> Process:
        limits = self._limits
        numbers = (math.ceil(limits.cpu.total_seconds()), limits.memory, limits.grown, os.getpid())
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        environment["PYTHONPATH"] = str(Path(bot.__file__).parents[1])
        worker = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # the folder we were started in may hold anything
            "-m",
            "bot.parser.worker",
            *map(str, numbers),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=environment,
            limit=_BUFFER,
        )
        _widen(worker)
        return worker

    def _cancel_retirement(self) -> None:
        if self._retiring is not None:
            self._retiring.cancel()
            self._retiring = None

    def _retire(self) -> None:
        """Let an idle worker end: it does when its pipe ends."""
        self._retiring = None
        if self._worker is not None and self._worker.stdin is not None:
            self._worker.stdin.close()

    async def _dismiss(self) -> None:
        worker, self._worker = self._worker, None
        if worker is None:
            return
        with suppress(ProcessLookupError):
            worker.kill()
        await asyncio.shield(worker.wait())


def _widen(worker: Process) -> None:
    """Let a whole document pass at once: each stop in between wakes both processes."""
    transport = worker._transport  # type: ignore[attr-defined]
    for number in (0, 1):
        pipe = transport.get_pipe_transport(number)
        with suppress(OSError, AttributeError):  # a socket, or a system that has no such call
            fcntl.fcntl(pipe.get_extra_info("pipe"), fcntl.F_SETPIPE_SZ, _BUFFER)


async def _last_sign(worker: Process) -> str:
    """Say how the worker ended; it is ending, or has.

    Killed at once, it could lose its exit code: subprocess reaps a dead child before it signals it, and
    asyncio's watcher then finds none.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_ENDING):
            await worker.wait()
    with suppress(ProcessLookupError):
        worker.kill()
    code = await worker.wait()
    if code == -signal.SIGXCPU:
        return "it took too much CPU time to parse"
    return "the parse worker ended in the middle of it"
