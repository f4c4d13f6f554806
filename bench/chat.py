"""Goal 18: what people type is answered as quickly as ever while the bot has all hands full."""

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from bench.contest import Outside, free_port
from bench.measuring import percentile
from bench.people import SECRET, Heard, People, people
from bench.processes import SECRETS, Bot
from bench.table import Row

PAUSE = 0.025  # seconds between two commands
ENTRIES = 1_000
BIG = tuple(f"big-{number}" for number in range(1, 7))  # one after the other: one of them is parsed at any time
CONFIG = """
state = "sqlite:///bell.db"
http = {{ listen = "127.0.0.1:{port}" }}
slack = {{ api_url = "{world}/api/" }}
delivery = {{ channel_gap = "0s", slack_per_minute = 0, max_new_single = 1000000 }}
polling = {{ host_gap = "0s" }}

[[feeds]]
id = "bench"
url = "{world}/chat-{port}/0.xml"
allow_private = ["127.0.0.0/8"]

[[routes]]
to = "slack:C00000001"
feeds = ["many"]
"""
FEED = """
[[feeds]]
id = "{name}"
url = "{base}/{name}.xml"
allow_private = ["127.0.0.0/8"]
"""
ITEM = (
    "<item><title>{name} {n}</title><link>https://{name}.example/{n}</link><guid>https://{name}.example/{n}</guid>"
    "<pubDate>{date}</pubDate><description>{words}</description></item>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How the bot was kept busy meanwhile."""

    delivered: int
    parsed: int

    def __str__(self) -> str:
        return f"{self.delivered:,} of {ENTRIES:,} deliveries and {self.parsed} of {len(BIG)} parses ended meanwhile"


def rows(world: Outside, *, asks: int) -> Iterator[Row]:
    """Measure both transports, each at a bot of its own."""
    world.set_mode("etag")
    over_http = {"FEEDBELL_SLACK__SIGNING_SECRET": SECRET}
    by_socket = {"FEEDBELL_SLACK__APP_TOKEN": "xapp-bench"}
    yield asyncio.run(_row(world, "18a", "over HTTP", over_http, People.ask_over_http, asks))
    yield asyncio.run(_row(world, "18b", "by Socket Mode", by_socket, People.ask_by_socket, asks))


Ask = Callable[[People, str], Awaitable[Heard]]


async def _row(world: Outside, number: str, how: str, secrets: dict[str, str], ask: Ask, asks: int) -> Row:
    with _feeds() as feeds:
        return await _measured(world, feeds, number, how, secrets, ask, asks)


async def _measured(
    world: Outside, feeds: "Feeds", number: str, how: str, secrets: dict[str, str], ask: Ask, asks: int
) -> Row:
    async with people() as here, _running(world, here, feeds, secrets) as bot:
        if "FEEDBELL_SLACK__APP_TOKEN" in secrets:
            await asyncio.wait_for(here.connected.wait(), 30)
        await _asked(here, bot, ask, 20)
        idle = await _asked(here, bot, ask, asks)
        with _busy_cores():
            crowded = await _asked(here, bot, ask, asks)
        started = os.getloadavg()[0]
        with _slow_disk(bot.folder / "bell.db"):
            await _burden(world, feeds, bot)
            loaded = await _asked(here, bot, ask, asks)
            load = await _load(world, bot)
    quiet, busy = _p99(idle), _p99(loaded)
    ratio = max(busy.acknowledged / quiet.acknowledged, busy.answered / quiet.answered)
    return Row(
        number=number,
        what=f"/latest bgp {how}, p99 of acknowledgement · answer, busy bot (idle)",
        measured=f"{_ms(busy)} ({_ms(quiet)}), {ratio:.1f} ×",
        bar="≤ 500 ms · ≤ 1,000 ms, < 3 ×",
        held=busy.acknowledged <= 0.5 and busy.answered <= 1 and ratio < 3,
        note=f"medians {_median(loaded):.1f} ({_median(idle):.1f}) ms; an idle bot beside two processes that count:"
        f" {_ms(_p99(crowded))}; {load}; machine's load {started:.1f}",
    )


async def _asked(here: People, bot: Bot, ask: Ask, times: int) -> Sequence[Heard]:
    heard = []
    for _ in range(times):
        heard.append(await ask(here, f"http://127.0.0.1:{bot.port}"))
        await asyncio.sleep(PAUSE)
    return heard


def _p99(heard: Sequence[Heard]) -> Heard:
    return Heard(
        acknowledged=percentile([one.acknowledged for one in heard], 0.99),
        answered=percentile([one.answered for one in heard], 0.99),
    )


def _median(heard: Sequence[Heard]) -> float:
    return percentile([one.answered for one in heard], 0.5) * 1000


def _ms(heard: Heard) -> str:
    return f"{heard.acknowledged * 1000:.0f} · {heard.answered * 1000:.0f} ms"


# --- the bot and its burden ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeds:
    """Documents, served by a process of its own: whoever measures must not be busy with ten megabytes."""

    folder: Path
    url: str

    def show(self, name: str, document: bytes) -> None:
        (self.folder / f"{name}.xml").write_bytes(document)


@contextmanager
def _feeds() -> Iterator[Feeds]:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="bench-feeds-") as folder:
        command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", folder]
        silent = subprocess.DEVNULL
        process = subprocess.Popen(command, stdout=silent, stderr=silent)
        try:
            yield Feeds(folder=Path(folder), url=f"http://127.0.0.1:{port}")
        finally:
            process.kill()
            process.wait()


