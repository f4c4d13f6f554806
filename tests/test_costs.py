"""What things cost, as counts: a gross loss fails here, whatever machine it runs on. `make bench` measures times."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from bench.polling import Polls, Scene
from bench.world import Wire, World
from bot.core.model.entry import Key, Listed, ParsedFeed
from bot.parser.guarded import GuardedParser
from bot.store.store import Store

ROOT = Path(__file__).parent.parent
FEEDS = 40
HEAVY = ("aiohttp", "feedparser", "discord", "slack_sdk", "apscheduler", "prometheus_client", "psycopg", "rich")


class CountingParser(GuardedParser):
    """The real one; it keeps what came of each document."""

    def __init__(self) -> None:
        super().__init__()
        self.parsed: list[ParsedFeed] = []

    async def parse(self, body: bytes, *, url: str, content_type: str | None, listed: dict[bytes, Key]) -> ParsedFeed:
        feed = await super().parse(body, url=url, content_type=content_type, listed=listed)
        self.parsed.append(feed)
        return feed


class Room:
    """The product's polls over a world of ours, and the statements that its writer has run."""

    def __init__(self, world: World, polls: Polls, parser: CountingParser) -> None:
        self.world = world
        self.parser = parser
        self.statements: list[str] = []
        self._polls = polls
        self._traced: sqlite3.Connection | None = None

    async def round(self, mode: str) -> None:
        """Poll every feed once, counting anew."""
        self.world.mode = mode
        self.world.seen.clear()
        self.parser.parsed.clear()
        self.statements.clear()
        self._trace()
        await self._polls.round()

    def commits(self) -> int:
        return sum(statement == "COMMIT" for statement in self.statements)

    @property
    def store(self) -> Store:
        return self._polls.store

    @property
    def polls(self) -> Polls:
        return self._polls

    def _trace(self) -> None:
        raw = self._polls.store._db._connection._raw  # type: ignore[union-attr,attr-defined]
        raw.set_trace_callback(lambda statement: self.statements.append(statement))


@asynccontextmanager
async def room(folder: Path, *, feeds: int = FEEDS, at_once: int = 50) -> AsyncIterator[Room]:
    world = World()
    server = await asyncio.get_running_loop().create_server(lambda: Wire(world), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    parser = CountingParser()
    urls = [f"http://127.0.0.1:{port}/room/{number}.xml" for number in range(feeds)]
    polls = Polls(Scene(urls=urls, state=f"sqlite:///{folder}/bell.db", at_once=at_once), parser)
    await polls.open()
    try:
        yield Room(world, polls, parser)
    finally:
        await polls.close()
        server.close()


async def test_a_feed_that_answers_304_costs_one_statement_and_shares_its_commit(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.round("etag")
        await here.round("etag")
        assert here.world.seen["304"] == FEEDS
        assert here.parser.parsed == []
        assert len(here.statements) - 2 * here.commits() <= FEEDS + 6
        assert here.commits() < FEEDS


async def test_a_body_that_has_not_changed_is_not_parsed(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.round("plain")
        assert len(here.parser.parsed) == FEEDS
        await here.round("plain")
        assert here.world.seen["200"] == FEEDS
        assert here.parser.parsed == []


async def test_a_body_of_which_only_the_build_date_has_moved_is_not_parsed(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.round("build")
        await here.round("build")
        assert here.world.seen["200"] == FEEDS
        assert here.parser.parsed == []


async def test_of_a_document_with_one_new_entry_only_that_entry_is_parsed(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.round("new")
        await here.round("new")
        fresh = [sum(not isinstance(item, Listed) for item in feed.items) for feed in here.parser.parsed]
        assert len(fresh) == FEEDS
        # A feed whose few tags do not yet show what is a section is read whole.
        assert fresh.count(1) >= FEEDS * 0.8


async def test_a_poll_that_found_an_entry_costs_few_statements(tmp_path: Path) -> None:
    async with room(tmp_path, feeds=1) as here:
        await here.round("new")
        await here.round("new")
        await here.round("new")
        assert sum("INSERT INTO entry " in statement for statement in here.statements) == 1
        assert len(here.statements) <= 19


async def test_feeds_of_one_host_share_a_connection(tmp_path: Path) -> None:
    async with room(tmp_path, feeds=30, at_once=1) as here:
        await here.round("etag")
        assert here.world.seen["200"] == 30
        assert here.world.seen["connections"] <= 10


async def test_a_look_for_due_feeds_and_messages_that_finds_none_writes_nothing(tmp_path: Path) -> None:
    async with room(tmp_path, feeds=3) as here:
        await here.round("etag")
        now, watching = here.polls.clock.now(), sqlite3.connect(tmp_path / "bell.db")
        version = watching.execute("PRAGMA data_version").fetchone()
        for _ in range(5):
            assert not await here.store.claim_feeds(now=now - timedelta(hours=1), lease=timedelta(minutes=2), limit=100)
            assert (
                await here.store.claim_lane(now=now - timedelta(days=1), lease=timedelta(minutes=2), limit=10) is None
            )
        assert watching.execute("PRAGMA data_version").fetchone() == version
        watching.close()


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--help"], (*HEAVY, "asyncio", "pydantic", "sqlite3", "nh3", "jinja2")),
        (["check"], HEAVY),
        (["latest", "bgp"], (*HEAVY, "jinja2")),
        (["feeds"], (*HEAVY, "jinja2")),
    ],
)
def test_a_command_imports_no_more_than_it_needs(
    arguments: list[str], unwanted: tuple[str, ...], tmp_path: Path
) -> None:
    feed = '[[feeds]]\nid = "a"\nurl = "https://a.example/"\n'
    (tmp_path / "config.toml").write_text(f'state = "sqlite:///bell.db"\n{feed}[[routes]]\nto = "console"\n')
    assert (
        loaded(f"from bot.cli import main\ntry: main({arguments!r})\nexcept SystemExit: pass", tmp_path) & {*unwanted}
        == set()
    )


def test_the_bot_imports_no_parser_no_discord_and_no_template_engine_before_it_needs_them(tmp_path: Path) -> None:
    unwanted = {"feedparser", "discord", "slack_sdk", "jinja2", "psycopg", "rich", "nacl", "aiosmtplib"}
    assert loaded("import bot.app.running", tmp_path) & unwanted == set()


def loaded(code: str, folder: Path) -> set[str]:
    """The modules that a new process has, after `code`."""
    report = "import sys\nprint('LOADED', *sys.modules)"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], cwd=folder, env=environment, capture_output=True, text=True
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("LOADED")]
    assert lines, done.stderr
    return set(lines[-1].split()[1:])
