"""Everything that is outside: feed servers and a Slack, in one small process, faster than what it measures.

    python -m bench.world --port N [--certificates FOLDER]

GET /<who>/<number>.xml        a feed; each `who` has its own versions, so that contenders do not see each other's
POST /api/<method>             Slack's Web API: always well, and noted
GET /__mode?<mode>             etag | plain | build | new | mix, from now on
GET /__link?<address>          where apps.connections.open sends clients, from now on
GET /__facts                   what was seen since the last question

etag: validators, and a 304 where they match · plain: the same body, no validators · build: only the head's date
moves · new: each poll finds one entry more · mix: by feed 60 % etag, 20 % plain, 10 % build, 10 % new
"""

import argparse
import asyncio
import json
import ssl
import time
from collections import Counter
from pathlib import Path

from bench.feed_text import document, modified

MODES = ("etag", "plain", "build", "new", "mix")
_MIX = ("etag",) * 6 + ("plain",) * 2 + ("build", "new")
_KEPT = 20_000  # bodies


class World:
    """What has been asked, and what is answered."""

    def __init__(self) -> None:
        self.mode = "etag"
        self.link = ""
        self.versions: Counter[tuple[str, int]] = Counter()
        self.seen: Counter[str] = Counter()
        self.posts: list[float] = []
        self.first_at: float | None = None
        self._stamp = 0
        self._bodies: dict[tuple[int, int], bytes] = {}

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> bytes:
        if method == "POST":
            if target.endswith("/apps.connections.open"):
                return respond(200, json.dumps({"ok": True, "url": self.link}).encode())
            self.posts.append(time.time())
            return respond(200, json.dumps({"ok": True, "ts": f"{time.time():.6f}", "channel": "C0000001"}).encode())
        if target.startswith("/__mode?"):
            self.mode = target.partition("?")[2]
            return respond(200, b"{}")
        if target.startswith("/__link?"):
            self.link = target.partition("?")[2]
            return respond(200, b"{}")
        if target.startswith("/__facts"):
            facts = {"seen": self.seen, "posts": self.posts, "first_at": self.first_at}
            answer = respond(200, json.dumps(facts).encode())
            self.seen, self.posts, self.first_at = Counter(), [], None
            return answer
        return self._feed(target, headers)

    def _feed(self, target: str, headers: dict[str, str]) -> bytes:
        _, who, name = target.split("/")
        number = int(name.removesuffix(".xml"))
        mode = _MIX[number // 5 % 10] if self.mode == "mix" else self.mode
        self.first_at = self.first_at or time.time()
        if mode == "new":
            self.versions[who, number] += 1
        version = self.versions[who, number]
        if mode == "build":
            self._stamp += 1
        extra = ""
        if mode == "etag":
            etag, date = f'"{number}-{version}"', modified(number, version)
            extra = f"ETag: {etag}\r\nLast-Modified: {date}\r\n"
            if headers.get("if-none-match", headers.get("if-modified-since")) in (etag, date):
                self.seen["304"] += 1
                return f"HTTP/1.1 304 Not Modified\r\n{extra}\r\n".encode()
        self.seen["200"] += 1
        return respond(200, self._body(number, version, self._stamp if mode == "build" else 0), extra)

    def _body(self, number: int, version: int, stamp: int) -> bytes:
        if stamp:
            return document(number, version=version, stamp=stamp)
        if len(self._bodies) > _KEPT:
            self._bodies.clear()
        body = self._bodies.get((number, version))
        if body is None:
            body = self._bodies[number, version] = document(number, version=version)
        return body


class Wire(asyncio.Protocol):
    """HTTP as far as it is needed here."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._world.seen["connections"] += 1

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while b"\r\n\r\n" in self._buffer:
            head, _, rest = self._buffer.partition(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            size = int(headers.get("content-length", 0))
            if len(rest) < size:
                return
            body, self._buffer = rest[:size], rest[size:]
            method, target, _ = first.split(" ")
            self._transport.write(self._world.answer(method, target, headers, body))  # type: ignore[attr-defined]
            if headers.get("connection", "").lower() == "close":
                self._transport.close()


def respond(status: int, body: bytes, extra: str = "") -> bytes:
    kind = "application/json" if body[:1] == b"{" else "application/xml"
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


async def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--certificates", type=Path)
    options = parser.parse_args()
    world, loop = World(), asyncio.get_running_loop()
    await loop.create_server(lambda: Wire(world), "127.0.0.1", options.port, backlog=4096)
    if options.certificates is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificates / "server.pem")
        await loop.create_server(lambda: Wire(world), "127.0.0.1", options.port + 1, ssl=context, backlog=4096)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
