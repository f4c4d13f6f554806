"""The worker process: reads documents from a pipe, parses them, answers on another, and holds nothing between two.

It starts without our environment and secrets, dies with its parent, is the first to go when memory runs out,
and is killed by the kernel at its limits of CPU and memory.
"""

import contextlib
import ctypes
import math
import os
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Protocol

from bot.core.errors import NotAFeed, ParseError
from bot.core.model.entry import Key, ParsedFeed
from bot.parser.wire import Answer, Question, frames, read_question

_PR_SET_PDEATHSIG: Final = 1
_PAGE: Final = resource.getpagesize()
_LEAST_GROWTH: Final = 32 * 1024 * 1024  # bytes, without which no feed could be read
_NICE: Final = 5  # a large document takes what the bot leaves, and people who ask it are answered first
_CGROUP: Final = Path("/sys/fs/cgroup")


class Parse(Protocol):
    """core.parse, as the worker calls it."""

    def __call__(self, body: bytes, *, url: str, content_type: str | None, listed: dict[bytes, Key]) -> ParsedFeed: ...


def main() -> None:
    """Serve until the pipe ends. Arguments: CPU seconds of a document, bytes of memory, bytes to end at, the parent."""
    cpu, memory, grown, parent = (int(argument) for argument in sys.argv[1:5])
    questions, answers = _take_pipes()
    _tie_to(parent)
    os.nice(_NICE)
    from bot.core.parse.document import parse  # loads feedparser, of which only this process knows

    sys.excepthook = _last_words(answers)
    _limit_memory(memory)
    serve(parse, questions, answers, before_each=lambda: _limit_cpu(cpu), grown=grown)


def serve(parse: Parse, questions: BinaryIO, answers: BinaryIO, *, before_each: Callable[[], None], grown: int) -> None:
    """Answer one question after the other until there are no more, or until the process has grown too big."""
    while (question := read_question(questions)) is not None:
        before_each()
        packed, is_last = _reply(parse, question, grown)
        del question
        answers.writelines(packed)
        answers.flush()
        if is_last:
            return


def _reply(parse: Parse, question: Question, grown: int) -> tuple[list[bytes], bool]:
    with contextlib.suppress(MemoryError):
        reply = answer(parse, question)
        if _resident() > grown:
            reply = replace(reply, is_last=True)
        return list(frames(reply)), reply.is_last
    # Only here are the frames gone that held the document.
    return list(frames(Answer(failed="it needs too much memory", is_last=True))), True


def answer(parse: Parse, question: Question) -> Answer:
    """Parse one document. Errors on purpose become values; any other ends the process with its last words."""
    try:
        feed = parse(question.body, url=question.url, content_type=question.content_type, listed=question.listed)
    except NotAFeed as error:
        return Answer(not_a_feed=str(error))
    except ParseError as error:
        return Answer(failed=str(error))
    return Answer(feed=feed)


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep the answers' pipe to ourselves: a stray print of some library must not end up in it."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return sys.stdin.buffer, answers


def _tie_to(parent: int) -> None:
    """Die with the parent, also by kill -9; let it decide about signals that reach the whole group."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with contextlib.suppress(OSError, AttributeError):  # Linux only; elsewhere the end of the pipe has to do
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_cpu(seconds: int) -> None:
    """Give the next document its own seconds: the kernel counts those of the whole process, and kills at the limit."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def _limit_memory(wanted: int) -> None:
    """Let the process grow by what is left of its memory: address space that is mapped and unused costs nothing."""
    limit = min([wanted, *(found // 2 for found in _container_limits())])
    mapped = _statm()[0]
    ceiling = mapped + max(limit - _resident(), _LEAST_GROWTH)
    resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))


def _container_limits() -> list[int]:
    """Return the memory limits of our own control group, of either version, in bytes."""
    own = ""
    with contextlib.suppress(OSError):
        own = Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
    places = (_CGROUP / own / "memory.max", _CGROUP / "memory.max", _CGROUP / "memory/memory.limit_in_bytes")
    limits = []
    for place in places:
        with contextlib.suppress(OSError, ValueError):
            limits.append(int(place.read_text()))
    return limits


def _statm() -> list[int]:
    return [int(pages) * _PAGE for pages in Path("/proc/self/statm").read_text().split()]


def _resident() -> int:
    return _statm()[1]


def _last_words(answers: BinaryIO) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    def report(kind: type[BaseException], _: BaseException, trace: TracebackType | None) -> None:
        """Say where the parse broke; nothing of the document."""
        place = ""
        while trace is not None:
            place = f" in {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
            trace = trace.tb_next
        with contextlib.suppress(OSError):
            answers.writelines(frames(Answer(failed=f"the parser broke: {kind.__name__}{place}", is_last=True)))
            answers.flush()

    return report


if __name__ == "__main__":
    main()
