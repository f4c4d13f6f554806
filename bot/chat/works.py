"""Answers that are worked on, each owned until it is given: a platform waits three seconds, a command may be slower."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE = 0.4  # seconds until a command is acknowledged without its answer, which then comes by itself
DRAIN = 5.0  # seconds at the end for what is still worked on


class Works:
    """Tasks with an owner."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T], name: str) -> "asyncio.Task[T]":
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def quickly(self, task: "asyncio.Task[T]", patience: float = PATIENCE) -> bool:
        """Whether `task` is done before patience ends; it goes on either way."""
        done, _ = await asyncio.wait({task}, timeout=patience)
        return bool(done)

    async def stop(self, within: float = DRAIN) -> None:
        """Let what is worked on end, then give the rest up."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(set(self._tasks), timeout=within)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("an answer failed by a fault of ours", extra={"work": task.get_name()}, exc_info=error)
