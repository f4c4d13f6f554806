"""What people type and see, on either platform."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bot.chat.discord import DiscordChat
from tests.servers.discord import DiscordServer
from tests.servers.discord_interactions import Asked
from tests.servers.discord_state import DiscordMessage
from tests.servers.faults import Json
from tests.servers.slack import SlackServer
from tests.servers.slack_users import SlackAnswer

CASES = Path(__file__).parents[2] / "cases/shared"
SPELLINGS = json.loads((CASES / "C100-tag-spelling/inputs.json").read_text(encoding="utf-8"))
AGENT = "DiscordBot (https://example.org/bot, 0.1)"
PART_2 = "EVPN Multihoming Across Vendors, Part 2: Verifying the Forwarding Plane"
ROCE = "RoCE on NVIDIA Spectrum-X: Building Lossless Ethernet for AI Fabrics"
BGP = "BGP Unnumbered and Router Advertisements: Disabling RA Is Not Silence, It Is Withdrawal"
INFINIBAND = "InfiniBand Routing Engines: Adaptive Routing and Credit Loops"
OLDEST_INFINIBAND = "Link-Layer Troubleshooting with MLXLink and MLXCables"
NO_OSPF = "no post tagged ospf; tags: bgp, evpn, infiniband, roce"

Type = Callable[..., Awaitable[SlackAnswer]]
Click = Callable[..., Awaitable[Asked]]
Make = Callable[..., DiscordChat]


async def until(look: Callable[[], Any]) -> Any:
    """Wait until `look` finds something."""
    async with asyncio.timeout(20):
        while (found := look()) is None:
            await asyncio.sleep(0.02)
        return found


async def ready(discord: DiscordServer, chat: DiscordChat) -> None:
    async with asyncio.timeout(30):
        await discord.gateway.wait_ready()
        while not chat.state().connected:
            await asyncio.sleep(0.01)


def fields(given: Json) -> list[Json]:
    kinds = {bool: 5, int: 4, str: 3}
    return [{"name": name, "type": kinds[type(value)], "value": value} for name, value in given.items()]


def body_of(answer: SlackAnswer) -> str:
    return json.dumps(answer.body, ensure_ascii=False)


def button_of(body: Json | None, label: str) -> Json:
    blocks = (body or {}).get("blocks") or []
    elements = [element for block in blocks if block["type"] == "actions" for element in block["elements"]]
    return next(element for element in elements if element["text"]["text"] == label)


async def replies(slack: SlackServer, count: int) -> list[Json]:
    async with asyncio.timeout(10):
        while len(slack.users.responses) < count:
            await asyncio.sleep(0.01)
    return slack.users.responses


def message_of(discord: DiscordServer, asked: Asked) -> DiscordMessage:
    return discord.guild.find(asked.channel, asked.messages[0])


def text_of(message: DiscordMessage) -> str:
    titles = [f"{embed.get('title', '')} {embed.get('description', '')}" for embed in message.embeds]
    return "\n".join([message.content, *titles]).replace("\\", "")


def buttons_of(message: DiscordMessage) -> dict[str, str]:
    return {item["label"]: item["custom_id"] for row in message.components for item in row["components"]}
