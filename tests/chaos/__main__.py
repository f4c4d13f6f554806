"""The long proof: `make chaos ARGS='--kills 2000 --seed 1'`. Prints what was done, with seeds; 1 if anything broke.

A round is one seed: random kills with and without network faults, the crash matrix, connections cut at any byte. To
repeat a round that failed, run it alone: --rounds 1 --seed SEED.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from pathlib import Path

from tests.chaos import invariants
from tests.chaos.killing import cut_connections, cuts_made, random_kills
from tests.chaos.matrix import dead_worlds, poll_worlds, send_worlds
from tests.chaos.nursery import Nursery
from tests.chaos.oracle import Oracle
from tests.chaos.world import ALL, Kit, World

KILLS = 50  # of one world in a round
CUTS = 200
ROUND = ("kills", "matrix", "cuts")  # what a seed decides
SUITES = (*ROUND, "named", "simulation")


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="long fault runs")
    parser.add_argument("--kills", type=int, default=2000, help="random kills and crash points, in all")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; the next ones count on")
    parser.add_argument("--rounds", type=int, default=0, help="at most so many (0: until the kills are done)")
    parser.add_argument("--minutes", type=float, default=240, help="no round begins after that")
    parser.add_argument("--days", type=int, default=365, help="of the simulation, with 200 feeds and 50 destinations")
    parser.add_argument("--only", choices=SUITES, action="append", help="what to run; default: everything")
    return parser.parse_args(arguments)


async def one_round(seed: int, suites: Sequence[str], folder: Path) -> tuple[Counter[str], list[str]]:
    """Run every suite once; return what was done, and everything that broke."""
    done: Counter[str] = Counter()
    broken: list[str] = []
    async with Oracle(folder) as oracle, Nursery() as nursery:
        kit = Kit(oracle=oracle, nursery=nursery, folder=folder)
        for suite in suites:
            work: dict[str, Awaitable[list[World]]] = {}
            if suite == "kills":
                work = {"random kills": _kills(kit, seed)}
            elif suite == "matrix":
                work = {"crash points": _matrix(kit)}
            elif suite == "cuts":
                work = {"cuts": cut_connections(kit, seed, CUTS)}
            for name, running in work.items():
                try:
                    worlds = await running
                except AssertionError as error:
                    broken.append(f"{name}: {error}")
                    continue
                done[name] += cuts_made(kit) if suite == "cuts" else sum(world.kills for world in worlds)
                _count(worlds, done)
                broken += [fault for world in worlds for fault in _judge(world, suite)]
            done["faults struck"] += oracle.log.struck
            oracle.heal()
    return done, broken


def _judge(world: World, suite: str) -> list[str]:
    # What the matrix let the bot give up, and say so, is not to come.
    given_up = suite == "matrix" and world.count == 10
    return world.faults(sorted(world.came()) if given_up else None)


def _count(worlds: Sequence[World], done: Counter[str]) -> None:
    for world in worlds:
        for platform in world.platforms:
            arrivals = world.arrivals(platform)
            done[f"entries told on {platform}"] += len({name for arrival in arrivals for name in arrival.entries})
            done[f"second copies on {platform}"] += invariants.copies(arrivals) + world.repeats(platform)


async def _kills(kit: Kit, seed: int) -> list[World]:
    runs = [random_kills(kit, seed * 1000 + n, KILLS, network=n >= 3, digest=n in (2, 5)) for n in range(6)]
    return await asyncio.gather(*runs)


async def _matrix(kit: Kit) -> list[World]:
    worlds = await poll_worlds(kit)
    for several in await asyncio.gather(*(send_worlds(kit, platform) for platform in ALL)):
        worlds += several
    for several in await asyncio.gather(*(dead_worlds(kit, platform) for platform in ALL)):
        worlds += several
    return worlds


def named_proofs() -> bool:
    """Run the proofs that are tests with a name of their own: files, disks, starts, storms, replicas, the image."""
    skipped = ["--ignore=tests/chaos/test_crash_points.py", "--ignore=tests/chaos/test_random_kills.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *skipped]
    return subprocess.run([*command, "tests/chaos", "tests/deploy"], check=False).returncode == 0


def simulation(days: int, seed: int) -> bool:
    """Let the whole bot live through that many days under a clock of our own."""
    size = ("--days", str(days), "--feeds", "200", "--destinations", "50", "--seed", str(seed))
    return subprocess.run([sys.executable, "-m", "tests.chaos.simulation", *size], check=False).returncode == 0


def main(arguments: Sequence[str]) -> int:
    options = read_arguments(arguments)
    suites = options.only or [*SUITES]
    started, total, failures = time.monotonic(), Counter[str](), list[str]()
    seed = options.seed
    in_process = [suite for suite in suites if suite in ROUND]
    rounds = options.rounds or int(in_process == ["cuts"])  # which kill nobody, and would never end
    while in_process and total["random kills"] + total["crash points"] < options.kills:
        if time.monotonic() - started > options.minutes * 60 or 0 < rounds <= seed - options.seed:
            break
        with tempfile.TemporaryDirectory(prefix="feedbell-chaos-") as folder:
            done, broken = asyncio.run(one_round(seed, in_process, Path(folder)))
        total += done
        failures += [f"seed {seed}: {fault}" for fault in broken]
        print(f"seed {seed}: {'BROKEN' if broken else 'well'}, {time.monotonic() - started:.0f} s so far", flush=True)
        for fault in broken[:20]:
            print(f"  {fault}", flush=True)
        if not sum(done.values()):
            break
        seed += 1
    if "named" in suites and not named_proofs():
        failures.append("the named proofs failed; see above")
    if "simulation" in suites and not simulation(options.days, options.seed):
        failures.append("the simulation failed; see above")
    for name, count in sorted(total.items()):
        print(f"{count:8} {name}")
    seeds = f"seeds {options.seed} to {seed - 1}, " if seed > options.seed else ""
    print(f"{seeds}{time.monotonic() - started:.0f} s: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
