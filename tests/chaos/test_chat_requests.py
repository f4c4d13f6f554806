"""A hundred thousand requests to the chat endpoints, signed and not: refused or answered, never a fault of ours."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.chat.discord import DiscordChat
from bot.chat.slack import SlackChat
from bot.clock import SystemClock
from tests.chat_room import Room
from tests.servers.discord import DiscordServer

REQUESTS = 100_000
SECRET = "a-signing-secret"
ALLOWED = {200, 400, 401, 413, 429}
TEXTS = (
    *("", "bgp", "bgp 3 public", "follow bgp", "unfollow bgp", "add https://x.example", "search a%b_c", "tag:“x"),
    *("count:11", "feed:x", "🙂", "<!channel>", "@everyone", "\0", "x" * 300, "help", "status", "tags", "; DROP TABLE"),
)


def slack_body(chance: random.Random) -> tuple[str, bytes]:
    if chance.random() < 0.3:
        payload = {
            "type": chance.choice(["block_actions", "view_submission", 7]),
            "user": chance.choice([{"id": "U1"}, {}, "x"]),
            "channel": chance.choice([{"id": "C1", "name": "n"}, {"id": "D1"}, None]),
            "actions": chance.choice([[{"value": f"r:{chance.randint(0, 60)}:latest:bgp"}], [], [{"value": 1}], "x"]),
            "response_url": chance.choice(["", "https://evil.example/", 7]),
        }
        return "/slack/interactive", urlencode({"payload": json.dumps(payload)}).encode()
    form = {
        "command": chance.choice(["/latest", "/feedbell", "", "/x"]),
        "text": chance.choice(TEXTS),
        "user_id": chance.choice([f"U{chance.randint(0, 5_000)}", "", "x y"]),
        "channel_id": chance.choice([f"C{chance.randint(0, 2_000)}", "D1", ""]),
        "response_url": chance.choice(["", "http://127.0.0.1/x", "::"]),
    }
    return "/slack/commands", urlencode(form).encode()


def discord_body(chance: random.Random, number: int) -> bytes:
    name = chance.choice(["latest", "feedbell", "x", 7])
    option = {
        "name": chance.choice(["tag", "count", "feed"]),
        "value": chance.choice([*TEXTS, 3, None]),
        "focused": True,
    }
    nested = {"name": chance.choice(["search", "follow", "help", "nope"]), "type": 1, "options": [option]}
    value = {
        "id": str(number),
        "application_id": "900",
        "type": chance.choice([1, 2, 2, 2, 3, 4, 4, 9]),
        "token": chance.choice(["t", "", "\n"]),
        "channel_id": "200",
        "user": chance.choice([{"id": str(chance.randint(1, 5_000))}, {"id": "x"}, None]),
        "data": chance.choice(
            [{"name": name, "options": [chance.choice([option, nested])]}, {"custom_id": "r:0:latest:"}]
        ),
    }
    return json.dumps(value).encode()


def damaged(body: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(body) + 1)
    return chance.choice([body[:at], body[:at] + bytes([chance.randrange(256)]) + body[at:], body * 2, b""])


def slack_headers(body: bytes) -> dict[str, str]:
    stamp = str(int(SystemClock().now().timestamp()))
    digest = hmac.new(SECRET.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}


def spoiled(headers: dict[str, str], chance: random.Random) -> dict[str, str]:
    name = chance.choice(list(headers))
    wrong = chance.choice(["", "0", headers[name][:-1], headers[name] + "0", "9" * 400, "é" * 64, "v0=" + "0" * 64])
    return {**headers, name: wrong}


def any_request(chance: random.Random, number: int, discord: DiscordServer) -> tuple[str, bytes, dict[str, str]]:
    """Return a request's path, body and headers; half for each platform, some damaged, some signed badly."""
    is_slack = chance.random() < 0.5
    path, body = slack_body(chance) if is_slack else ("/discord/interactions", discord_body(chance, number))
    body = damaged(body, chance) if chance.random() < 0.2 else body
    headers = slack_headers(body) if is_slack else discord.users.sign(body)
    return path, body, spoiled(headers, chance) if chance.random() < 0.3 else headers


@pytest.mark.long
async def test_no_request_is_a_fault_of_ours(tmp_path: Path) -> None:
    chance, statuses, clock = random.Random(5), Counter[int](), SystemClock()
    room = await Room.open(tmp_path)
    await room.read_seed()
    async with DiscordServer() as discord, aiohttp.ClientSession() as session:
        slack_chat = SlackChat(
            commands=room.commands,
            clock=clock,
            session=session,
            api_url="https://slack.com/api/",
            signing_secret=SECRET,
        )
        discord_chat = DiscordChat(
            commands=room.commands,
            clock=clock,
            session=session,
            store=room.store,
            api_url=discord.api_url,
            agent="DiscordBot (x, 1)",
            public_key=discord.users.public_key,
        )
        app = web.Application()
        app.add_routes([*slack_chat.routes(), *discord_chat.routes()])
        async with TestServer(app) as server:
            for number in range(REQUESTS):
                path, body, headers = any_request(chance, number, discord)
                async with session.post(server.make_url(path), data=body, headers=headers) as answer:
                    statuses[answer.status] += 1
            await slack_chat.stop()
            await discord_chat.stop()
    await room.close()
    assert set(statuses) <= ALLOWED, statuses
    assert statuses[200] > REQUESTS / 10
    assert statuses[401] > REQUESTS / 10
