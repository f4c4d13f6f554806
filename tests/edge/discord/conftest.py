"""The local server and the notifier in front of it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from bot.notifiers.discord import DiscordNotifier, user_agent
from bot.notifiers.discord_api import Strikes
from tests.core.messages import delivery
from tests.edge.notifying import HandClock, to
from tests.servers.discord import DiscordServer

NEWS = to("discord:200")
KEY = delivery().idem
AGENT = user_agent("https://example.org/bot", "1.0")


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as running:
        yield running
        assert running.violations == []


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def discord(server: DiscordServer, session: aiohttp.ClientSession, clock: HandClock) -> DiscordNotifier:
    return DiscordNotifier(
        session, token=server.bot_token, clock=clock, agent=AGENT, strikes=Strikes(), api_url=server.api_url
    )
