"""Long fuzzing: `python -m tests.fuzz [--minutes M] [--only TARGET]`; M is for each target. Findings go to corpus/."""

from __future__ import annotations

import argparse
import hashlib
import logging
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.mutations import Target, inputs
from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
ROUND = 200  # attempts between two looks at the clock
TOO_SLOW = 2.0  # seconds of CPU for one input of at most 60 KB


@dataclass
class Tally:
    attempts: int = 0
    slowest: float = 0.0
    slowest_input: bytes = b""
    last: bytes = b""
    findings: set[str] = field(default_factory=set)


def main(arguments: list[str]) -> int:
    """Fuzz each target for its time; 1 when anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=4, help="for each target (default 4: an hour in all)")
    parser.add_argument("--only", choices=sorted(TARGETS), action="append", help="this target; may be repeated")
    given_ = parser.parse_args(arguments)
    logging.lastResort = None
    found = False
    for name in given_.only or TARGETS:
        tally = fuzz(TARGETS[name], seconds=given_.minutes * 60)
        found = found or bool(tally.findings)
        print(
            f"{name:12} {tally.attempts:8} attempts, {len(tally.findings)} findings,"
            f" slowest {tally.slowest:.2f} s for {len(tally.slowest_input)} bytes",
            flush=True,
        )
    return 1 if found else 0


def fuzz(target: Target, *, seconds: float) -> Tally:
    """Attempt until the time is over; keep each finding once, by the line that failed."""
    tally, ends = Tally(), time.monotonic() + seconds

    @settings(
        max_examples=ROUND,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs(target))
    def attempt(data: bytes) -> None:
        began = time.process_time()
        tally.attempts, tally.last = tally.attempts + 1, data
        try:
            target.check(data)
        finally:
            took = time.process_time() - began
            if took > tally.slowest:
                tally.slowest, tally.slowest_input = took, data

    while time.monotonic() < ends:
        try:
            attempt()
            if tally.slowest > TOO_SLOW:
                tally.last = tally.slowest_input
                raise TimeoutError(f"{tally.slowest:.1f} s of CPU for {len(tally.last)} bytes")
        except Exception as error:  # noqa: BLE001 - whatever a reader lets out is the finding
            keep(target, tally, error)
    return tally


def keep(target: Target, tally: Tally, error: Exception) -> None:
    """Store the smallest input that fails like this, unless this place is known."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{type(error).__name__} {frames[-1].filename}:{frames[-1].lineno}"
    if place in tally.findings:
        return
    tally.findings.add(place)
    folder = CORPUS / target.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(tally.last).hexdigest()[:12]
    path.write_bytes(tally.last)
    print(f"{target.name}: {place}: {str(error)[:300]}\n  kept as {path}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
