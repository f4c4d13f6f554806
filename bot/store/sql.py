"""What every query is written with: the transaction it is a function of, and times as the columns hold them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol, TypeAlias, TypeVar

Row: TypeAlias = dict[str, Any]  # by column name
Value: TypeAlias = str | bytes | int | None

T = TypeVar("T")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MS = timedelta(milliseconds=1)
PORTIONS = (128, 32, *range(16, 0, -1))  # what one poll writes mostly fits into one statement
CHUNK = 500  # rows or names in one statement: far below either engine's limit on parameters


class Tx(Protocol):
    """An open transaction on either engine; parameters are written `:name`."""

    @property
    def greatest(self) -> str:
        """The engine's name of the function that returns the largest of its arguments."""

    @property
    def for_update(self) -> str:
        """Locks the selected rows until the commit; empty where one writer excludes all others."""

    @property
    def skip_locked(self) -> str:
        """As `for_update`, but leaves out what somebody else has locked."""

    @property
    def shared(self) -> bool:
        """Whether other processes may write too."""

    def run(self, sql: str, **params: Value) -> int:
        """Execute; return how many rows were touched."""

    def rows(self, sql: str, **params: Value) -> Sequence[Row]: ...

    def row(self, sql: str, **params: Value) -> Row | None: ...

    def run_many(self, sql: str, params: Sequence[Mapping[str, Value]]) -> None: ...

    def insert(self, head: str, rows: Sequence[tuple[Value, ...]], tail: str = "") -> Sequence[Row]:
        """Execute `head VALUES (…), (…) tail` for all rows, in their order; return what `tail` returns."""


def number_of(tx: Tx, sql: str, **params: Value) -> int:
    """Return the `n` of the one row that `sql` asks for; 0 where that is nothing."""
    row = tx.row(sql, **params)
    return 0 if row is None or row["n"] is None else int(row["n"])


def to_ms(at: datetime) -> int:
    return (at - EPOCH) // MS


def to_ms_or_none(at: datetime | None) -> int | None:
    return None if at is None else (at - EPOCH) // MS


def to_time(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


def to_time_or_none(ms: int | None) -> datetime | None:
    return None if ms is None else EPOCH + timedelta(milliseconds=ms)


def span_ms(span: timedelta) -> int:
    return span // MS


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Cut what a statement names into as many as one may name."""
    rest = iter(items)
    while part := list(islice(rest, CHUNK)):
        yield part


def portions(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut rows into a few sizes only.

    Each size is a statement that is kept prepared, and long ones are large: polls of many lengths must not each leave
    their own in memory.
    """
    at = 0
    for size in PORTIONS:
        while len(rows) - at >= size:
            yield rows[at : at + size]
            at += size


def one_of(column: str, prefix: str, values: Sequence[Value]) -> tuple[str, dict[str, Value]]:
    """Return `column IN (:p0, …)` and its parameters.

    The list is filled up to a power of two by repeating the last value, so that few texts have to be prepared.
    """
    if not values:
        return "1 = 0", {}
    size = 1 << (len(values) - 1).bit_length()
    text, names = _in_list(column, prefix, size)
    return text, dict(zip(names, [*values, *[values[-1]] * (size - len(values))], strict=True))


@lru_cache(maxsize=256)
def _in_list(column: str, prefix: str, size: int) -> tuple[str, tuple[str, ...]]:
    names = tuple(f"{prefix}{i}" for i in range(size))
    return f"{column} IN (:{', :'.join(names)})", names


def storable(text: str) -> str:
    """Replace what no database can hold as text: NUL and lone surrogates."""
    if text.isascii():
        return text.replace("\x00", "\ufffd")
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def storable_or_none(text: str | None) -> str | None:
    return None if text is None else storable(text)
