"""The database is locked, the services stumble: people are answered in time all the same, and once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chat_room import Room
from tests.edge.chat.people import Click, Type, body_of, button_of, message_of, replies, text_of, until
from tests.servers.discord import DiscordServer
from tests.servers.faults import Fault
from tests.servers.slack import SlackServer


@pytest.fixture
def other(room: Room, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Another program that opened the database, and may hold its write lock."""
    connection = sqlite3.connect(tmp_path / "room.db", isolation_level=None)
    yield connection
    connection.close()


async def test_slacks_people_read_while_the_database_is_locked(other: sqlite3.Connection, typed: Type) -> None:
    other.execute("BEGIN IMMEDIATE")
    assert "BGP Unnumbered" in body_of(await typed("/latest", "bgp"))
    assert "all well" in body_of(await typed("/feedbell", "status"))


async def test_discords_people_read_while_the_database_is_locked(
    other: sqlite3.Connection, discord: DiscordServer, latest: Click
) -> None:
    other.execute("BEGIN IMMEDIATE")
    assert "BGP Unnumbered" in text_of(message_of(discord, await latest({"tag": "bgp"})))


async def test_what_must_be_written_is_acknowledged_in_time_and_answered_once(
    other: sqlite3.Connection, slack: SlackServer, typed: Type
) -> None:
    other.execute("BEGIN IMMEDIATE")
    answer = await typed("/feedbell", "follow bgp")
    assert (answer.late, answer.body or {}) == (False, {})
    assert answer.seconds < 2.5
    other.execute("ROLLBACK")
    assert "you follow bgp" in json.dumps(await replies(slack, 1))


async def test_a_deferred_answer_on_discord_survives_a_service_that_stumbles(
    other: sqlite3.Connection, discord: DiscordServer, feedbell: Click
) -> None:
    other.execute("BEGIN IMMEDIATE")
    asked = await feedbell("follow", {"tag": "bgp"})
    assert ((asked.callback or {})["type"], asked.late) == (5, False)
    for kind in ("status", "rst", "rst"):
        discord.faults.add(Fault(kind=kind, status=503, match="@original"))
    other.execute("ROLLBACK")
    await until(lambda: "you follow bgp" in text_of(message_of(discord, asked)) or None)
    assert len(asked.messages) == 1


async def test_an_answer_that_may_have_arrived_is_not_posted_again(
    slack: SlackServer, typed: Type, pressed: Type
) -> None:
    answer = await typed("/latest", "2")
    slack.faults.add(Fault(kind="rst", store=True, match="/commands/"))
    await pressed(button_of(answer.body, "Older"))
    assert len(await replies(slack, 2)) == 2
