"""People of a case who type commands, on Slack by Socket Mode and on Discord by its gateway."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tests.cases.posts import discord_text, slack_text
from tests.cases.world import World
from tests.servers.discord_state import DiscordMessage
from tests.servers.faults import Json

CONNECTED = 10.0  # seconds for a chat connection to come up
ANSWERED = 15.0  # seconds for the last word of an answer
SUBCOMMAND, STRING = 1, 3  # types of options on Discord
LOADING = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the person who asked was shown, in order, and how soon something came."""

    first_ms: float
    texts: tuple[str, ...]
    private: bool

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


async def ask(world: World, platform: str, text: str) -> Answer:
    """Type a line such as `/latest news`, and wait for the whole answer."""
    command, _, words = text.lstrip("/").partition(" ")
    answer = await (_ask_slack(world, command, words) if platform == "slack" else _ask_discord(world, command, words))
    assert answer.texts, f"{platform}: {text!r} was not answered"
    assert "Traceback" not in answer.text, answer.text
    assert "locked" not in answer.text, answer.text
    world.outputs += answer.texts
    return answer


async def connected(world: World) -> None:
    """Wait until both chats can be heard, and know what was fetched before."""
    if not world.bot.is_running:
        await world.start()
    await world.until(lambda: not world.is_reading(), seconds=20)
    async with asyncio.timeout(CONNECTED):
        await world.slack.socket.wait_connected()
        await world.discord.gateway.wait_ready()


async def _ask_slack(world: World, command: str, words: str) -> Answer:
    async with asyncio.timeout(CONNECTED):
        await world.slack.socket.wait_connected()
    responses = world.slack.users.responses
    before = len(responses)
    answer = await world.slack.users.slash(f"/{command}", words)
    assert not answer.late, f"no acknowledgement of /{command} {words}"
    await world.until(lambda: len(responses) > before, seconds=ANSWERED)
    await asyncio.sleep(0.05)
    shown = responses[before:]
    return Answer(
        first_ms=answer.seconds * 1000,
        texts=tuple(slack_text(body) for body in shown),
        private=all(body.get("response_type", "ephemeral") == "ephemeral" for body in shown),
    )


async def _ask_discord(world: World, command: str, words: str) -> Answer:
    async with asyncio.timeout(CONNECTED):
        await world.discord.gateway.wait_ready()
    asked = await world.discord.users.command(command, _options(command, words))
    assert not asked.late, f"no answer to /{command} {words}"

    def shown() -> list[DiscordMessage]:
        found = [world.discord.guild.find(asked.channel, id) for id in asked.messages]
        return [message for message in found if not message.flags & LOADING]

    await world.until(lambda: bool(shown()), seconds=ANSWERED)
    await asyncio.sleep(0.05)
    return Answer(
        first_ms=asked.seconds * 1000,
        texts=tuple(discord_text(message) for message in shown()),
        private=all(message.is_ephemeral for message in shown()),
    )


def _options(command: str, words: str) -> list[Json]:
    if command != "latest":
        return [{"type": SUBCOMMAND, "name": words, "options": []}]
    return [{"type": STRING, "name": "tag", "value": words}] if words else []


async def ask_all_as_admin(world: World, texts: list[str]) -> list[str]:
    """Type /feedbell commands on Slack, all at once, as somebody who may change things; return all answers."""
    responses = world.slack.users.responses
    before = len(responses)
    await asyncio.gather(*(world.slack.users.slash("/feedbell", text, user="U0ADMIN") for text in texts))
    await world.until(lambda: len(responses) >= before + len(texts), seconds=ANSWERED)
    return [slack_text(body) for body in responses[before:]]
