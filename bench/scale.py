"""The bot for real at scale: `python -m bench.scale`, which takes its intervals and the first reading.

Every feed polled in time, what is published told once, and what that takes. With `--replicas 3` they share a
PostgreSQL, and one is killed half way.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.contest import ROOT, free_port, say
from bench.measuring import children_of, cpu_of, machine, rss_mb
from bench.postgres import postgres
from bench.processes import end

HEAD = """state = "{state}"
slack = {{ api_url = "{world}/api/" }}
polling = {{ host_gap = "0s" }}
log = {{ level = "warning" }}
"""
FEED = """[[feeds]]
id = "f{number}"
url = "{world}/scale/{number}.xml"
interval = "{interval}s"
own = true
allow_private = ["127.0.0.0/8"]
"""
ROUTE = """[[routes]]
to = "slack:C{number:08}"
feeds = [{feeds}]
"""
LOOK = 20.0  # seconds between two looks


@dataclass(slots=True)
class Bot:
    """A running replica, and what it took when it was last seen."""

    process: "subprocess.Popen[bytes]"
    cpu: float = 0.0
    most_mb: float = 0.0
    last_mb: float = 0.0
    before: float = field(default=0.0)

    def look(self) -> None:
        pids = [self.process.pid, *children_of(self.process.pid)]
        if self.process.poll() is None:
            self.cpu = sum(cpu_of(pid, with_ended=True) for pid in pids)
            self.last_mb = rss_mb(*pids)
            self.most_mb = max(self.most_mb, self.last_mb)


def main() -> int:
    """Run, print, and say by the exit code whether everything was polled in time and told once."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale")
    parser.add_argument("--feeds", type=int, default=100_000)
    parser.add_argument("--destinations", type=int, default=1_000)
    parser.add_argument("--interval", type=int, default=900, help="seconds (default 900)")
    parser.add_argument("--intervals", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.01, help="of the feeds that publish in an interval")
    parser.add_argument("--replicas", type=int, default=1)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-scale-")))
        world = stack.enter_context(_world(options.feeds))
        state = stack.enter_context(postgres()) if options.replicas > 1 else "sqlite:///bell.db"
        if state is None:
            say("SKIPPED: replicas need PostgreSQL, which is not installed")
            return 1
        _configure(folder, world, state, options)
        bots = [stack.enter_context(_bot(folder, number)) for number in range(options.replicas)]
        return _run(bots, world, folder, options)


def _run(bots: list[Bot], world: str, folder: Path, options: argparse.Namespace) -> int:
    began = time.monotonic()
    while (read := _get(f"{world}/__report")["read"]) < options.feeds:
        say(f"{read:,} feeds read for the first time, load {os.getloadavg()[0]:.1f}")
        _look(bots, LOOK)
    say(f"all were read after {time.monotonic() - began:.0f} s, {_cost(bots)}")
    time.sleep(LOOK)
    _get(f"{world}/__plan?{options.interval},{options.intervals},{options.share}")
    for bot in bots:
        bot.look()
        bot.before = bot.cpu
    answers, start = _get(f"{world}/__report")["answers"], time.monotonic()
    whole = options.interval * options.intervals
    while (passed := time.monotonic() - start) < whole + options.interval * 1.3:
        _look(bots, LOOK)
        if options.replicas > 1 and passed > whole / 2 and all(bot.process.poll() is None for bot in bots):
            say("one replica is killed")
            bots[0].process.kill()
        report = _get(f"{world}/__report")
        say(f"{passed:.0f} s: published {report['published']}, told {report['told']}, {_cost(bots)}")
        if passed > whole and report["told"] == report["published"]:
            break
    return _conclude(bots, _get(f"{world}/__report"), answers, time.monotonic() - start, folder, options)


def _conclude(
    bots: list[Bot],
    report: dict[str, Any],
    before: dict[str, int],
    took: float,
    folder: Path,
    options: argparse.Namespace,
) -> int:
    polls = sum(report["answers"][status] - before.get(status, 0) for status in ("200", "304"))
    cpu = sum(bot.cpu - bot.before for bot in bots)
    disk = sum(path.stat().st_size for path in folder.glob("bell.db*")) / 1e6
    print(f"{machine()}; {options}")
    print(f"{polls:,} polls in {took:.0f} s, {cpu / polls * 1000:.2f} ms CPU each, {cpu / took:.0%} of a core")
    print(_cost(bots))
    print(f"state {disk:.0f} MB" if disk else "state in PostgreSQL")
    print(json.dumps(report, indent=1))
    late = report["gaps"]["most"] > options.interval * 1.25
    good = report["told"] == report["published"] and not (report["twice"] or report["unasked"] or late)
    print("all polled in time, each entry told once" if good else "NOT all polled in time and told once")
    return 0 if good else 1


def _look(bots: list[Bot], seconds: float) -> None:
    time.sleep(seconds)
    for bot in bots:
        bot.look()


def _cost(bots: list[Bot]) -> str:
    return "; ".join(f"{bot.cpu:.0f} s CPU, {bot.last_mb:.0f} MB now, {bot.most_mb:.0f} MB at most" for bot in bots)


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=120) as answer:
        return json.load(answer)


@contextmanager
def _world(feeds: int) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "bench.scale_world", "--port", str(port), "--feeds", str(feeds)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None or not process.stdout.readline():
            raise RuntimeError("the world did not start")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _configure(folder: Path, world: str, state: str, options: argparse.Namespace) -> None:
    many = options.destinations
    feeds = (FEED.format(number=number, world=world, interval=options.interval) for number in range(options.feeds))
    groups = (range(number, options.feeds, many) for number in range(many))
    routes = (
        ROUTE.format(number=number, feeds=", ".join(f'"f{one}"' for one in group))
        for number, group in enumerate(groups)
    )
    text = "\n".join([HEAD.format(state=state, world=world), *feeds, *routes])
    (folder / "config.toml").write_text(text, encoding="utf-8")


@contextmanager
def _bot(folder: Path, number: int) -> Iterator[Bot]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    own = {"FEEDBELL_HTTP__LISTEN": f"127.0.0.1:{free_port()}", "FEEDBELL_SLACK__BOT_TOKEN": "xoxb-bench"}
    environment = {**kept, **own, "PYTHONPATH": str(ROOT), "HOME": str(folder)}
    with (folder / f"bot{number}.log").open("ab") as log:
        process = subprocess.Popen([sys.executable, "-m", "bot", "run"], cwd=folder, env=environment, stderr=log)
    try:
        yield Bot(process=process)
    finally:
        end(process)
        say((folder / f"bot{number}.log").read_text()[-2_000:])


if __name__ == "__main__":
    sys.exit(main())
