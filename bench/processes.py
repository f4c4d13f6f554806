"""Goals 10, 11 and 14: the bot as a process, from outside."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.contest import ROOT, Outside, free_port
from bench.measuring import children_of, percentile, rss_mb
from bench.table import Row

STARTS = 7
POKES = 40
IDLE = 70.0  # seconds until the parse worker has ended
CONFIG = """
state = "sqlite:///bell.db"
http = {{ listen = "127.0.0.1:{port}" }}
slack = {{ api_url = "{world}/api/" }}
delivery = {{ channel_gap = "0s", slack_per_minute = 0 }}
{more}
[[feeds]]
id = "bench"
url = "{world}/{who}/0.xml"
own = true
allow_private = ["127.0.0.0/8"]

[[routes]]
to = "slack:C00000001"
"""
MAIL = """email = { host = "127.0.0.1", port = 9, security = "none", from = "bell@bench.example" }
"""
DISCORD = """discord = { api_url = "http://127.0.0.1:9/api/v10" }
"""
SECRETS = {"FEEDBELL_SLACK__BOT_TOKEN": "xoxb-bench", "FEEDBELL_HTTP__POKE_TOKEN": "poke-token-of-the-bench"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """A folder with a configuration, in which commands are run."""

    folder: Path
    port: int
    secrets: dict[str, str]

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environment = {**kept, **self.secrets, "PYTHONPATH": str(ROOT), "HOME": str(self.folder)}
        command = [sys.executable, "-m", "bot", *arguments]
        with (self.folder / "bot.log").open("ab") as log:
            return subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """Bots that have been started early, so that they are idle when they are looked at."""

    since: float
    plain: "subprocess.Popen[bytes]"
    with_discord: "subprocess.Popen[bytes]"


@contextmanager
def _bot(world: Outside, who: str, more: str = "", **secrets: str) -> Iterator[Bot]:
    with tempfile.TemporaryDirectory(prefix="bench-bot-") as folder:
        port = free_port()
        text = CONFIG.format(port=port, world=world.http, who=who, more=more)
        (Path(folder) / "config.toml").write_text(text, encoding="utf-8")
        yield Bot(folder=Path(folder), port=port, secrets={**SECRETS, **secrets})


@contextmanager
def _running(bot: Bot) -> Iterator["subprocess.Popen[bytes]"]:
    process = bot.start("run")
    try:
        yield process
    finally:
        end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ask it to stop, and make it."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def idle(world: Outside) -> Iterator[Idle]:
    """Start both now."""
    with ExitStack() as stack:
        plain = stack.enter_context(_bot(world, "idle", MAIL))
        both = stack.enter_context(
            _bot(world, "idler", MAIL + DISCORD, FEEDBELL_DISCORD__BOT_TOKEN="bench.bench.bench")
        )
        running = [stack.enter_context(_running(bot)) for bot in (plain, both)]
        yield Idle(since=time.monotonic(), plain=running[0], with_discord=running[1])


def rows(world: Outside, idle: Idle, *, quick: bool) -> Iterator[Row]:
    """Measure all."""
    yield from _cold_starts(world)
    yield _poke(world, pokes=10 if quick else POKES)
    time.sleep(max(0.0, IDLE - (time.monotonic() - idle.since)))
    for number, what, process, bar in (
        ("10a", "RSS, idle, Slack and mail", idle.plain, 60),
        ("10b", "RSS, idle, Discord too", idle.with_discord, 75),
    ):
        helpers = children_of(process.pid)
        resident = rss_mb(process.pid, *helpers)
        note = f"{len(helpers)} parse workers" if process.poll() is None else "it has ended"
        held = process.poll() is None and resident <= bar
        yield Row(number=number, what=what, measured=f"{resident:.0f} MB", bar=f"≤ {bar} MB", held=held, note=note)


def _cold_starts(world: Outside) -> Iterator[Row]:
    with _bot(world, "cold") as bot:
        with _running(bot) as process:
            _until(lambda: (bot.folder / "bell.db").exists() and b"polled" in (bot.folder / "bot.log").read_bytes(), 10)
            process.poll()
        for number, arguments, bar in (("11a", ("--help",), 80), ("11b", ("latest", "bgp"), 250)):
            yield _start_row(number, arguments, [_timed(bot, arguments) for _ in range(STARTS)], bar)
        walls = [_first_poll(world, bot) for _ in range(STARTS)]
        fastest, middle = min(walls), statistics.median(walls)
        note = f"median {middle:.0f} ms; the fastest of {STARTS} starts"
        yield Row(
            number="11c",
            what="cold start: run to its first poll",
            measured=f"{fastest:.0f} ms",
            bar="≤ 500 ms",
            held=fastest <= 500,
            note=note,
        )


def _start_row(number: str, arguments: Sequence[str], taken: list[tuple[float, float]], bar: int) -> Row:
    wall, cpu = min(wall for wall, _ in taken), min(cpu for _, cpu in taken)
    middle = statistics.median(wall for wall, _ in taken)
    return Row(
        number=number,
        what=f"cold start: {' '.join(arguments)}",
        measured=f"{wall:.0f} ms",
        bar=f"≤ {bar} ms",
        held=wall <= bar,
        note=f"median {middle:.0f} ms; the fastest of {STARTS}; CPU {cpu:.0f} ms",
    )


def _timed(bot: Bot, arguments: Sequence[str]) -> tuple[float, float]:
    """Wall and CPU of a command, in ms."""
    began = time.perf_counter()
    process = bot.start(*arguments)
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return (time.perf_counter() - began) * 1000, (used.ru_utime + used.ru_stime) * 1000


def _first_poll(world: Outside, bot: Bot) -> float:
    for name in bot.folder.glob("bell.db*"):
        name.unlink()
    world.facts()
    began = time.time()
    with _running(bot):
        while (first := world.facts()["first_at"]) is None:
            time.sleep(0.02)
    return float(first - began) * 1000


def _poke(world: Outside, *, pokes: int) -> Row:
    """Publish, poke, and see when Slack has it."""
    world.set_mode("etag")
    delays = []
    with _bot(world, "poked") as bot, _running(bot):
        log = bot.folder / "bot.log"
        _until(lambda: b"running" in log.read_bytes() and _polls(bot) > 0, 20)
        world.set_mode("new")
        for _ in range(pokes):
            world.facts()
            began = time.time()
            _post(f"http://127.0.0.1:{bot.port}/hooks/poke/bench", SECRETS["FEEDBELL_HTTP__POKE_TOKEN"])
            while not (posts := world.facts()["posts"]):
                if time.time() - began > 10:
                    break
                time.sleep(0.005)
            delays.append(posts[0] - began if posts else 10.0)
        world.set_mode("etag")
    slowest = percentile(delays, 0.99)
    note = f"median {statistics.median(delays):.2f} s, {pokes} pokes, by the clock"
    what = "poke to message at the Slack server, p99"
    return Row(number="14", what=what, measured=f"{slowest:.2f} s", bar="≤ 0.5 s", held=slowest <= 0.5, note=note)


def _polls(bot: Bot) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{bot.port}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    return int(sum(float(line.split()[-1]) for line in lines if line.startswith("feedbell_polls_total")))


def _post(url: str, token: str) -> None:
    request = urllib.request.Request(url, data=b"", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        answer.read()


def _until(check: object, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if check():  # type: ignore[operator]
                return
        except OSError:
            pass
        time.sleep(0.05)
