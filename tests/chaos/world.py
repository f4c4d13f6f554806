"""One bot's whole surroundings: a folder, a feed, a place on each service, and the means to start and kill it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from tests.chaos import invariants
from tests.chaos.entries import entry_name, feed_of
from tests.chaos.nursery import ROOT, Child, Nursery
from tests.chaos.oracle import Arrival, Oracle
from tests.chaos.timings import TIMINGS

ALL = ("slack", "discord", "email", "slack-webhook", "webhook")
EXACTLY_ONCE = ("slack", "discord")
QUIET_STATES = ("pending", "sending", "unknown")


@dataclass(frozen=True, slots=True)
class Kit:
    """What all worlds of a session share."""

    oracle: Oracle
    nursery: Nursery
    folder: Path


@dataclass(slots=True)
class World:
    """Several may live side by side; faults are the servers' and strike whoever uses them."""

    kit: Kit
    platforms: tuple[str, ...] = ALL
    delivery: Mapping[str, object] = field(default_factory=dict)
    proxied: bool = False
    state: str = "sqlite:///data/feedbell.db"
    route: str = ""  # more keys of the one route, as TOML
    count: int = 0
    kills: int = 0
    name: str = field(default="", init=False)
    environ: dict[str, str] = field(default_factory=dict, init=False)
    made: ClassVar[int] = 0

    def __post_init__(self) -> None:
        World.made += 1
        self.name = f"w{World.made}"
        self.folder.mkdir(parents=True)
        oracle = self.kit.oracle
        oracle.do("slack", "add_channel", name=self.name, id=self._channel)
        oracle.do("slack", "add_channel", name=f"{self.name}-hook", id=f"{self._channel}H")
        hook = oracle.do("slack", "add_webhook", channel=f"{self._channel}H", path=f"T0/B0/{self._secret('slackhook')}")
        oracle.do("discord", "add_channel", id=self._number, name=self.name)
        hooks = self._address("hooks")
        self.environ = {
            "FEEDBELL_SLACK__BOT_TOKEN": oracle.addresses["slack"]["bot_token"],
            "FEEDBELL_DISCORD__BOT_TOKEN": oracle.addresses["discord"]["bot_token"],
            "FEEDBELL_WEBHOOKS__CHANNEL": hook.replace(self._port_of("slack", proxied=False), self._port_of("slack")),
            "FEEDBELL_WEBHOOKS__OUT": f"{hooks}/{self.name}/{self._secret('out')}",
            "FEEDBELL_WEBHOOKS__OPS": f"{hooks}/ops-{self.name}/{self._secret('ops')}",
            "FEEDBELL_SECRETS__OUT": self._secret("signing"),
            "FEEDBELL_SECRETS__OPS": self._secret("signing"),
        }
        self.configure()

    # --- where things are

    @property
    def folder(self) -> Path:
        return self.kit.folder / self.name

    @property
    def log_path(self) -> Path:
        return self.folder / "run.log"

    @property
    def database(self) -> Path:
        return self.folder / "data" / "feedbell.db"

    @property
    def destinations(self) -> dict[str, str]:
        """The destination that each platform's name stands for."""
        return {
            "slack": f"slack:{self._channel}",
            "discord": f"discord:{self._number}",
            "email": f"email:{self.name}@example.org",
            "slack-webhook": "slack-webhook:channel",
            "webhook": "webhook:out",
        }

    def place(self, platform: str) -> str:
        return {
            "slack": f"slack {self._channel} api",
            "discord": f"discord {self._number} api",
            "email": f"smtp {self.name}@example.org",
            "slack-webhook": f"slack {self._channel}H webhook",
            "webhook": f"hooks /{self.name}/{self._secret('out')}",
        }[platform]

    @property
    def secrets(self) -> tuple[str, ...]:
        names = ("slackhook", "out", "ops", "signing")
        tokens = (self.environ["FEEDBELL_SLACK__BOT_TOKEN"], self.environ["FEEDBELL_DISCORD__BOT_TOKEN"])
        return (*(self._secret(name) for name in names), *tokens)

    @property
    def wanted(self) -> list[str]:
        return [entry_name(self.name, number) for number in range(self.count)]

    def arrivals(self, platform: str) -> list[Arrival]:
        return self.kit.oracle.log.read().at(self.place(platform))

    # --- the bot

    def configure(self, **delivery: object) -> None:
        (self.folder / "config.toml").write_text(self._config({**TIMINGS, **self.delivery, **delivery}))

    def publish(self, *counts: int) -> None:
        """Let the feed hold that many entries from now on; of several, one more step at each poll."""
        self.count = counts[-1]
        self.kit.oracle.publish(f"/{self.name}.xml", *(feed_of(self.name, count) for count in counts))

    async def prime(self) -> None:
        """The first poll, which tells nothing."""
        self.publish(0)
        code, words = await self.call("once")
        assert code == 0, f"the first poll ended with {code}: {words}"

    async def call(self, *arguments: str) -> tuple[int, str]:
        """Run a command to its end; its exit code and all it said."""
        log = self.folder / f"call-{arguments[0]}.log"
        log.unlink(missing_ok=True)
        child = await self.kit.nursery.start(self.folder, [*arguments], self.environ, log)
        code = await child.wait()
        return code, log.read_text()

    async def start(self, crash: str = "", *, lease: float = 0, log: Path | None = None, sick: int = 0) -> Child:
        environ = {**self.environ, **({"FEEDBELL_CRASH": crash} if crash else {})}
        nursery, log = self.kit.nursery, log or self.log_path
        return await nursery.start(self.folder, ["run"], environ, log, lease=lease, sick=sick)

    async def start_slowly(self, *arguments: str) -> asyncio.subprocess.Process:
        """Start it in an interpreter of its own, as people do."""
        with self.log_path.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bot", *arguments),
                cwd=self.folder,
                env={**self.environ, "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
                stdout=log,
                stderr=log,
            )

    async def until_up(self, child: Child, *, seconds: float = 20) -> None:
        """Wait until its loops run, or it has ended."""
        before = self.log_text().count(" running ")
        for _ in range(int(seconds / 0.02)):
            if child.status is not None or self.log_text().count(" running ") > before:
                return
            await asyncio.sleep(0.02)

    async def kill(self, child: Child) -> int:
        """Kill it as a power cut would; -9, or how it had ended before."""
        child.signal(signal.SIGKILL)
        code = await child.wait()
        self.kills += code == -signal.SIGKILL
        return code

    async def crash_at(self, point: str, *, seconds: float = 60) -> None:
        """Start it with a crash point armed, and wait until it dies there by itself."""
        child = await self.start(point)
        try:
            code = await child.wait(seconds)
        except TimeoutError:
            await self.kill(child)
            raise AssertionError(f"{self.name}: {point} was never passed\n{self.tail()}") from None
        assert code == -signal.SIGKILL, f"{self.name}: {point}: it ended with {code}\n{self.tail()}"
        self.kills += 1

    async def settle(self, *, seconds: float = 60, done: Callable[[], bool] | None = None) -> None:
        """Run until everything has arrived and nothing waits, then stop it in order."""
        child = await self.start()
        try:
            await self._until(done or self.all_arrived, child, seconds, "not everything arrived")
            await self.until_quiet(child, seconds)
        except BaseException:
            await self.kill(child)
            raise
        await self.stop(child)

    async def stop(self, child: Child) -> None:
        child.signal(signal.SIGTERM)
        code = await child.wait(20)
        assert code == 0, f"{self.name}: SIGTERM ended it with {code}\n{self.tail()}"

    def all_arrived(self) -> bool:
        return all(
            set(self.wanted) <= {name for arrival in self.arrivals(platform) for name in arrival.entries}
            for platform in self.platforms
        )

    def came(self) -> set[str]:
        """The entries that arrived anywhere."""
        return {name for platform in self.platforms for arrival in self.arrivals(platform) for name in arrival.entries}

    async def standing(self) -> dict[str, int]:
        """How many deliveries are in each state, as the command line tells."""
        code, words = await self.call("status", "--json")
        assert code == 0, words
        return dict(json.loads(words)["deliveries"])

    async def until_quiet(self, child: Child, seconds: float = 60) -> None:
        for _ in range(int(seconds / 0.5)):
            standing = await self.standing()
            if not any(standing[state] for state in QUIET_STATES):
                return
            await asyncio.sleep(0.5)
        raise AssertionError(f"{self.name}: still {standing}\n{self.tail()}")

    async def _until(self, done: Callable[[], bool], child: Child, seconds: float, complaint: str) -> None:
        for _ in range(int(seconds / 0.1)):
            if done():
                return
            assert child.status is None, f"{self.name}: it ended with {child.status}\n{self.tail()}"
            await asyncio.sleep(0.1)
        raise AssertionError(f"{self.name}: {complaint}: {self.order_faults()[:5]}\n{self.tail()}")

    # --- judgement

    def order_faults(self, wanted: Sequence[str] | None = None) -> list[str]:
        wanted = self.wanted if wanted is None else wanted
        return [
            fault
            for platform in self.platforms
            for fault in invariants.order_faults(platform, self._judged(platform), wanted)
        ]

    def faults(self, wanted: Sequence[str] | None = None) -> list[str]:
        """Everything that is wrong; asked when the bot has come to rest."""
        found = self.order_faults(wanted)
        for platform in self.platforms:
            arrivals = self.arrivals(platform)
            found += invariants.ping_faults(arrivals)
            if platform in EXACTLY_ONCE and (count := invariants.copies(arrivals)):
                found.append(f"{platform}: {count} messages came twice")
        found += self.kit.oracle.log.violations
        found += invariants.output_faults("run.log", self.log_text())
        found += invariants.secret_faults(self.folder, self.secrets)
        if self.database.exists():
            found += invariants.database_faults(self.database)
        return found

    def repeats(self, platform: str) -> int:
        """Copies that no key marks as such: a webhook's."""
        return len(self.arrivals(platform)) - len(self._judged(platform))

    def intent_faults(self) -> list[str]:
        """Compare what the services hold with a copy of the state of a process that was just killed."""
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.database.parent, copy)
        keys = [arrival.identity for arrival in self.arrivals("slack") if arrival.entries]
        found = invariants.intent_faults(copy / self.database.name, keys)
        shutil.rmtree(copy)
        return found

    def log_text(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def tail(self) -> str:
        return "\n".join(self.log_text().splitlines()[-15:])

    def _judged(self, platform: str) -> list[Arrival]:
        """A Slack webhook has no key: a copy that follows its original is the choice of `on_unknown = resend`."""
        arrivals = self.arrivals(platform)
        if platform != "slack-webhook":
            return arrivals
        kept: list[Arrival] = []
        for arrival in arrivals:
            if not kept or kept[-1].entries != arrival.entries:
                kept.append(arrival)
        return kept

    # --- the configuration

    @property
    def _channel(self) -> str:
        return f"C0PROOF{self.name.upper()}"

    @property
    def _number(self) -> str:
        return f"2{int(self.name[1:]):017d}"

    def _secret(self, kind: str) -> str:
        return f"{kind}-canary-{self.name}"

    def _port_of(self, server: str, *, proxied: bool | None = None) -> str:
        proxied = self.proxied if proxied is None else proxied
        return f":{self.kit.oracle.addresses[f'{server}-proxy' if proxied else server]['port']}"

    def _address(self, server: str) -> str:
        return f"http://127.0.0.1{self._port_of(server)}"

    def _config(self, delivery: Mapping[str, object]) -> str:
        targets = ", ".join(f'"{self.destinations[platform]}"' for platform in self.platforms)
        timings = "\n".join(f"{name} = {json.dumps(value)}" for name, value in delivery.items())
        return f"""
state = "{self.state}"
ops = "webhook:ops"

[http]
listen = "127.0.0.1:0"

[slack]
api_url = "{self._address("slack")}/api/"

[discord]
api_url = "{self._address("discord")}/api/v10"
public_key = "{self.kit.oracle.addresses["discord"]["public_key"]}"

[email]
host = "127.0.0.1"
port = {self._port_of("smtp")[1:]}
security = "none"
from = "news@example.org"

[delivery]
{timings}

[polling]
host_gap = "0s"

[[feeds]]
id = "proof"
url = "{self.kit.oracle.addresses["feeds"]["url"]}/{self.name}.xml"
interval = "1s"
own = true
allow_private = ["127.0.0.0/8"]

[[routes]]
to = [{targets}]
{self.route}
"""
