"""What a server does wrong, in an ordered list that a test or another process may change at any time.

A fault has three independent sides: what the client sees (`kind`), whether the server acts on the request all the
same (`store`), and how much later it does so (`late`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any

Json = dict[str, Any]  # JSON objects have no better type

KINDS = frozenset(
    {
        "status",  # answer with `status`, `headers` and `body`
        "rate",  # 429 in the service's own shape, Retry-After spelled as in `retry_after` (None: no such header)
        "error",  # the service's own error named `error`, with `status` where the service uses one
        "rst",  # `at` bytes of the answer, then a reset
        "fin",  # `at` bytes of the answer, then an orderly end
        "hang",  # `at` bytes of the answer, then silence for `seconds` (0: until the client leaves)
        "slow",  # the whole answer, a byte each `seconds`
        "delay",  # all is well, but `seconds` later
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One entry of the list; `match` is a part of the request's line, such as `chat.postMessage` or `RCPT a@b`.

    The first `skip` requests that match pass, then each `every`-th is struck, `times` times (None: until cleared).
    `at` of None means the head and half of the body.
    """

    kind: str
    match: str = ""
    skip: int = 0
    every: int = 1
    times: int | None = 1
    store: bool = False
    late: float = 0.0
    seconds: float = 0.0
    at: int | None = 0
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    error: str = "internal_error"
    retry_after: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown fault {self.kind!r}; one of {sorted(KINDS)}")
        if self.every < 1 or self.skip < 0:
            raise ValueError("a fault strikes each 1st, 2nd, ... request and skips 0, 1, ... of them")

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Json) -> Fault:
        known = {spot.name for spot in fields(cls)}
        if odd := set(raw) - known:
            raise ValueError(f"unknown keys of a fault: {sorted(odd)}; known: {sorted(known)}")
        return cls(**raw)


@dataclass(slots=True)
class _Turn:
    fault: Fault
    seen: int = 0
    fired: int = 0

    def is_due(self) -> bool:
        self.seen += 1
        if self.fault.times is not None and self.fired >= self.fault.times:
            return False
        after = self.seen - self.fault.skip
        if after < 1 or (after - 1) % self.fault.every:
            return False
        self.fired += 1
        return True


class FaultPlan:
    """The faults of one server, in order: a request is struck by the first that is due, and later ones never see it."""

    def __init__(self) -> None:
        self._turns: list[_Turn] = []
        self.struck: list[tuple[str, Fault]] = []

    def add(self, *faults: Fault) -> None:
        self._turns.extend(_Turn(fault) for fault in faults)

    def replace(self, faults: Iterable[Fault]) -> None:
        self._turns = [_Turn(fault) for fault in faults]

    def clear(self) -> None:
        self._turns = []

    def __iter__(self) -> Iterator[Fault]:
        return (turn.fault for turn in self._turns)

    def take(self, line: str) -> Fault | None:
        """Return the fault that strikes the request with this line, and count it."""
        for turn in self._turns:
            if turn.fault.match in line and turn.is_due():
                self.struck.append((line, turn.fault))
                return turn.fault
        return None
