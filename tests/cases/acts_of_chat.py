"""Sentences of cases that are about commands and about who may be reached through them."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from datetime import datetime

from aiohttp import ClientSession

from tests.cases.acts import act
from tests.cases.case import Case
from tests.cases.commands import ask, ask_all_as_admin, connected
from tests.cases.world import HOST, World

LOCK_SECONDS = 5
NO_HINTS = ("refuse", "timed out", "timeout", "no answer", "404", "status", "reachable")  # what was found there
SECOND_LOOPBACK = "127.0.0.2"  # where the feed server is let in, while 127.0.0.1 is an inside address


@act("use the signing secret in requests.json")
async def use_signing_secret(world: World, case: Case) -> None:
    requests = case.json_of("requests.json")
    assert isinstance(requests, dict)
    del world.secrets["FEEDBELL_SLACK__APP_TOKEN"]
    world.secrets["FEEDBELL_SLACK__SIGNING_SECRET"] = requests["signing_secret"]
    world.clock.set(datetime.fromisoformat("2026-05-20T12:00:00Z"))


@act("send each request of requests.json to the slash-command endpoint")
async def send_requests(world: World, case: Case) -> None:
    requests = case.json_of("requests.json")
    assert isinstance(requests, dict)
    await world.start()
    url = f"http://127.0.0.1:{world.port}/slack/commands"
    async with ClientSession() as session:
        for request in requests["requests"]:
            body = bytes.fromhex(request["body_hex"]) if "body_hex" in request else request["body"].encode()
            start = asyncio.get_running_loop().time()
            async with session.post(url, data=body, headers=request["headers"]) as answer:
                text = await answer.text()
            assert is_expected(answer.status, request["expect"]), f"{request['name']}: {answer.status} {text}"
            if request["expect"] == 200:
                assert asyncio.get_running_loop().time() - start < 3
                assert "text" in text, f"{request['name']}: nothing for the user in {text!r}"


def is_expected(status: int, expect: int | str) -> bool:
    """Tell whether a status is what a case wants: 200, "401 or 403", "not 5xx"."""
    if isinstance(expect, str) and expect.startswith("not "):
        return status // 100 != int(expect.removeprefix("not ")[0])
    return str(status) in str(expect).split(" or ")


@act("make big.xml from recipe.json")
async def make_big(world: World, case: Case) -> None:
    day, words = "Sun, 03 May 2026 09:00:00 +0000", "text " * 40
    items = "".join(
        f"<item><title>Big entry {n}</title><link>https://www.example.org/big/{n}</link>"
        f"<guid>https://www.example.org/big/{n}</guid><pubDate>{day}</pubDate>"
        f"<description>{words}</description></item>"
        for n in range(40_000)
    )
    document = f'<rss version="2.0"><channel><title>Big</title>{items}</channel></rss>'
    url = next(step["url"] for step in case.steps if step["do"] == "subscribe")
    world.sections["polling"] |= {"max_bytes": 30_000_000, "max_decoded_bytes": 30_000_000}
    world.serve(url, document.encode(), "big.xml", {})


@act("hold a write lock on the database for five seconds and start a poll")
async def hold_lock_and_poll(world: World, case: Case) -> None:
    """A new process polls at once: the lock is taken as soon as its chats are there."""
    world.discord.gateway.heartbeat_interval = 1.0
    await world.start()
    await connected(world)
    world.holder = threading.Thread(target=_hold, args=(world,))
    world.holder.start()


def _hold(world: World) -> None:
    connection = sqlite3.connect(world.bot.state, timeout=30, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    world.release.wait(LOCK_SECONDS)
    connection.execute("ROLLBACK")
    connection.close()


@act("send every line of inputs.json as the text of /latest")
async def send_spellings(world: World, case: Case) -> None:
    inputs = case.json_of("inputs.json")
    assert isinstance(inputs, dict)
    await connected(world)
    for platform in ("slack", "discord"):
        for words in inputs["same"]:
            answer = await ask(world, platform, f"/latest {words}")
            assert "Article 1" in answer.text, f"{platform}: {words!r} got {answer.text!r}"
            world.answers.append(answer.text)
        for words in filter(None, inputs["wrong"]):
            answer = await ask(world, platform, f"/latest {words}")
            assert answer.private, f"{platform}: {words!r} was answered to all"
            assert "open-source" in answer.text, f"{platform}: {words!r} got {answer.text!r}"


@act("try to subscribe every 'direct' address of targets.json")
async def try_inside_addresses(world: World, case: Case) -> None:
    targets = case.json_of("targets.json")
    assert isinstance(targets, dict)
    world.top["admins"] = ["slack:U0ADMIN"]
    await connected(world)
    urls = [line.partition(" (")[0] for line in targets["direct"]]
    texts = await ask_all_as_admin(world, [f"add {url}" for url in urls])
    assert len(texts) == len(urls), texts
    hints = [hint for hint in NO_HINTS for text in texts if hint in text.lower()]
    assert not hints, f"the answers tell what is there: {texts}"
    subscribed = await world.bot.call("feeds", "--json")
    assert subscribed.json == [], subscribed.out
    await _move_feeds_aside(world)


async def _move_feeds_aside(world: World) -> None:
    """Let the feed server be where the operator allows it, and watch the inside address that redirects lead to."""
    relay = await asyncio.start_server(lambda r, w: _relay(world.feeds.port, r, w), SECOND_LOOPBACK, 0)
    inside = await asyncio.start_server(lambda r, w: _intrude(world, w), "127.0.0.1", 0)
    world.at_end(relay.close)
    world.at_end(inside.close)
    world.allowed = [f"{SECOND_LOOPBACK}/32"]
    world.hosts[HOST] = f"http://{SECOND_LOOPBACK}:{relay.sockets[0].getsockname()[1]}"
    world.hosts["127.0.0.1:9"] = f"http://127.0.0.1:{inside.sockets[0].getsockname()[1]}"


async def _relay(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    there = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


async def _intrude(world: World, writer: asyncio.StreamWriter) -> None:
    world.intrusions += 1
    writer.close()