@asynccontextmanager
async def _running(world: Outside, here: People, feeds: Feeds, secrets: dict[str, str]) -> AsyncIterator[Bot]:
    """A bot that has read its feeds."""
    world.set_link(here.url.replace("http", "ws") + "/link")
    feeds.show("many", _document("many", 1))
    with tempfile.TemporaryDirectory(prefix="bench-chat-") as folder:
        port = free_port()
        text = CONFIG.format(port=port, world=world.http) + FEED.format(name="many", base=feeds.url)
        (Path(folder) / "config.toml").write_text(text, encoding="utf-8")
        bot = Bot(folder=Path(folder), port=port, secrets={**SECRETS, **secrets})
        process = bot.start("run")
        try:
            await _until(lambda: _polled(bot, "bench") and _polled(bot, "many"))
            yield bot
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait, 60)


async def _burden(world: Outside, feeds: Feeds, bot: Bot) -> None:
    """Big feeds come to the configuration, and a thousand entries to a feed; return when both are in the works."""
    for number, name in enumerate(BIG):
        feeds.show(name, _document(name, 20_000 + number, words=300))
    feeds.show("many", _document("many", 1 + ENTRIES))
    await asyncio.to_thread(world.facts)
    await asyncio.to_thread(_poke, bot)
    await _until(lambda: world.facts()["posts"])
    path = bot.folder / "config.toml"
    path.write_text(path.read_text() + "".join(FEED.format(name=name, base=feeds.url) for name in BIG))
    await asyncio.to_thread(_poke, bot)  # it looks at the file when it wakes


async def _load(world: Outside, bot: Bot) -> Load:
    facts = await asyncio.to_thread(world.facts)
    return Load(delivered=len(facts["posts"]), parsed=sum(_polled(bot, name) for name in BIG))


def _document(name: str, entries: int, *, words: int = 200) -> bytes:
    text = ("a word of the post " * 30)[:words]
    date = format_datetime(datetime.now(UTC))
    items = "".join(ITEM.format(name=name, n=n, words=text, date=date) for n in range(entries))
    return f'<rss version="2.0"><channel><title>{name}</title>{items}</channel></rss>'.encode()


@contextmanager
def _busy_cores() -> Iterator[None]:
    """What the machine alone does to answers while a parse worker and one more thread want its cores."""
    count = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(count), subprocess.Popen(["nice", "-n", "5", *count])]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def _slow_disk(path: Path) -> Iterator[None]:
    """Nothing can be written for 200 to 500 ms at a time: somebody else has the lock."""
    ended = threading.Event()

    def hold() -> None:
        draw = random.Random(5)
        connection = sqlite3.connect(path, timeout=30, isolation_level=None)
        while not ended.is_set():
            connection.execute("BEGIN IMMEDIATE")
            ended.wait(draw.uniform(0.2, 0.5))
            connection.execute("ROLLBACK")
            ended.wait(draw.uniform(0.2, 0.5))
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        yield
    finally:
        ended.set()
        holder.join()


def _poke(bot: Bot) -> None:
    token = SECRETS["FEEDBELL_HTTP__POKE_TOKEN"]
    request = urllib.request.Request(
        f"http://127.0.0.1:{bot.port}/hooks/poke/many", data=b"", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()


def _polled(bot: Bot, name: str) -> bool:
    """Whether entries of the feed are in the store."""
    path = bot.folder / "bell.db"
    if not path.exists():
        return False
    connection = sqlite3.connect(path)
    try:
        found = connection.execute("SELECT primed_at FROM feed WHERE id = ?", [name]).fetchone()
    except sqlite3.OperationalError:
        return False  # not made yet
    finally:
        connection.close()
    return found is not None and found[0] is not None


async def _until(check: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(check):
            await asyncio.sleep(0.05)
