"""What the two ends of the pipe say to each other: length-prefixed pickles of our own small classes.

The worker has read hostile bytes, so what it sends back is unpickled by names from a short list only.
"""

import io
import pickle
from dataclasses import dataclass
from typing import Any, Final

from bot.core.model.entry import Key, ParsedFeed

HEAD: Final = 4  # bytes, big-endian: the length of what follows

_KNOWN_NAMES: Final = frozenset(
    {
        ("bot.core.model.entry", "ParsedEntry"),
        ("bot.core.model.entry", "ParsedFeed"),
        ("bot.core.model.entry", "Listed"),
        ("bot.parser.wire", "Answer"),
        ("datetime", "datetime"),
        ("datetime", "timedelta"),
        ("datetime", "timezone"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One document to read; the arguments of ports.Parser.parse."""

    body: bytes
    url: str
    content_type: str | None
    listed: dict[bytes, Key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a document: a feed, or why there is none."""

    feed: ParsedFeed | None = None
    not_a_feed: str | None = None
    failed: str | None = None
    is_last: bool = False  # the worker ends after this, having grown too big


def pack(message: Question | Answer) -> tuple[bytes, bytes]:
    """Return the length and what has it; a large document is copied no more than it must be."""
    packed = pickle.dumps(message, protocol=5)
    return len(packed).to_bytes(HEAD, "big"), packed


def frame(message: Question | Answer) -> bytes:
    return b"".join(pack(message))


def to_question(packed: bytes) -> Question:
    """Read what our own parent wrote."""
    question = pickle.loads(packed)  # noqa: S301
    if not isinstance(question, Question):
        raise pickle.UnpicklingError("no question")
    return question


def to_answer(packed: bytes) -> Answer:
    """Read what the worker wrote. Raises pickle.UnpicklingError, and what broken pickles raise."""
    answer = _Guarded(io.BytesIO(packed)).load()
    if not isinstance(answer, Answer):
        raise pickle.UnpicklingError("no answer")
    return answer


class _Guarded(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN_NAMES:
            raise pickle.UnpicklingError(f"{module}.{name} is nothing that a parse gives")
        return super().find_class(module, name)
