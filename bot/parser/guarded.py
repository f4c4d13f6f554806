"""The parser port: hands documents to the worker process one by one, and outlives whatever happens to it."""

import asyncio
import logging
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from bot.core.errors import NotAFeed, ParserFailed
from bot.core.model.entry import Key, ParsedFeed
from bot.parser.limits import DEFAULT_LIMITS, ParseLimits
from bot.parser.process import WorkerProcess
from bot.parser.wire import Answer, Question

log = logging.getLogger(__name__)

T = TypeVar("T")

# What an answer can do other than arrive.
_BROKEN: Final = (OSError, EOFError, pickle.UnpicklingError, ValueError, TypeError)


class GuardedParser:
    """Implements ports.Parser.

    The worker starts with the first document, and ends when there was none for a while. Documents wait
    in order; one that kills the worker fails alone.
    """

    def __init__(self, limits: ParseLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._turn = asyncio.Lock()
        # One of our own: those of the loop may all wait for names that nobody can look up.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="parser")
        self._worker: WorkerProcess | None = None
        self._retiring: asyncio.TimerHandle | None = None
        self.killed = 0  # workers lost to a document, for the metrics

    def configure(self, limits: ParseLimits) -> None:
        """Go by these from the next worker on."""
        self._limits = limits

    @property
    def pid(self) -> int | None:
        """The worker's process, while there is one."""
        return self._worker.pid if self._worker is not None and self._worker.is_alive() else None

    async def parse(self, body: bytes, *, url: str, content_type: str | None, listed: dict[bytes, Key]) -> ParsedFeed:
        question = Question(body=body, url=url, content_type=content_type, listed=listed)
        async with self._turn:
            answer = await self._ask(question)
        if answer.feed is not None:
            return answer.feed
        if answer.not_a_feed is not None:
            raise NotAFeed(answer.not_a_feed)
        raise ParserFailed(answer.failed or "the parser gave no answer")

    async def close(self) -> None:
        """End the worker. A document it still reads fails."""
        self._cancel_retirement()
        await self._dismiss()
        self._thread.shutdown(wait=False)

    async def _ask(self, question: Question) -> Answer:
        self._cancel_retirement()
        worker = await self._ready_worker()
        is_fit = False
        try:
            async with asyncio.timeout(self._limits.wall.total_seconds()):
                answer = await self._aside(partial(worker.ask, question, at_most=self._limits.answer))
            is_fit = not answer.is_last
            if answer.failed is not None and answer.is_last:
                return self._lost(answer.failed, kind="ParserFailed")
        except TimeoutError:
            return self._lost("it took too long to parse")
        except _BROKEN as error:
            return self._lost(await self._aside(worker.last_sign), kind=type(error).__name__)
        finally:
            # Also when the caller gave up: whatever comes out of this worker now belongs to no later document.
            if not is_fit:
                await self._dismiss()
        self._retiring = asyncio.get_running_loop().call_later(self._limits.idle.total_seconds(), self._retire)
        return answer

    def _lost(self, reason: str, *, kind: str = "TimeoutError") -> Answer:
        self.killed += 1
        log.warning("parse worker lost", extra={"reason": reason, "error": kind})
        return Answer(failed=reason)

    async def _ready_worker(self) -> WorkerProcess:
        if self._worker is not None and not self._worker.is_alive():
            await self._dismiss()
        if self._worker is None:
            # Not in a thread: the worker is tied to the one that starts it.
            self._worker = WorkerProcess(self._limits)
        return self._worker

    def _cancel_retirement(self) -> None:
        if self._retiring is not None:
            self._retiring.cancel()
            self._retiring = None

    def _retire(self) -> None:
        worker, self._worker, self._retiring = self._worker, None, None
        if worker is not None:
            self._thread.submit(worker.end)

    async def _dismiss(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()  # whoever still waits for its answer in the thread has one now
            await asyncio.shield(self._aside(worker.end))

    def _aside(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._thread, work)
