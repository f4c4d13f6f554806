"""What one document may take from the parse worker, and how long the worker stays."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """The bounds of T8."""

    cpu: timedelta = timedelta(seconds=10)  # of one document; whole seconds
    wall: timedelta = timedelta(seconds=60)  # of one document, on a machine that is busy
    memory: int = 512 * 1024 * 1024  # bytes; half of the container's limit if that is less
    idle: timedelta = timedelta(seconds=60)  # without a document the worker ends, and its memory with it
    grown: int = 128 * 1024 * 1024  # bytes resident after a document: a worker that big is replaced
    answer: int = 64 * 1024 * 1024  # bytes that the worker may send back


DEFAULT_LIMITS = ParseLimits()
