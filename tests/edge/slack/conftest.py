"""The local server and the notifier in front of it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from bot.notifiers.slack import SlackNotifier
from tests.core.messages import delivery
from tests.edge.notifying import HandClock, to
from tests.servers.slack import SlackServer

CHANNEL = "C0AINETWORKING"
NAMED, KNOWN = to("slack:#ai-networking"), to("slack:#ai-networking", CHANNEL)
KEY = delivery().idem


@pytest.fixture
async def server() -> AsyncIterator[SlackServer]:
    async with SlackServer() as running:
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
def slack(server: SlackServer, session: aiohttp.ClientSession, clock: HandClock) -> SlackNotifier:
    return SlackNotifier(session, token=server.bot_token, clock=clock, api_url=server.api_url)
