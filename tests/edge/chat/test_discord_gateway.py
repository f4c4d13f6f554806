"""The gateway: sessions end and begin anew, starts are counted, one replica holds it; commands are made known."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.chat.discord import DiscordChat
from bot.chat.discord.budget import Starts
from bot.chat.discord.definitions import definitions
from bot.store.store import open_store
from tests.chat_room import Room, RoomClock
from tests.edge.chat.people import Make, fields, ready, until
from tests.servers.discord import DiscordServer
from tests.servers.discord_limits import command_errors
from tests.servers.faults import Fault


def test_the_definitions_are_what_discord_takes() -> None:
    assert command_errors(definitions()) == {}


async def test_commands_are_written_when_they_changed_and_not_else(
    room: Room, discord: DiscordServer, make: Make
) -> None:
    for _ in range(2):
        chat = make(public_key=discord.users.public_key)
        await chat.start()
        await until(lambda: discord.users.commands.get("") or None)
        await chat.stop()
    assert discord.users.command_writes == 1
    await room.store.put_meta("discord_commands", "others")
    chat = make(public_key=discord.users.public_key)
    await chat.start()
    await until(lambda: discord.users.command_writes == 2 or None)


async def test_no_gateway_is_opened_where_a_public_key_is_set(discord_over_http: str, discord: DiscordServer) -> None:
    await discord.users.command_over_http(discord_over_http, "latest", [])
    assert discord.gateway.identifies == 0


async def test_case_c086_reidentifying_never_answers_twice(by_gateway: DiscordChat, discord: DiscordServer) -> None:
    for count in range(2, 4):
        await discord.gateway.invalidate()
        await until(lambda count=count: discord.gateway.identifies == count or None)  # type: ignore[misc]
        await ready(discord, by_gateway)
    asked = await discord.users.command("latest", fields({"tag": "bgp"}))
    assert (asked.late, len(asked.messages)) == (False, 1)
    assert len(discord.gateway.live) == 1


async def test_an_event_that_is_told_again_is_answered_once(by_gateway: DiscordChat, discord: DiscordServer) -> None:
    asked, payload = discord.users.make("command", {"name": "latest", "type": 1, "options": []})
    for _ in range(3):
        await discord.gateway.dispatch("INTERACTION_CREATE", payload)
    await until(lambda: asked.callback)
    await discord.users.command("latest")
    callbacks = [one for one in discord.requests if one.path.endswith(f"/{asked.token}/callback")]
    assert (len(callbacks), len(asked.messages)) == (1, 1)


async def test_a_resumed_session_goes_on(by_gateway: DiscordChat, discord: DiscordServer) -> None:
    await discord.gateway.reconnect()
    await until(lambda: discord.gateway.resumes or None)
    await ready(discord, by_gateway)
    assert not (await discord.users.command("latest")).late
    assert discord.gateway.identifies == 1


async def test_one_of_two_replicas_holds_the_gateway(
    room: Room, make: Make, discord: DiscordServer, tmp_path: Path
) -> None:
    stores = [await open_store(f"sqlite:///{tmp_path / 'room.db'}") for _ in range(2)]
    one, two = (make(store=store, shared=store) for store in stores)
    await one.start()
    await ready(discord, one)
    await two.start()
    await until(lambda: "another replica" in two.state().why or None)
    assert two.state().connected
    assert len(discord.gateway.live) == 1
    for chat, store in zip((one, two), stores, strict=True):
        await chat.stop()
        await store.close(now=room.clock.now())


async def test_a_refused_token_is_told(make: Make) -> None:
    chat = make(bot_token="wrong")
    await chat.start()
    await until(lambda: "refuses the bot token" in chat.state().why or None)
    assert not chat.state().connected


async def test_the_last_fifty_starts_of_a_day_are_not_spent(make: Make, discord: DiscordServer) -> None:
    discord.gateway.sessions_left = 50
    chat = make()
    await chat.start()
    await until(lambda: "only 50 starts" in chat.state().why or None)
    assert discord.gateway.identifies == 0


async def test_our_own_count_of_starts_holds_too(room: Room, make: Make, discord: DiscordServer) -> None:
    class Worn:
        def __getattr__(self, name: str) -> Any:
            return getattr(room.store, name)

        async def count_identify(self, *, now: datetime) -> int:
            return 951

    chat = make(store=Worn())
    await chat.start()
    await until(lambda: "951 starts" in chat.state().why or None)
    assert discord.gateway.identifies == 0


async def test_a_fault_of_ours_that_ends_the_gateway_is_told(room: Room, make: Make) -> None:
    class Faulty:
        def __getattr__(self, name: str) -> Any:
            return getattr(room.store, name)

        async def meta(self, name: str) -> str:
            raise ZeroDivisionError

    chat = make(store=Faulty())
    await chat.start()
    await until(lambda: "fault in feedbell" in chat.state().why or None)
    assert not chat.state().connected


async def test_a_crash_loop_starts_ever_later_and_a_good_session_ends_it(room: Room) -> None:
    clock = RoomClock()
    for _ in range(5):
        await Starts(room.store, clock).wait()
        clock.advance(timedelta(seconds=1))
    assert [slept.total_seconds() for slept in clock.slept] == [0, 0, 5, 10, 20]
    await Starts(room.store, clock).went_well()
    await Starts(room.store, clock).wait()
    assert clock.slept[-1] == timedelta(0)
    clock.advance(timedelta(hours=1))
    await Starts(room.store, clock).wait()
    assert clock.slept[-1] == timedelta(0)


async def test_a_gateway_that_takes_no_connection_is_told_and_tried_again(
    make: Make, discord: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(discord.gateway), "url", "ws://127.0.0.1:1/")
    chat = make()
    await chat.start()
    await until(lambda: "can't connect" in chat.state().why or None)
    monkeypatch.undo()
    await ready(discord, chat)
    assert not (await discord.users.command("latest")).late


async def test_an_answer_that_names_no_gateway_is_told_and_asked_for_again(
    make: Make, discord: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(discord.gateway), "url", "wss://[gateway")
    chat = make()
    await chat.start()
    await until(lambda: "names no gateway" in chat.state().why or None)
    monkeypatch.undo()
    await ready(discord, chat)


async def test_a_discord_that_is_away_is_told(make: Make, discord: DiscordServer) -> None:
    discord.faults.add(Fault(kind="status", status=503, match="GET /api/v10/gateway/bot"))
    chat = make()
    await chat.start()
    await until(lambda: "answered 503" in chat.state().why or None)
    await ready(discord, chat)


@pytest.mark.parametrize("path", ["/api/v10/gateway/bot", "/api/v10/applications/@me"])
async def test_discord_is_not_asked_again_before_it_wants_to_be_asked(
    make: Make, discord: DiscordServer, path: str
) -> None:
    discord.faults.add(Fault(kind="status", status=429, headers={"Retry-After": "6"}, match=f"GET {path}"))
    chat = make()
    await chat.start()
    first, second = await until(
        lambda: times[:2] if len(times := [one.at for one in discord.requests if one.path == path]) > 1 else None
    )
    assert second - first >= 6
    await ready(discord, chat)
