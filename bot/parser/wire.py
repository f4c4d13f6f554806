"""What the two ends of the pipe say to each other: pickles of our own small classes, and documents, with their lengths.

The worker has read hostile bytes, so what it sends back is unpickled by names from a short list only.
"""

import io
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO, Any, Final

from bot.core.model.entry import Key, ParsedFeed

HEAD: Final = 4  # bytes, big-endian: the length of what follows
PORTION: Final = 100  # items of a feed in one pickle: while one is read, no other thread of the bot gets its turn

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
    portions: int = 0  # of the feed's items, which follow


def write_question(stream: IO[bytes], question: Question) -> None:
    """Send all but the document in a pickle, and the document as it is, so that nobody copies it."""
    packed = pickle.dumps(replace(question, body=b""), protocol=5)
    stream.write(len(packed).to_bytes(HEAD, "big") + len(question.body).to_bytes(HEAD, "big") + packed)
    stream.write(question.body)
    stream.flush()


def read_question(stream: IO[bytes]) -> Question | None:
    """Read what our own parent wrote; None at the end."""
    if len(head := stream.read(2 * HEAD)) < 2 * HEAD:
        return None
    question = pickle.loads(stream.read(int.from_bytes(head[:HEAD], "big")))  # noqa: S301
    if not isinstance(question, Question):
        raise pickle.UnpicklingError("no question")
    return replace(question, body=stream.read(int.from_bytes(head[HEAD:], "big")))


def frames(answer: Answer) -> Iterator[bytes]:
    """Return an answer in portions, each behind its length."""
    for part in _parts(answer):
        packed = pickle.dumps(part, protocol=5)
        yield len(packed).to_bytes(HEAD, "big") + packed


def _parts(answer: Answer) -> Iterator[object]:
    if answer.feed is None or len(answer.feed.items) <= PORTION:
        yield answer
        return
    items = answer.feed.items
    starts = range(0, len(items), PORTION)
    yield replace(answer, feed=replace(answer.feed, items=()), portions=len(starts))
    yield from (items[start : start + PORTION] for start in starts)


def read_answer(stream: IO[bytes], at_most: int) -> Answer:
    """Read what the worker wrote, of `at_most` bytes.

    Raises ValueError for a longer one, EOFError for half of one, UnpicklingError and what broken pickles raise.
    """
    packed = _Frames(stream, at_most)
    answer = packed.next()
    if not isinstance(answer, Answer):
        raise pickle.UnpicklingError("no answer")
    if answer.feed is None or not answer.portions:
        return answer
    items = tuple(item for _ in range(answer.portions) for item in packed.next())
    return replace(answer, feed=replace(answer.feed, items=items), portions=0)


class _Frames:
    def __init__(self, stream: IO[bytes], at_most: int) -> None:
        self._stream = stream
        self._left = at_most

    def next(self) -> Any:
        length = int.from_bytes(self._exactly(HEAD), "big")
        self._left -= length
        if self._left < 0:
            raise ValueError("too long an answer")
        return _Guarded(io.BytesIO(self._exactly(length))).load()

    def _exactly(self, count: int) -> bytes:
        data = self._stream.read(count)
        if len(data) < count:
            raise EOFError
        return data


class _Guarded(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN_NAMES:
            raise pickle.UnpicklingError(f"{module}.{name} is nothing that a parse gives")
        return super().find_class(module, name)
