"""Run the simulation by hand: python -m tests.chaos.simulation --days 365 --feeds 200 --destinations 50 --seed 1."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.chaos.simulation.clock import run_virtually
from tests.chaos.simulation.scene import Scale
from tests.chaos.simulation.world import Report, World

HOURLY = (60, 90, 120)  # minutes; over a million polls a year
TOLD_EACH = 10  # days
LONG = 60  # days from which on a run is a long one


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=float, default=7)
    parser.add_argument("--feeds", type=int, default=50)
    parser.add_argument("--destinations", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from --seed on")
    options = parser.parse_args(arguments)
    failed = 0
    for seed in range(options.seed, options.seed + options.seeds):
        started = time.process_time()
        scale = scale_of(options.days, options.feeds, options.destinations)
        report = simulate(scale, seed=seed, progress=_Progress())
        print(f"{report}\nCPU: {time.process_time() - started:.1f} s\n", flush=True)
        failed += bool(report.complaints)
    return 1 if failed else 0


def scale_of(days: float, feeds: int, destinations: int) -> Scale:
    """A long run polls hourly and sees less trouble a day, so that it ends within minutes."""
    if days < LONG:
        return Scale(days=days, feeds=feeds, destinations=destinations)
    return Scale(
        days=days,
        feeds=feeds,
        destinations=destinations,
        intervals=HOURLY,
        posts_per_day=0.5,
        harm=0.5,
        kills_per_day=3,
        stops_per_day=0.2,
        jumps_per_day=0.1,
        full_disks_per_day=0.1,
        prune_each=72,
        idle=15,
    )


def simulate(scale: Scale, *, seed: int, progress: Callable[[Report], None] = lambda report: None) -> Report:
    """One run in a folder of its own; in memory where that is possible, for nothing of it must last."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="feedbell-") as folder:
        return run_virtually(lambda loop: World(loop, scale, seed=seed, folder=Path(folder), progress=progress).run())


class _Progress:
    """A line each so many days, and each complaint as soon as a day is over."""

    def __init__(self) -> None:
        self._told = 0

    def __call__(self, report: Report) -> None:
        for words in report.complaints[self._told :]:
            print(f"day {report.days:.0f}, seed {report.seed}: {words}", flush=True)
        self._told = len(report.complaints)
        if report.days and report.days % TOLD_EACH == 0:
            wrong = f"lost {report.lost}, out of order {report.out_of_order}, complaints {self._told}"
            print(f"day {report.days:.0f}: {report.polls} polls, {report.deliveries} deliveries, {wrong}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
