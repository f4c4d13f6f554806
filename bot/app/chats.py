"""The chats, introduced to the commands; a platform's library is imported only where it is configured."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import aiohttp
from aiohttp import web

from bot.app.parts import Parts
from bot.app.platforms import discord_agent
from bot.chat.state import ChatState
from bot.config.settings import Settings, reveal
from bot.services.commands.commands import Commands
from bot.web.parts import Handler


class Chat(Protocol):
    """One platform's chat."""

    def routes(self) -> list[web.RouteDef]: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def probe(self) -> str: ...

    def state(self) -> ChatState: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Chats:
    """Those that are configured, by name."""

    chats: Mapping[str, Chat]

    @property
    def routes(self) -> Sequence[tuple[str, str, Handler]]:
        return [(route.method, route.path, route.handler) for chat in self.chats.values() for route in chat.routes()]

    def why_down(self) -> Mapping[str, str | None]:
        """For `/readyz`: each connection, and what keeps it from being there."""
        states = {name: chat.state() for name, chat in self.chats.items()}
        return {name: None if state.connected else state.why or "not connected yet" for name, state in states.items()}


@asynccontextmanager
async def chats_running(parts: Parts) -> AsyncIterator[Chats]:
    """Connect what is configured; the bot runs, and delivers, though a connection can't be had yet (small print 4)."""
    async with chats_made(parts) as chats:
        try:
            for chat in chats.chats.values():
                await chat.start()
            yield chats
        finally:
            for chat in chats.chats.values():
                await chat.stop()


@asynccontextmanager
async def chats_made(parts: Parts) -> AsyncIterator[Chats]:
    """What is configured, not connected."""
    session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
    commands = Commands(
        store=parts.store,
        clock=parts.clock,
        routes=lambda: parts.routing.routes,
        pages=parts.fetcher,
        parser=parts.parser,
        wake=parts.wake,
        admins=lambda: parts.settings.admins,
        timezone=lambda: parts.settings.timezone,
    )
    try:
        yield Chats(chats={**_slack(parts, commands, session), **_discord(parts, commands, session)})
    finally:
        await session.close()


def _slack(parts: Parts, commands: Commands, session: aiohttp.ClientSession) -> Mapping[str, Chat]:
    slack = parts.settings.slack
    app_token, signing_secret = reveal(slack.app_token), reveal(slack.signing_secret)
    if app_token is None and signing_secret is None:
        return {}
    from bot.chat.slack.chat import SlackChat

    return {
        "slack": SlackChat(
            commands=commands,
            clock=parts.clock,
            session=session,
            api_url=slack.api_url,
            app_token=app_token,
            signing_secret=signing_secret,
            seen=parts.store if _is_shared(parts.settings) else None,
        )
    }


def _discord(parts: Parts, commands: Commands, session: aiohttp.ClientSession) -> Mapping[str, Chat]:
    discord = parts.settings.discord
    bot_token = reveal(discord.bot_token)
    if bot_token is None and discord.public_key is None:
        return {}
    from bot.chat.discord.chat import DiscordChat

    return {
        "discord": DiscordChat(
            commands=commands,
            clock=parts.clock,
            session=session,
            store=parts.store,
            api_url=discord.api_url,
            agent=discord_agent(parts.settings),
            bot_token=bot_token,
            public_key=discord.public_key,
            shared=parts.store if _is_shared(parts.settings) else None,
        )
    }


def _is_shared(settings: Settings) -> bool:
    """Whether other replicas may have the same store; on SQLite this process remembers without writing."""
    return settings.sqlite_path is None
