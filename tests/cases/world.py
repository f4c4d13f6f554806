"""Everything around the bot in one case: the strict servers, its configuration, its process, its time."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack, closing, suppress
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession

from tests.bot_process import BotProcess, Finished, eventually
from tests.cases.case_feeds import CaseFeeds
from tests.cases.moment import CaseClock
from tests.cases.posts import Post, discord_posts, mail_posts, slack_posts
from tests.servers.discord import DiscordServer
from tests.servers.faults import Json
from tests.servers.feeds import Document, FeedServer
from tests.servers.slack import SlackServer
from tests.servers.smtp import SmtpServer

INTERVAL = timedelta(minutes=15)
ROUNDS = 4  # intervals until a feed that failed is asked again
HOST = "feeds.example.org"
TYPES = {".atom": "application/atom+xml", ".json": "application/feed+json", ".html": "text/html; charset=utf-8"}
Settings = dict[str, Any]  # as written in TOML


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def table(header: str, settings: Settings) -> str:
    return f"{header}\n" + "".join(f"{key} = {toml(value)}\n" for key, value in settings.items())


class World:
    """One operator's bot among local services. `live`: it is a long-running process, else each poll is a `once`."""

    def __init__(self, folder: Path, *, live: bool) -> None:
        self.folder = folder
        self.live = live
        self.clock = CaseClock(folder / "clock")
        self.slack = SlackServer(clock=self.clock)
        self.discord = DiscordServer(clock=self.clock)
        self.smtp = SmtpServer(clock=self.clock)
        self.feeds = CaseFeeds(clock=self.clock)
        self.hosts: dict[str, str] = {}  # other hosts of a case -> where they are here
        self.port = free_port()
        self.top: Settings = {"contact": "https://example.org/bot"}
        self.sections: dict[str, Settings] = {}
        self.subscriptions: dict[str, Settings] = {}  # the case's address -> its feed
        self.routes: list[Settings] = []
        self.secrets: dict[str, str] = {}
        self.outputs: list[str] = []
        self.targets: dict[str, str] = {}  # the case's name -> ours
        self.allowed = ["127.0.0.0/8"]  # where feeds may be
        self.answers: list[str] = []  # to commands, since the last step
        self.intrusions = 0  # connections to what must not be reached
        self.bot: BotProcess
        self.release = threading.Event()  # for whoever holds a lock on the state
        self.holder = threading.Thread()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for server in (self.slack, self.discord, self.smtp, self.feeds):
            await self._stack.enter_async_context(server)
        self.sections = {
            "http": {"listen": f"127.0.0.1:{self.port}"},
            "slack": {"api_url": self.slack.api_url},
            "discord": {"api_url": self.discord.api_url},
            "email": {"host": self.smtp.host, "port": self.smtp.port, "security": "none", "from": "bell@example.org"},
            "delivery": {"grace": "1s", "look_again": "1s", "channel_gap": "0s", "slack_per_minute": 0},
            "polling": {"host_gap": "0s"},
        }
        self.secrets = {
            "FEEDBELL_SLACK__BOT_TOKEN": self.slack.bot_token,
            "FEEDBELL_SLACK__APP_TOKEN": self.slack.app_token,
            "FEEDBELL_DISCORD__BOT_TOKEN": self.discord.bot_token,
        }
        environ = {"CASE_CLOCK": str(self.clock.file)}
        self.bot = BotProcess(self.folder, "", environ, module="tests.cases.moved")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bot.is_running:
            await self.bot.kill()
        await self._stack.aclose()

    async def enter(self, server: FeedServer) -> FeedServer:
        """Start one more server, for as long as the case lasts."""
        return await self._stack.enter_async_context(server)

    def at_end(self, act: Callable[[], object]) -> None:
        self._stack.callback(act)

    # --- addresses -----------------------------------------------------------------------------------------------

    def here(self, url: str) -> str:
        """Return where an address of the case is in this test."""
        parts = urlsplit(url)
        if parts.hostname == HOST:
            base = self.hosts.get(HOST, self.feeds.url)
        elif parts.netloc in self.hosts:
            base = self.hosts[parts.netloc]
        elif (parts.hostname or "").endswith("example.org"):
            base = f"{self.feeds.url}/{parts.netloc}"
        else:
            return url
        return base + url.partition(parts.netloc)[2]

    def target(self, name: str) -> str:
        """Return our destination for a target of the case, and make its channel."""
        if name in self.targets:
            return self.targets[name]
        kind, _, address = name.partition(":")
        ours = f"email:{address}" if kind == "email-digest" else name
        if kind == "slack":
            self.slack.team.add_channel(address.lstrip("#"))
        if kind == "discord":
            id = "200" if address == "news" else str(210 + len(self.targets))
            self.discord.guild.add_channel(id, address)
            ours = f"discord:{id}"
        self.targets[name] = ours
        return ours

    # --- the configuration ---------------------------------------------------------------------------------------

    def subscribe(self, url: str, tag: str, to: list[str]) -> None:
        """Follow an address; a second subscription to it is one more route of the same feed."""
        feed = self.subscriptions.setdefault(url, self._feed(url))
        feed["tags"] = [*dict.fromkeys([*feed["tags"], *([tag] if tag else [])])]
        route: Settings = {"to": [self.target(name) for name in to], "feeds": [feed["id"]]}
        if any(name.startswith("email-digest:") for name in to):
            route |= {"digest": "daily 02:30", "timezone": "Europe/Berlin"}
        self.routes.append(route)

    def _feed(self, url: str) -> Settings:
        words = urlsplit(url).path.strip("/").replace("/", "-").replace(".", "-").lower()
        return {
            "id": f"{words}-{len(self.subscriptions)}",
            "url": self.here(url),
            "interval": f"{INTERVAL.seconds // 60}m",
            "own": True,
            "tags": [],
            "allow_private": self.allowed,
        }

    def configure(self) -> None:
        parts = [table("", self.top)]
        parts += [table(f"[{name}]", settings) for name, settings in self.sections.items()]
        parts += [table("[[feeds]]", feed) for feed in self.subscriptions.values()]
        parts += [table("[[routes]]", route) for route in self.routes]
        self.bot.configure("\n".join(parts))
        self.bot.environ.update(self.secrets)

    # --- the process ---------------------------------------------------------------------------------------------

    async def start(self) -> None:
        self.configure()
        before = self.bot.log.count("running")
        await self.bot.start()
        await eventually(lambda: self.bot.log.count("running") > before or not self.bot.is_running, every=0.02)
        assert self.bot.is_running, self.bot.log

    async def restart(self, how: str) -> None:
        """Stop and start again; where polls are `once`, a long-running process comes and goes between two of them."""
        if how != "start only" and not self.bot.is_running:
            await self.start()
        if how == "kill":
            await self.bot.kill()
        elif how == "stop":
            assert await self.bot.stop() == 0, self.bot.log
        if self.live:
            await self.start()

    async def poll(self) -> None:
        """Let one normal round happen."""
        if not self.live:
            await self.once()
            return
        wanted = len(self.feeds.requests) + len(self.subscriptions)
        if not self.bot.is_running:
            await self.start()
            await self.until(lambda: len(self.feeds.requests) >= wanted, seconds=5)
        for _ in range(ROUNDS):
            if len(self.feeds.requests) >= wanted:
                break
            self.clock.move(INTERVAL * 1.15)
            await self.until(lambda: len(self.feeds.requests) >= wanted, seconds=2)
        # The next step may change a document, or the time: what was answered must be in the store before.
        await self.until(lambda: not self.is_reading(), seconds=20)
        await self.quiet()

    async def once(self) -> Finished:
        self.configure()
        done = await self.bot.call("once")
        self.outputs += [done.out, done.err]
        assert done.code in (0, 75), f"once ended with {done.code}:\n{done.out}\n{done.err}"
        assert "Traceback" not in done.err, done.err
        return done

    async def until(self, check: Callable[[], bool], *, seconds: float) -> bool:
        """Wait for something that may also never come."""
        try:
            await eventually(check, seconds=seconds)
        except AssertionError:
            return False
        return True

    async def quiet(self, seconds: float = 0.8) -> None:
        """Wait until nothing has reached any server for a while."""
        last, still = self._traffic(), 0.0
        for _ in range(400):
            await asyncio.sleep(0.05)
            now = self._traffic()
            last, still = now, (still + 0.05 if now == last else 0.0)
            if still >= seconds:
                return

    async def page(self, path: str) -> str:
        """Return what the bot's own port answers; empty when nothing listens there."""
        try:
            async with ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}{path}") as answer:
                return await answer.text()
        except ClientError:
            return ""

    def is_reading(self) -> bool:
        """Whether the bot has an answer that is not yet in the store. Its parser may just be starting."""
        for path in self.folder.rglob("*.db"):
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as state, suppress(sqlite3.Error):
                held = [url for (url,) in state.execute("SELECT url FROM feed WHERE lease_until IS NOT NULL")]
                return not all(self.feeds.never_ends(urlsplit(url).path) for url in held)
        return False

    def _traffic(self) -> tuple[int, ...]:
        http = (self.feeds, self.slack, self.discord)
        return (*(len(server.requests) for server in http), len(self.smtp.lines))

    # --- what subscribers see ------------------------------------------------------------------------------------

    def posts(self) -> dict[str, list[Post]]:
        """Return what each target of the case has been shown, oldest first."""
        return {name: self._posts_of(ours) for name, ours in self.targets.items()}

    def _posts_of(self, ours: str) -> list[Post]:
        kind, _, address = ours.partition(":")
        if kind == "slack":
            return [post for message in self.slack.in_channel(address) for post in slack_posts(message)]
        if kind == "discord":
            return [post for message in self.discord.in_channel(address) for post in discord_posts(message)]
        return [post for mail in self.smtp.to(address) for post in mail_posts(mail)]

    def serve(self, url: str, body: bytes, name: str, step: Json) -> None:
        """Let an address answer from now on as a step of the case says."""
        headers = {key: None if value is None else self._moved(value) for key, value in step.get("headers", {}).items()}
        own_validators = any(key.lower() in ("etag", "last-modified") for key in headers)
        suffix = Path(name or urlsplit(url).path).suffix
        document = Document(
            body=body,
            status=step.get("status", 200),
            content_type=TYPES.get(suffix, "application/rss+xml"),
            headers=headers,
            conditional=not own_validators,  # a case that spells a validator is about one that lies
        )
        self.feeds.serve(urlsplit(self.here(url)).path, document)

    def _moved(self, value: str) -> str:
        return self.here(value) if value.startswith(("http://", "https://")) else value
