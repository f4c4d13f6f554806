"""Our end of the worker process: starts it, talks to it over two pipes, and sees it end. All of it blocks."""

import fcntl
import math
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, cast

import bot
from bot.parser.limits import ParseLimits
from bot.parser.wire import Answer, Question, read_answer, write_question

# All that the worker is told of our environment, which holds tokens.
_KEPT_VARIABLES: Final = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT")
_PIPE: Final = 1 << 20  # bytes; each stop in the middle of a document wakes both processes
_ENDING: Final = 2.0  # seconds that a worker whose pipe broke is given to end by itself


class WorkerProcess:
    """A worker that has been started. Whoever waits for an answer hears of it at once when the process ends."""

    def __init__(self, limits: ParseLimits) -> None:
        numbers = (math.ceil(limits.cpu.total_seconds()), limits.memory, limits.grown, os.getpid())
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        environment["PYTHONPATH"] = str(Path(bot.__file__).parents[1])
        self._process = subprocess.Popen(
            # -P: the folder we were started in may hold anything
            [sys.executable, "-P", "-m", "bot.parser.worker", *map(str, numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._questions = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        for pipe in (self._questions, self._answers):
            with suppress(OSError, AttributeError):  # the user has too many, or the system has no such call
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, question: Question, *, at_most: int) -> Answer:
        """Give it a document and wait for what it makes of it, in `at_most` bytes.

        Raises OSError, EOFError, and what `read_answer` raises.
        """
        with suppress(ConnectionError):  # a worker that ends before it has read all may have said why
            write_question(self._questions, question)
        return read_answer(self._answers, at_most)

    def kill(self) -> None:
        """Take its life, without waiting for that."""
        self._process.kill()

    def last_sign(self) -> str:
        """Say how the worker ended, whose pipe has broken."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING)
        if self.end() == -signal.SIGXCPU:
            return "it took too much CPU time to parse"
        return "the parse worker ended in the middle of it"

    def end(self) -> int:
        """Make it end, and return its exit code, negative for a signal."""
        self._process.kill()
        code = self._process.wait()
        for pipe in (self._questions, self._answers):
            with suppress(OSError):  # half a question may be left in it
                pipe.close()
        return code
