"""Answers that find nobody: what is tried again, how often, and what is given up."""

from __future__ import annotations

import logging
from datetime import timedelta

import aiohttp
import pytest

from bot.chat.discord.api import ChatApi
from bot.chat.discord.requests import Interaction, InteractionKind
from bot.chat.slack.answers import ResponseUrls
from tests.chat_room import RoomClock
from tests.edge.chat.people import AGENT
from tests.servers.discord import DiscordServer
from tests.servers.faults import Fault
from tests.servers.slack import SlackServer

NOBODY = "http://127.0.0.1:1"


async def test_an_answer_that_surely_did_not_arrive_is_posted_three_times(
    session: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    clock = RoomClock()
    await ResponseUrls(session, clock, f"{NOBODY}/api/").post(f"{NOBODY}/commands/1", {"text": "hi"})
    assert clock.slept == [timedelta(seconds=1), timedelta(seconds=2), timedelta(seconds=3)]
    assert "could not be sent" in caplog.text


async def test_an_answer_to_a_foreign_address_is_not_sent(
    session: aiohttp.ClientSession, slack: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    await ResponseUrls(session, RoomClock(), "https://slack.com/api/").post(f"{slack.url}/commands/1", {"text": "hi"})
    assert slack.requests == []
    assert "not Slack's" in caplog.text


async def test_slack_asks_for_patience_and_gets_it(session: aiohttp.ClientSession, slack: SlackServer) -> None:
    clock = RoomClock()
    slack.faults.add(Fault(kind="rate", retry_after="7", match="/commands/"))
    await ResponseUrls(session, clock, slack.api_url).post(f"{slack.url}/commands/none", {"text": "hi"})
    assert clock.slept == [timedelta(seconds=7)]
    assert len(slack.requests) == 2
    slack.violations.clear()  # to the server, whose time is real, nobody waited


def api(session: aiohttp.ClientSession, clock: RoomClock, url: str) -> ChatApi:
    return ChatApi(session, clock, api_url=url, agent=AGENT, token=None)


def interaction(discord: DiscordServer | None = None) -> Interaction:
    token = discord.users.make("command", {"name": "latest"})[0] if discord else None
    return Interaction(
        id=token.id if token else "1",
        token=token.token if token else "t",
        application="900",
        kind=InteractionKind.COMMAND,
    )


async def test_a_discord_that_is_away_is_tried_within_the_time_it_gives(
    session: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    clock = RoomClock()
    with caplog.at_level(logging.WARNING):
        await api(session, clock, NOBODY).call_back(interaction(), {"type": 4})
        assert sum(clock.slept, timedelta(0)) < timedelta(seconds=3)
        await api(session, clock, NOBODY).edit_original(interaction(), {"content": "hi"})
    assert timedelta(minutes=1) < sum(clock.slept, timedelta(0)) < timedelta(minutes=15)
    assert "in time" in caplog.text
    assert "deferred" in caplog.text


async def test_a_first_answer_whose_arrival_is_unknown_is_given_again_and_taken_once(
    session: aiohttp.ClientSession, discord: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    discord.faults.add(Fault(kind="rst", store=True, match="/callback"))
    body = {"type": 4, "data": {"content": "hi", "allowed_mentions": {"parse": []}}}
    await api(session, RoomClock(), discord.api_url).call_back(interaction(discord), body)  # type: ignore[arg-type]
    assert [message.content for message in discord.guild.messages] == ["hi"]
    assert len(discord.requests) == 2
    assert "refused" not in caplog.text
