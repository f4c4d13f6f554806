"""T29: a token that a service refuses costs a few requests, not a ban of our address."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.chat.discord import DiscordChat
from bot.chat.slack import SlackChat
from bot.core.errors import DestinationDown, Scope
from bot.notifiers.discord import DiscordNotifier, DiscordWebhookNotifier
from bot.notifiers.discord_api import Strikes
from bot.notifiers.slack import SlackNotifier
from bot.ports import Notifier
from tests.chat_room import Room, RoomClock
from tests.core.messages import delivery, message
from tests.edge.notifying import HandClock, to
from tests.servers.discord import DiscordServer
from tests.servers.slack import SlackServer

MOST = 3
AGENT = "DiscordBot (https://example.org/bot, 1)"


class Patient(RoomClock):
    """Each task has a time of its own, which passes only while it sleeps, until a quarter of an hour is nearly over."""

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[asyncio.Task[Any] | None, float] = {}

    def monotonic(self) -> float:
        return self.times.get(asyncio.current_task(), 0.0)

    async def sleep(self, delay: timedelta) -> None:
        passed = self.monotonic() + delay.total_seconds()
        self.times[asyncio.current_task()] = passed
        if passed > 14 * 60:
            await asyncio.Event().wait()
        await asyncio.sleep(0)


async def settled(clock: Patient, tasks: int) -> None:
    """Wait until so many tasks have come to the end of their time."""
    async with asyncio.timeout(20):
        while sum(passed > 14 * 60 for passed in clock.times.values()) < tasks:
            await asyncio.sleep(0.01)


async def test_discords_chat_asks_three_times_at_most_in_a_quarter_of_an_hour(tmp_path: Path) -> None:
    room, clock = await Room.open(tmp_path), Patient()
    async with DiscordServer() as server, aiohttp.ClientSession() as session:
        server.token_revoked = True
        chat = DiscordChat(
            commands=room.commands,
            clock=clock,
            session=session,
            store=room.store,
            api_url=server.api_url,
            agent=AGENT,
            bot_token="no longer good",
        )
        await chat.start()
        await settled(clock, 2)
        assert "refuses the bot token" in (chat.state().why or "")
        assert 1 <= len(server.requests) <= MOST
        await chat.stop()
    await room.close()


async def test_slacks_chat_asks_three_times_at_most_in_a_quarter_of_an_hour(tmp_path: Path) -> None:
    room, clock = await Room.open(tmp_path), Patient()
    async with SlackServer() as server, aiohttp.ClientSession() as session:
        chat = SlackChat(
            commands=room.commands,
            clock=clock,
            session=session,
            api_url=server.api_url,
            app_token="xapp-no-longer-good",
        )
        await chat.start()
        await settled(clock, 1)
        assert "invalid_auth" in (chat.state().why or "")
        assert 1 <= len(server.requests) <= MOST
        await chat.stop()
    await room.close()


def notifiers(
    session: aiohttp.ClientSession, clock: HandClock, discord: DiscordServer, slack: SlackServer
) -> dict[str, Notifier]:
    return {
        "discord": DiscordNotifier(
            session, token="bad", clock=clock, agent=AGENT, strikes=Strikes(), api_url=discord.api_url
        ),
        "slack": SlackNotifier(session, token="xoxb-bad", clock=clock, api_url=slack.api_url),
    }


@pytest.mark.parametrize("scheme", ["discord", "slack"])
@pytest.mark.parametrize("act", ["send", "probe"])
async def test_fifty_channels_side_by_side_ask_three_times_at_most(scheme: str, act: str) -> None:
    async with DiscordServer() as discord, SlackServer() as slack, aiohttp.ClientSession() as session:
        notifier = notifiers(session, HandClock(), discord, slack)[scheme]
        places = [to(f"{scheme}:{'C00000' if scheme == 'slack' else ''}{number}") for number in range(100, 150)]
        payload = notifier.to_payload(message())
        if act == "send":
            tries = [notifier.send(place, payload, delivery().idem) for place in places]
        else:
            tries = [notifier.probe(place) for place in places]  # type: ignore[misc]
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
        assert all(isinstance(one, DestinationDown) and one.scope is Scope.ACCOUNT for one in outcomes)
        assert 1 <= len((discord if scheme == "discord" else slack).requests) <= MOST


async def test_a_webhook_that_is_refused_says_nothing_about_another() -> None:
    async with DiscordServer() as server, aiohttp.ClientSession() as session:
        hooks = server.api_url.replace("/api/v10", "") + "/api/webhooks"
        notifier = DiscordWebhookNotifier(
            session,
            urls={"bad": f"{hooks}/300/wrong", "gone": f"{hooks}/1/x"},
            clock=HandClock(),
            agent=AGENT,
            strikes=Strikes(),
        )
        for name in ("bad", "gone"):
            with pytest.raises(DestinationDown) as caught:
                await notifier.send(to(f"discord-webhook:{name}"), notifier.to_payload(message()), delivery().idem)
            assert caught.value.scope is not Scope.ACCOUNT
        assert len(server.requests) == 2


async def test_of_the_channels_of_a_good_token_all_are_served_at_once() -> None:
    async with DiscordServer() as server, aiohttp.ClientSession() as session:
        notifier = DiscordNotifier(
            session, token=server.bot_token, clock=HandClock(), agent=AGENT, strikes=Strikes(), api_url=server.api_url
        )
        sends = [notifier.send(to("discord:200"), notifier.to_payload(message()), f"{n:032x}") for n in range(5)]
        assert all(receipt.remote_ref for receipt in await asyncio.gather(*sends))
