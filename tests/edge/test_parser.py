"""The guarded parser gives what core.parse gives, one document at a time, and hostile ones fail alone."""

from __future__ import annotations

import asyncio
import io
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.errors import NotAFeed, ParserFailed
from bot.core.model.entry import ParsedEntry, ParsedFeed
from bot.core.parse.document import parse
from bot.parser.guarded import GuardedParser
from bot.parser.limits import ParseLimits
from bot.parser.wire import PORTION, Answer, Question, frames, read_answer
from bot.ports import Parser

HEAD = b"<?xml version='1.0'?><rss version='2.0'><channel><title>Feed</title><link>http://x.example/</link>"
TAIL = b"</channel></rss>"


def item(number: int, words: int = 5) -> bytes:
    text = f"<item><guid>g{number}</guid><title>Title {number}</title><link>http://x.example/{number}</link>"
    text += f"<pubDate>Mon, 02 Sep 2024 10:00:00 GMT</pubDate><description>{'word ' * words}</description></item>"
    return text.encode()


def document(items: int, words: int = 5) -> bytes:
    return HEAD + b"".join(item(number, words) for number in range(items)) + TAIL


SMALL = document(3)


@asynccontextmanager
async def parsing(limits: ParseLimits = ParseLimits()) -> AsyncIterator[GuardedParser]:  # noqa: B008 - frozen
    parser = GuardedParser(limits)
    try:
        yield parser
    finally:
        await parser.close()


async def read(parser: Parser, body: bytes) -> ParsedFeed:
    return await parser.parse(body, url="http://x.example/f", content_type="application/rss+xml", listed={})


async def test_a_feed_comes_back_as_core_reads_it() -> None:
    async with parsing() as parser:
        feed = await read(parser, SMALL)
    expected = parse(SMALL, url="http://x.example/f", content_type="application/rss+xml", listed={})
    assert feed == expected
    assert [entry.guid for entry in feed.items if isinstance(entry, ParsedEntry)] == ["g0", "g1", "g2"]


@pytest.mark.parametrize("body", [b"", b"<html><body>no</body></html>", b"{}", b"\xff\xfe\x00"])
async def test_what_is_no_feed_is_said_to_be_none_and_costs_no_worker(body: bytes) -> None:
    async with parsing() as parser:
        await read(parser, SMALL)
        pid = parser.pid
        with pytest.raises(NotAFeed):
            await read(parser, body)
        assert (parser.pid, parser.killed) == (pid, 0)


async def test_the_worker_starts_with_the_first_document_and_ends_when_idle() -> None:
    async with parsing(ParseLimits(idle=timedelta(seconds=0.05))) as parser:
        assert parser.pid is None
        await read(parser, SMALL)
        pid = parser.pid
        assert pid is not None
        await idle(parser)
        await gone(pid)
        await read(parser, SMALL)
        assert parser.pid not in (None, pid)
        assert parser.killed == 0


async def test_documents_wait_for_their_turn_and_none_gets_anothers_answer() -> None:
    async with parsing() as parser:
        feeds = await asyncio.gather(*(read(parser, document(number)) for number in range(1, 30)))
        assert [len(feed.items) for feed in feeds] == list(range(1, 30))


async def test_a_caller_that_gave_up_leaves_no_answer_behind() -> None:
    async with parsing() as parser:
        await read(parser, SMALL)
        slow = asyncio.create_task(read(parser, document(4000)))
        waiting = asyncio.create_task(read(parser, document(2)))
        await asyncio.sleep(0.05)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert len((await waiting).items) == 2


async def test_a_worker_that_is_killed_fails_one_document_and_is_counted() -> None:
    async with parsing() as parser:
        await read(parser, SMALL)
        assert parser.pid is not None
        victim, pid = asyncio.create_task(read(parser, document(4000))), parser.pid
        others = [asyncio.create_task(read(parser, document(number))) for number in (1, 2, 3)]
        await asyncio.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(ParserFailed, match="ended in the middle"):
            await victim
        assert [len((await other).items) for other in others] == [1, 2, 3]
        assert parser.killed == 1


async def test_a_worker_that_died_while_idle_costs_no_document() -> None:
    async with parsing() as parser:
        await read(parser, SMALL)
        assert parser.pid is not None
        os.kill(parser.pid, signal.SIGKILL)
        await idle(parser)
        assert len((await read(parser, SMALL)).items) == 3
        assert parser.killed == 0


async def test_cpu_and_memory_are_bounded_for_each_document() -> None:
    for limits, words, reason in (
        (ParseLimits(cpu=timedelta(seconds=1)), 2400, "too much CPU time"),
        (ParseLimits(memory=64 * 1024 * 1024), 600, "too much memory"),
    ):
        heavy = document(5000, words=words)
        async with parsing(limits) as parser:
            with pytest.raises(ParserFailed, match=reason):
                await read(parser, heavy)
            assert len((await read(parser, SMALL)).items) == 3


