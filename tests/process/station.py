"""A running bot, its Slack, its feeds, and an operator who looks and writes: for tests of operations."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Self

from aiohttp import ClientSession

from tests.bot_process import eventually
from tests.cases.world import World
from tests.servers.feeds import Document

NEWS = "slack:#news"
OPS = "slack:#ops"
START = datetime(2026, 9, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the bot's port said."""

    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def rss(*titles: str, head: str = "") -> bytes:
    """Return a feed that lists these, oldest first in the call and newest first in the document."""
    items = [
        f"<item><title>{title}</title><link>https://blog.example.org/{title}</link>"
        f"<guid>https://blog.example.org/{title}</guid>"
        f"<pubDate>{format_datetime(START + timedelta(hours=number))}</pubDate>"
        f"<description>About {title}.</description></item>"
        for number, title in enumerate(titles)
    ]
    return (
        '<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>'
        f"<title>Blog</title><link>https://blog.example.org/</link><description>A blog</description>{head}"
        f"{''.join(reversed(items))}</channel></rss>"
    ).encode()


class Station(World):
    """A World whose process runs all the time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, live=True)
        self.base = f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        del self.secrets["FEEDBELL_SLACK__APP_TOKEN"], self.secrets["FEEDBELL_DISCORD__BOT_TOKEN"]
        self.slack.team.add_channel("news")
        return self

    def publish(self, name: str, *titles: str, head: str = "", **more: Any) -> str:
        """Let a feed list these, and nothing else."""
        self.feeds.serve(f"/{name}.xml", Document(body=rss(*titles, head=head), **more))
        return f"http://feeds.example.org/{name}.xml"

    def follow(self, name: str, *titles: str, to: str = NEWS, **more: Any) -> dict[str, Any]:
        """Configure a feed that lists these now; return its table."""
        url = self.publish(name, *titles, **more)
        self.subscribe(url, "", [to])
        self.subscriptions[url]["id"] = name
        self.routes[-1]["feeds"] = [name]
        return self.subscriptions[url]

    async def started(self, *, polled: str | None = "blog") -> None:
        """Start the bot and wait for the first, silent poll."""
        await self.start()
        if polled is not None:
            await self.entry_count(1)

    async def entry_count(self, at_least: int) -> None:
        async def enough() -> bool:
            return int((await self.metric("feedbell_entries")) or 0) >= at_least

        await self.becomes(enough)

    async def becomes(self, check: Any, *, seconds: float = 15) -> None:
        """Wait until an awaited check is true."""
        for _ in range(int(seconds / 0.05)):
            if await check():
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"not within {seconds} s: {check}\n{self.bot.log}")

    async def ask(self, method: str, path: str, **more: Any) -> Answer:
        async with ClientSession() as session, session.request(method, self.base + path, **more) as answer:
            return Answer(status=answer.status, text=await answer.text(), headers=dict(answer.headers))

    async def metric(self, name: str) -> float | None:
        """Return a number of /metrics; `name` with its labels, as it stands there."""
        text = (await self.ask("GET", "/metrics")).text
        found = [line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(f"{name} ")]
        return float(found[0]) if found else None

    def hup(self) -> None:
        self.configure()
        os.kill(self.bot.pid, signal.SIGHUP)

    async def reload(self) -> None:
        """Change the file, say so, and wait until it is in force."""
        before = self.bot.log.count("configuration changed")
        self.hup()
        await eventually(lambda: self.bot.log.count("configuration changed") > before, seconds=4)

    async def poll_again(self, path: str = "/blog.xml") -> None:
        """Let time pass until a feed has been asked once more."""
        before = self.feeds.hits(path)
        for _ in range(6):
            self.clock.move(timedelta(minutes=20))
            if await self.until(lambda: self.feeds.hits(path) > before, seconds=2.5):
                return
        raise AssertionError(f"{path} is not polled\n{self.bot.log}")

    def titles(self, target: str = NEWS) -> list[str]:
        """What stands in a channel, in order; a digest's entries one by one."""
        return [post.title for post in self._posts_of(target)]

    async def told(self, *titles: str, seconds: float = 15) -> None:
        """Wait until exactly these were told, in this order."""
        await self.until(lambda: len(self.titles()) >= len(titles), seconds=seconds)
        assert self.titles() == list(titles), self.bot.log

    def notices(self) -> list[str]:
        """What the operator was told."""
        return [post.text for post in self._posts_of(OPS)]

    async def noticed(self, words: str, *, seconds: float = 15) -> str:
        """Wait for the one notice that holds these words."""
        await self.until(lambda: any(words in text for text in self.notices()), seconds=seconds)
        found = [text for text in self.notices() if words in text]
        assert len(found) == 1, (words, self.notices(), self.bot.log)
        return found[0]


@asynccontextmanager
async def station(folder: Path) -> AsyncIterator[Station]:
    async with Station(folder) as here:
        yield here
