"""How a contender is spoken to: one JSON line when it is ready, then one for each round that it is asked for.

Only what a round itself takes is counted: imports and set-up are reported once, as `setup_s`.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout

from bench.measuring import cpu_seconds, rss_mb

Command = Mapping[str, object]
Round = Callable[[Command], Mapping[str, object]]


def serve(play: Round, *, helpers: Callable[[], tuple[int, ...]] = tuple, **facts: object) -> None:
    """Play rounds until stdin ends. `helpers`: running processes whose CPU and memory count as ours."""
    answers = sys.stdout
    with redirect_stdout(sys.stderr):  # whatever a library prints would break the protocol
        _say(answers, {"ready": True, **facts})
        for line in sys.stdin:
            command = json.loads(line)
            if command["op"] == "quit":
                return
            before, wall, spent = helpers(), time.perf_counter(), 0.0
            spent = cpu_seconds(*before)
            counts = play(command)
            # A helper that ended meanwhile is among the children waited for; one that began had spent nothing.
            spent = cpu_seconds(*helpers()) - spent
            memory = rss_mb() + sum(rss_mb(pid) for pid in helpers())
            _say(answers, {"wall": time.perf_counter() - wall, "cpu": spent, "rss_mb": memory, **counts})


def _say(answers: object, words: Mapping[str, object]) -> None:
    print(json.dumps(words), file=answers, flush=True)  # type: ignore[call-overload]