async def test_a_worker_that_stands_still_is_given_up() -> None:
    async with parsing(ParseLimits(wall=timedelta(seconds=2))) as parser:
        await read(parser, SMALL)
        assert parser.pid is not None
        os.kill(parser.pid, signal.SIGSTOP)
        with pytest.raises(ParserFailed, match="took too long"):
            await read(parser, SMALL)
        assert (parser.pid, parser.killed) == (None, 1)


async def test_cpu_is_counted_by_document_not_by_worker() -> None:
    async with parsing(ParseLimits(cpu=timedelta(seconds=2))) as parser:
        await read(parser, SMALL)
        pid = parser.pid
        for _ in range(4):
            await read(parser, document(2500))  # together more than the limit of one
        assert (parser.pid, parser.killed) == (pid, 0)


async def test_a_worker_that_has_grown_is_replaced() -> None:
    async with parsing(ParseLimits(grown=1)) as parser:
        for _ in range(2):
            assert len((await read(parser, SMALL)).items) == 3
            assert parser.pid is None
        assert parser.killed == 0


async def test_an_answer_that_is_too_long_is_not_taken() -> None:
    async with parsing(ParseLimits(answer=10)) as parser:
        with pytest.raises(ParserFailed):
            await read(parser, SMALL)
        assert parser.killed == 1


async def test_the_worker_has_no_secret_no_file_of_ours_and_goes_first_when_memory_is_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FEEDBELL_SLACK__BOT_TOKEN", "canary")
    async with parsing() as parser:
        await read(parser, SMALL)
        process = Path(f"/proc/{parser.pid}")
        assert b"canary" not in (process / "environ").read_bytes()
        assert (process / "oom_score_adj").read_text().strip() == "1000"
        targets = {os.readlink(link) for link in (process / "fd").iterdir()}
        assert all(target.startswith("pipe:") or target == os.devnull for target in targets)


PARENT = """
import asyncio
from bot.parser.guarded import GuardedParser
async def main():
    parser = GuardedParser()
    await parser.parse(b"<rss version='2.0'><channel><title>t</title></channel></rss>", url="http://x/",
                       content_type=None, listed={})
    print(parser.pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_the_worker_dies_with_its_parent_even_by_kill_9() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent, parent.stdout:
        pid = int(parent.stdout.readline())
        parent.kill()
    await gone(pid)


async def idle(parser: GuardedParser) -> None:
    """Wait until the parser has noticed that it has no worker."""
    for _ in range(500):
        if parser.pid is None:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"process {parser.pid} is still there")


async def gone(pid: int) -> None:
    for _ in range(500):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state in "ZX":
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"process {pid} is still there")


class _Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch /tmp/should-not-exist",)


def heard(*packed: bytes) -> Answer:
    """What is read of these frames."""
    return read_answer(io.BytesIO(b"".join(packed)), 1 << 20)


@pytest.mark.parametrize("said", [_Evil(), {"feed": None}, Question(body=b"", url="", content_type=None, listed={})])
def test_an_answer_can_name_nothing_but_what_a_parse_gives(said: object) -> None:
    packed = pickle.dumps(said)
    with pytest.raises(pickle.UnpicklingError, match=r"nothing that a parse gives|no answer"):
        heard(len(packed).to_bytes(4, "big"), packed)


def test_every_kind_of_value_crosses_the_pipe_unchanged() -> None:
    dated = ParsedEntry(guid="g", published=datetime(2024, 9, 2, tzinfo=UTC), categories=("a",))
    answer = Answer(feed=ParsedFeed(items=(dated,), ttl=timedelta(minutes=5), skip_hours=(1,)))
    assert heard(*frames(answer)) == answer


def feed_of(items: int) -> ParsedFeed:
    return parse(document(items), url="http://x.example/f", content_type="application/rss+xml", listed={})


@pytest.mark.parametrize("items", [0, 1, PORTION, PORTION + 1, 3 * PORTION])
def test_a_feed_of_any_length_comes_back_whole(items: int) -> None:
    answer = Answer(feed=feed_of(items), is_last=True)
    assert answer.feed is not None
    assert len(answer.feed.items) == items
    assert heard(*frames(answer)) == answer


def test_an_answer_that_breaks_off_is_none() -> None:
    portions = list(frames(Answer(feed=feed_of(PORTION + 1))))
    for half in (portions[:1], portions[:2], [*portions[:2], portions[2][:-1]], [portions[0][:3]]):
        with pytest.raises(EOFError):
            heard(*half)


def test_all_portions_of_an_answer_count_against_its_length() -> None:
    packed = b"".join(frames(Answer(feed=feed_of(3 * PORTION))))
    with pytest.raises(ValueError, match="too long"):
        read_answer(io.BytesIO(packed), len(packed) - 100)
