"""The store's database without its threads: the same SQL at once, in the loop, so that a seed repeats everything."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from bot.core.errors import StoreUnavailable
from bot.store.database import Connection, Database
from bot.store.sql import Tx
from bot.store.sqlite import SqliteConnection, SqliteEngine
from tests.chaos.simulation.clock import VirtualLoop
from tests.chaos.simulation.power import Power

P = ParamSpec("P")
T = TypeVar("T")


class InlineDatabase(Database):
    """Each write is a transaction of its own, each call two moments at which the power may fail: before and after."""

    def __init__(self, engine: SqliteEngine, power: Power) -> None:
        self.connection: Connection = SqliteConnection(engine.path, readonly=False)
        self.connection.run("PRAGMA synchronous = OFF")  # here only processes die, never the machine
        self.writes = 0
        self._inline = engine
        self._power = power

    async def write(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        await self._power.moment(f"before {work.__name__}")
        if self._power.disk_full:
            raise StoreUnavailable("database or disk is full")
        value = self._transact(lambda tx: work(tx, *args, **kwargs))
        self.writes += 1
        await self._power.moment(f"after {work.__name__}")
        return value

    write_soon = write

    async def read(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        await self._power.moment(f"before {work.__name__}")
        try:
            return work(self.connection, *args, **kwargs)
        except self._inline.errors as error:
            raise self._inline.to_error(error) from error

    async def close(self) -> None:
        self.connection.close()

    def _transact(self, work: Callable[[Tx], T]) -> T:
        try:
            self.connection.begin()
            try:
                value = work(self.connection)
            except BaseException:
                self.connection.run("ROLLBACK")
                raise
            self.connection.commit()
        except self._inline.errors as error:
            raise self._inline.to_error(error) from error
        return value


class WatchedDatabase(Database):
    """The real one, threads and all; the virtual loop waits for it before it moves its clock."""

    def __init__(self, engine: SqliteEngine, loop: VirtualLoop) -> None:
        super().__init__(engine)
        self.broken: set[str] = set()  # names of works that a full disk refuses
        self._watching = loop

    async def write(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        if work.__name__ in self.broken:
            raise StoreUnavailable("database or disk is full")
        return await super().write(work, *args, **kwargs)

    write_soon = write  # nobody else comes by while time stands still

    async def _submit(self, work: Callable[[Tx], T], *, urgent: bool) -> T:
        self._watching.outside += 1
        try:
            return await super()._submit(work, urgent=urgent)
        finally:
            self._watching.outside -= 1
