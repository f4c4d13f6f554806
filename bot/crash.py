"""Named moments at which a test lets this process die, as a power cut would; inert unless armed."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from bot.core.errors import ConfigError

if TYPE_CHECKING:
    from aiohttp import TraceConfig

VARIABLE: Final = "FEEDBELL_CRASH"  # point:k, die at the k-th passage of that point

POINTS: Final = (
    "poll.before_fetch",
    "poll.headers",
    "poll.body",
    "poll.parsed",
    "poll.tx_begin",
    "poll.tx_entries",
    "poll.before_commit",
    "poll.after_commit",
    "send.claim_before_commit",
    "send.claim_after_commit",
    "send.before_connect",
    "send.connected",
    "send.mid_body",
    "send.body_written",
    "send.headers",
    "send.body_read",
    "send.before_record",
    "send.after_record",
    "rec.before_lookup",
    "rec.after_lookup",
    "rec.before_commit",
    "rec.after_commit",
    "retry.before_commit",
    "dead.before_alert",
)

_spared: ContextVar[bool] = ContextVar("spared", default=False)
_left: dict[str, int] | None = None  # passages until death, by name; None: nothing is armed


def arm(environ: Mapping[str, str]) -> None:
    """Read the variable once, before anything that has points starts. Raises ConfigError if it means nothing."""
    global _left
    wish = environ.get(VARIABLE, "")
    if not wish:
        _left = None
        return
    name, _, count = wish.partition(":")
    if name not in POINTS or not (count or "1").isdecimal() or int(count or "1") < 1:
        raise ConfigError((f"{VARIABLE} must be POINT:K with K from 1; the points are {', '.join(POINTS)}",))
    _left = {name: int(count or "1")}


@contextmanager
def spared() -> Iterator[None]:
    """What is done inside passes no point: it is no part of what the points are named after."""
    token = _spared.set(True)
    try:
        yield
    finally:
        _spared.reset(token)


def point(name: str) -> None:
    """Die here by SIGKILL if this point is armed and has been passed often enough."""
    if _left is not None:
        _pass(name)


def _pass(name: str) -> None:
    if _left is None or name not in _left or _spared.get():
        return
    _left[name] -= 1
    if _left[name] == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def trace_points(prefix: str) -> "list[TraceConfig]":
    """Return what a client session's `trace_configs` needs to pass `prefix`'s points; nothing while inert.

    aiohttp hands a small body over together with the headers, so mid_body is the moment before either leaves.
    """
    if _left is None:
        return []
    from aiohttp import TraceConfig

    def passing(moment: str) -> Any:
        async def passed(*_: object) -> None:
            point(f"{prefix}.{moment}")

        return passed

    trace = TraceConfig()
    trace.on_request_start.append(passing("before_connect"))
    trace.on_connection_create_end.append(passing("connected"))
    trace.on_connection_reuseconn.append(passing("connected"))
    trace.on_request_headers_sent.append(passing("mid_body"))
    trace.on_request_chunk_sent.append(passing("body_written"))
    trace.on_request_end.append(passing("headers"))
    trace.on_response_chunk_received.append(passing("body_read"))
    return [trace]
