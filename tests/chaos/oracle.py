"""The witness: the strict local servers in a process of their own, and what their log says arrived where."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.servers.faults import Fault, Json

ROOT = Path(__file__).parent.parent.parent
TITLE = re.compile(r"\b(w[0-9a-z]+)n(\d{5})\b")  # of an entry, as the generator writes it: world and number
PROXIED = ("slack", "discord", "smtp", "hooks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One stored message: at which place, with which entries, under which identity (Message-ID, webhook-id)."""

    place: str
    entries: tuple[str, ...]
    identity: str
    at: float
    pings: tuple[str, ...] = ()


@dataclass(slots=True)
class Log:
    """What stands in the servers' log, read on from where the last look ended."""

    path: Path
    arrivals: list[Arrival] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    struck: int = 0  # requests that met a fault
    _offset: int = 0

    def read(self) -> Self:
        with self.path.open("rb") as file:
            file.seek(self._offset)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            self._take(json.loads(line))
        return self

    def at(self, place: str) -> list[Arrival]:
        return [arrival for arrival in self.arrivals if arrival.place == place]

    def _take(self, line: Json) -> None:
        if line["what"] == "violation":
            self.violations.append(f"{line['server']}: {line['text']}")
        elif line["what"] == "fault":
            self.struck += 1
        elif line["what"] == "stored":
            self.arrivals.extend(_arrivals(line["server"], line["message"], line["at"]))


def _arrivals(server: str, message: Json, at: float) -> Iterator[Arrival]:
    if server == "slack":
        seen = (message["text"], message["blocks"], message["attachments"])
        key = str(((message["metadata"] or {}).get("event_payload") or {}).get("k") or message["ts"])
        places = [f"slack {message['channel']} {message['via']}"]
    elif server == "discord":
        seen = (message["content"], message["embeds"], message["components"])
        key = str(message["nonce"] or message["id"])
        places = [f"discord {message['channel']} {message['via']}"]
    elif server == "smtp":
        seen = (message["subject"], message["text"], "")
        key, places = message["message_id"], [f"smtp {address}" for address in message["recipients"]]
    else:
        seen = (message["body"], "", "")
        key, places = message["id"], [f"hooks {message['path']}"]
    entries = tuple(dict.fromkeys("n".join(found) for found in TITLE.findall(json.dumps(seen))))
    for place in places:
        yield Arrival(place=place, entries=entries, identity=key, at=at, pings=tuple(message.get("pings") or ()))


class Oracle:
    """The servers' process, and its control port. One for a whole test session."""

    def __init__(self, folder: Path) -> None:
        self.log = Log(folder / "oracle.jsonl")
        self.addresses: Json = {}
        self._set: dict[str, dict[str, list[Json]]] = {}
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        self.log.path.touch()
        names = [argument for name in (*PROXIED, "feeds") for argument in (f"--{name}", "0")]
        proxies = [argument for name in PROXIED for argument in ("--proxy", name)]
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.servers.run", *names, *proxies),
            *("--control", "0", "--log", str(self.log.path)),
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
        )
        assert self._process.stdout is not None
        first = await asyncio.wait_for(self._process.stdout.readline(), 60)
        self.addresses = json.loads(first)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        await self._process.wait()

    # --- the control port; its answers come at once, so that waiting for them here hurts nobody

    def do(self, server: str, action: str, **args: object) -> Any:
        return self._ask("POST", "/do", {"server": server, "action": action, "args": args})["result"]

    def faults(self, server: str, faults: Iterable[Fault] = (), *, whose: str = "") -> None:
        """Replace the faults that somebody set on a server, beside those of others; none: all is well."""
        self._set.setdefault(server, {})[whose] = [fault.to_json() for fault in faults]
        self._ask("PUT", "/faults", {server: [fault for faults in self._set[server].values() for fault in faults]})

    def cut(self, server: str, *cuts: Json) -> None:
        self.do(f"{server}-proxy", "cut", cuts=list(cuts))

    def passed(self, server: str) -> list[Json]:
        """What went through each connection of a server's proxy."""
        return list(self._ask("GET", f"/messages?server={server}-proxy")[f"{server}-proxy"])

    def requests(self, server: str) -> list[Json]:
        return list(self._ask("GET", f"/requests?server={server}")[server])

    def heal(self) -> None:
        self._ask("DELETE", "/faults")
        self._set.clear()
        self.do("slack", "set")
        self.do("discord", "set")
        for name in PROXIED:
            self.cut(name)

    def publish(self, path: str, *bodies: bytes) -> str:
        documents = [{"body": base64.b64encode(body).decode()} for body in bodies]
        return str(self.do("feeds", "serve", path=path, documents=documents))

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        host = self.addresses["control"].removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=60)
        try:
            connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise AssertionError(f"{method} {path}: {answer.status} {text.decode()}")
        return json.loads(text)
