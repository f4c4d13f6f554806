"""What one fetch may take, of time, bytes and hops."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """Every bound of a fetch (T5, T6); whatever goes over one fails the fetch."""

    connect: timedelta = timedelta(seconds=10)  # name look-up, TCP and TLS
    headers: timedelta = timedelta(seconds=20)  # from the connection to the end of the headers
    idle: timedelta = timedelta(seconds=15)  # between two pieces of a body
    total: timedelta = timedelta(seconds=60)  # with all redirects
    slow_window: timedelta = timedelta(seconds=20)  # a body slower than `slow_rate` for so long is a tar pit
    slow_rate: int = 1024  # bytes a second
    wire: int = 10 * 1024 * 1024  # bytes of a body as sent
    decoded: int = 20 * 1024 * 1024  # bytes of a body after its Content-Encoding
    redirects: int = 5
    keep_alive: timedelta = timedelta(seconds=3)  # longer than the gap to the next feed of the same host, no more


DEFAULT_LIMITS = FetchLimits()
