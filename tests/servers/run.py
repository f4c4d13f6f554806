"""The servers as a process of their own: an oracle that outlives every kill of the bot.

    python -m tests.servers.run --slack 0 --discord 0 --smtp 0 --feeds 0 --proxy slack --log oracle.jsonl --control 0

A port of 0 takes a free one. The first line on stdout is a JSON object of addresses. The control port speaks JSON:

    GET  /messages            {"slack": [...], ...}: what each server holds now; ?server=slack for one
    GET  /violations          {"slack": [...], ...}: what no good client does
    GET  /requests            {"slack": [...], ...}: every request, in order
    GET  /faults              {"slack": [...], ...}
    PUT  /faults              {"slack": [{"kind": "rst", "store": true, "match": "chat.postMessage"}]}: replaces
    POST /faults              the same, but adds at the end
    DELETE /faults            all is well again
    POST /do                  {"server": "slack", "action": "set_channel", "args": {"channel": "C0", "member": false}}
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import inspect
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.servers.certificates import Certificates
from tests.servers.discord import DiscordServer
from tests.servers.faults import Fault, Json
from tests.servers.feeds import FeedServer
from tests.servers.hooks import HookServer
from tests.servers.journal import Journal
from tests.servers.proxy import Proxy
from tests.servers.slack import SlackServer
from tests.servers.smtp import SmtpServer

Server = Any  # SlackServer | DiscordServer | SmtpServer | FeedServer | HookServer | Proxy: the same few names on each


class Control:
    """The control port: reads and steers the servers, by name."""

    def __init__(self, servers: dict[str, Server]) -> None:
        self._servers = servers

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/messages", self._read(lambda server: server.messages_json())),
            web.get("/violations", self._read(lambda server: list(getattr(server, "violations", [])))),
            web.get("/requests", self._read(lambda server: [row.to_json() for row in getattr(server, "requests", [])])),
            web.get("/faults", self._read(faults_json)),
            web.put("/faults", self._put_faults),
            web.post("/faults", self._add_faults),
            web.delete("/faults", self._clear_faults),
            web.post("/do", self._do),
        ]

    def _read(self, look: Callable[[Server], object]) -> Callable[[web.Request], Any]:
        async def answer(request: web.Request) -> web.Response:
            only = request.query.get("server")
            wanted = {only: self._servers[only]} if only else self._servers
            return web.json_response({name: look(server) for name, server in wanted.items()}, dumps=dump)

        return answer

    async def _put_faults(self, request: web.Request) -> web.Response:
        for name, rows in (await request.json()).items():
            self._servers[name].faults.replace([Fault.from_json(row) for row in rows])
        return web.json_response({})

    async def _add_faults(self, request: web.Request) -> web.Response:
        for name, rows in (await request.json()).items():
            self._servers[name].faults.add(*(Fault.from_json(row) for row in rows))
        return web.json_response({})

    async def _clear_faults(self, request: web.Request) -> web.Response:
        for server in self._servers.values():
            if hasattr(server, "faults"):
                server.faults.clear()
        return web.json_response({})

    async def _do(self, request: web.Request) -> web.Response:
        asked: Json = await request.json()
        actions = self._servers[asked["server"]].actions()
        if asked["action"] not in actions:
            raise web.HTTPNotFound(text=f"one of {sorted(actions)}")
        try:
            result = actions[asked["action"]](**asked.get("args", {}))
            if inspect.isawaitable(result):
                result = await result
        except (TypeError, ValueError, LookupError) as error:
            raise web.HTTPBadRequest(text=f"{type(error).__name__}: {error}") from error
        return web.json_response({"result": result}, dumps=dump)


def dump(value: object) -> str:
    return json.dumps(value, default=str)


def faults_json(server: Server) -> list[Json]:
    return [fault.to_json() for fault in getattr(server, "faults", ())]


def read_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.run", description="strict local servers")
    for name in ("slack", "discord", "smtp", "feeds", "hooks"):
        parser.add_argument(f"--{name}", type=int, metavar="PORT")
    parser.add_argument("--control", type=int, default=0, metavar="PORT")
    parser.add_argument("--log", type=Path, metavar="FILE")
    parser.add_argument("--proxy", action="append", default=[], metavar="SERVER[:PORT]", help="a proxy before a server")
    parser.add_argument("--smtp-security", choices=("none", "starttls", "tls"), default="none")
    parser.add_argument("--smtp-login", metavar="USER:PASSWORD")
    parser.add_argument("--ca-file", type=Path, metavar="FILE", help="where to write the CA that signs the servers")
    return parser.parse_args(arguments)


def build(options: argparse.Namespace, journal: Journal) -> dict[str, Server]:
    """Make the servers that were asked for, not yet started."""
    servers: dict[str, Server] = {}
    for name, make in (
        ("slack", SlackServer),
        ("discord", DiscordServer),
        ("feeds", FeedServer),
        ("hooks", HookServer),
    ):
        port = getattr(options, name)
        if port is not None:
            servers[name] = make(port=port, journal=journal)
    if options.smtp is not None:
        servers["smtp"] = build_smtp(options, journal)
    return servers


def build_smtp(options: argparse.Namespace, journal: Journal) -> SmtpServer:
    made = Certificates()
    if options.ca_file:
        made.write_ca(options.ca_file)
    user, _, password = (options.smtp_login or "").partition(":")
    return SmtpServer(
        port=options.smtp,
        journal=journal,
        security=options.smtp_security,
        tls=None if options.smtp_security == "none" else made.server_context(),
        username=user or None,
        password=password,
    )


def addresses(servers: dict[str, Server], control: int) -> Json:
    """Return where everything listens, and the made-up secrets that open it."""
    found: Json = {"control": f"http://127.0.0.1:{control}"}
    for name, server in servers.items():
        found[name] = {"port": server.port}
        for key in ("url", "api_url", "bot_token", "app_token"):
            if hasattr(server, key):
                found[name][key] = getattr(server, key)
    if "slack" in servers:
        found["slack"]["signing_secret"] = servers["slack"].users.signing_secret
    if "discord" in servers:
        found["discord"]["public_key"] = servers["discord"].users.public_key
    return found


async def serve(options: argparse.Namespace) -> None:
    """Run until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    journal = Journal(options.log)
    servers = build(options, journal)
    async with contextlib.AsyncExitStack() as stack:
        for server in tuple(servers.values()):
            await stack.enter_async_context(server)
        for asked in options.proxy:
            name, _, port = asked.partition(":")
            proxy = Proxy(servers[name].port, port=int(port or 0))
            servers[f"{name}-proxy"] = await stack.enter_async_context(proxy)
        app = web.Application()
        app.add_routes(Control(servers).routes())
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", options.control).start()
        print(json.dumps(addresses(servers, runner.addresses[0][1])), flush=True)
        await stop.wait()
    journal.close()


def main() -> None:
    asyncio.run(serve(read_arguments(sys.argv[1:])))


if __name__ == "__main__":
    main()
