"""One writer whose work shares commits, and readers beside it; the engine below may be SQLite or PostgreSQL."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from bot.core.errors import StoreError, StoreUnavailable
from bot.store.sql import Tx

P = ParamSpec("P")
T = TypeVar("T")

MAX_SHARED = 50  # works in one commit
MAX_WAIT = 0.05  # seconds that work which is not urgent waits for others to share its commit
RETRIES = 5  # of work that lost a race between replicas (deadlock)
READERS = 2  # so that one long search does not keep the loops waiting


class Connection(Tx, Protocol):
    """A connection with the transaction on it; used by one thread at a time."""

    def begin(self) -> None: ...

    def commit(self) -> None: ...

    def savepoint(self) -> None: ...

    def release(self) -> None: ...

    def undo(self) -> None:
        """Roll back to the savepoint; raises if the whole transaction is gone."""

    def close(self) -> None:
        """Roll back what is open; never raises."""

    @property
    def usable(self) -> bool: ...


class Engine(Protocol):
    @property
    def errors(self) -> type[Exception]:
        """The base class of the library's errors."""

    def connect(self, *, readonly: bool) -> Connection: ...

    def to_error(self, error: Exception) -> StoreError:
        """What a library's error means to us. Pure."""

    def lost_race(self, error: Exception) -> bool:
        """Whether the same work may succeed if it is simply done again."""


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[Tx], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    urgent: bool


_Outcome = tuple[Any, Exception | None]


class Database:
    """Runs functions of a transaction. A `write` that fails takes none of those along that share its commit."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queue: deque[_Job] = deque()
        self._urgent = 0
        self._changed = threading.Condition()
        self._closing = False
        self._connection: Connection | None = None
        self._writer = threading.Thread(target=self._write_all, name="store writer", daemon=True)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store reader")
        self._local = threading.local()
        self._reading: list[Connection] = []
        self._writer.start()

    async def write(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Commit `work` with what is queued now. Raises what it raises, and StoreUnavailable."""
        return await self._submit(lambda tx: work(tx, *args, **kwargs), urgent=True)

    async def write_soon(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """As `write`, but it may wait a moment for others to share the commit."""
        return await self._submit(lambda tx: work(tx, *args, **kwargs), urgent=False)

    async def read(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` on a read-only connection: it sees all that was committed before."""
        if self._closing:
            raise StoreUnavailable("the store is closed")
        question = partial(self._read, lambda tx: work(tx, *args, **kwargs))
        return await asyncio.get_running_loop().run_in_executor(self._readers, question)

    async def close(self) -> None:
        """Write what is queued, then let go of every connection."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._writer.join()
        self._readers.shutdown()
        for connection in self._reading:
            connection.close()

    # --- reading

    def _read(self, work: Callable[[Tx], T]) -> T:
        connection: Connection | None = getattr(self._local, "connection", None)
        try:
            if connection is None or not connection.usable:
                connection = self._local.connection = self._engine.connect(readonly=True)
                self._reading.append(connection)
            return work(connection)
        except self._engine.errors as error:
            raise self._engine.to_error(error) from error

    # --- writing

    async def _submit(self, work: Callable[[Tx], T], *, urgent: bool) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._changed:
            if self._closing:
                raise StoreUnavailable("the store is closed")
            self._queue.append(_Job(work, loop, future, urgent))
            self._urgent += urgent
            if urgent or len(self._queue) in (1, MAX_SHARED):
                self._changed.notify()
        return await future

    def _write_all(self) -> None:
        while jobs := self._take():
            # Whoever has been cancelled meanwhile wants nothing written any more.
            wanted = [job for job in jobs if not job.future.cancelled()]
            if wanted:
                self._write_together(wanted)
        self._disconnect()

    def _take(self) -> list[_Job]:
        """Wait for work and return what shares the next commit; nothing: the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing)
            self._changed.wait_for(self._is_worth_a_commit, timeout=MAX_WAIT)
            jobs = [self._queue.popleft() for _ in range(min(len(self._queue), MAX_SHARED))]
            self._urgent -= sum(job.urgent for job in jobs)
            return jobs

    def _is_worth_a_commit(self) -> bool:
        return self._urgent > 0 or len(self._queue) >= MAX_SHARED or self._closing

    def _write_together(self, jobs: list[_Job], tries: int = 0) -> None:
        try:
            connection = self._connected()
            connection.begin()
            results = self._try_all(connection, jobs)
            connection.commit()
        except Exception as error:  # noqa: BLE001 - a writer that died here would leave everybody waiting
            self._disconnect()
            if self._engine.lost_race(error) and tries < RETRIES:
                # Alone, each locks its rows in one order, and only one of those who met must wait.
                for job in jobs:
                    self._write_together([job], tries + 1)
                return
            failure = self._engine.to_error(error) if isinstance(error, self._engine.errors) else error
            results = [(None, failure)] * len(jobs)
        _answer(jobs, results)

    def _try_all(self, connection: Connection, jobs: list[_Job]) -> list[_Outcome]:
        """Do all without a savepoint, as hardly any fails; if one does, each is done again in one of its own."""
        failure: Exception
        try:
            return [(job.work(connection), None) for job in jobs]
        except self._engine.errors as error:
            if self._engine.lost_race(error) or not connection.usable:
                raise
            failure = self._engine.to_error(error)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever asked, as in any executor
            failure = error
        connection.run("ROLLBACK")
        connection.begin()
        return [(None, failure)] if len(jobs) == 1 else [self._try(connection, job) for job in jobs]

    def _try(self, connection: Connection, job: _Job) -> _Outcome:
        connection.savepoint()
        try:
            value = job.work(connection)
        except self._engine.errors as error:
            if self._engine.lost_race(error) or not connection.usable:
                raise
            connection.undo()
            return None, self._engine.to_error(error)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever asked, as in any executor
            connection.undo()
            return None, error
        connection.release()
        return value, None

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect(readonly=False)
        return self._connection

    def _disconnect(self) -> None:
        """After a failed commit nothing on this connection can be trusted, not even what it says about fsync."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _answer(jobs: list[_Job], results: list[_Outcome]) -> None:
    """Wake each loop once for all its answers."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], _Outcome]]] = {}
    for job, outcome in zip(jobs, results, strict=True):
        by_loop.setdefault(job.loop, []).append((job.future, outcome))
    for loop, answers in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_tell, answers)


def _tell(answers: list[tuple["asyncio.Future[Any]", _Outcome]]) -> None:
    for future, (value, failure) in answers:
        if future.cancelled():
            continue
        if failure is not None:
            future.set_exception(failure)
        else:
            future.set_result(value)
