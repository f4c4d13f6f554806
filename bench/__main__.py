"""`make bench`: every goal as a row, printed and written to bench/results.md."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from bench import polls
from bench.contest import Outside, outside, say
from bench.measuring import machine
from bench.table import Row, as_text

RESULTS = Path(__file__).parent / "results.md"
HEADING = """# What was measured

{date}, {machine}. Written by `make bench ARGS='{arguments}'` in {minutes:.0f} minutes.

Contenders take turns on one core, the servers stand on another; medians of {rounds} rounds of {feeds} feeds of 61 kB,
a new connection for each poll. "floor" is bare aiohttp that asks the same and does nothing with the answers. On a
shared machine believe the ratios; times by the wall are as good as the machine was idle.

"""


def main() -> int:
    """Measure, print, write; the exit code says whether every bar that was measured has been held."""
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--feeds", type=int, default=1000, help="feeds in a round (default 1000)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each mode (default 7)")
    parser.add_argument("--quick", action="store_true", help="small numbers: minutes less, and less to trust")
    parser.add_argument("--only", default="", help="parts, by commas: polls,processes,delivery,storage,chat")
    options = parser.parse_args()
    if options.quick:
        options.feeds, options.rounds = min(options.feeds, 200), min(options.rounds, 3)
    began, shown = time.monotonic(), sys.argv[1:]
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    about = {"date": date, "machine": machine(), "arguments": " ".join(shown)}
    with outside() as world:
        rows = sorted(_measured(world, options), key=_order)
    minutes = (time.monotonic() - began) / 60
    text = HEADING.format(minutes=minutes, feeds=options.feeds, rounds=options.rounds, **about) + as_text(rows)
    print(text)
    if not options.only:
        RESULTS.write_text(text, encoding="utf-8")
    return 1 if any(row.held is False for row in rows) else 0


def _measured(world: Outside, options: argparse.Namespace) -> Iterator[Row]:
    from bench import chat, delivery, processes, storage

    quick = options.quick
    with processes.idle(world) as idle:
        parts: dict[str, Callable[[], Iterable[Row]]] = {
            "polls": lambda: polls.rows(
                world, feeds=options.feeds, rounds=options.rounds, scale=20_000 if quick else 100_000
            ),
            "delivery": lambda: delivery.rows(world, many=1_000 if quick else 10_000),
            "storage": lambda: storage.rows(entries=50_000 if quick else 1_000_000),
            "chat": lambda: chat.rows(world, asks=100 if quick else 400),
            "processes": lambda: processes.rows(world, idle, quick=quick),
        }
        wanted = options.only.split(",") if options.only else list(parts)
        for name in wanted:
            say(f"part {name}, load {os.getloadavg()[0]:.1f}")
            yield from parts[name]()


def _order(row: Row) -> tuple[int, str]:
    digits = "".join(char for char in row.number if char.isdigit())
    return int(digits), row.number


if __name__ == "__main__":
    sys.exit(main())
