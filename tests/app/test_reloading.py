"""Taking over a changed file: what the store could not be told is told later, and no signal is lost or deadly."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.app.parts import Observers, Parts, built, opened
from bot.app.preparing import prepare
from bot.app.reloading import SETTLED, ConfigFile, Reloader
from bot.clock import SystemClock
from bot.config.load import load, load_complete
from bot.config.settings import Settings
from bot.core.errors import StoreUnavailable
from bot.notifiers.discord_api import Strikes
from bot.ports import Notifier
from tests.chat_room import RoomClock

FEED = '[[feeds]]\nid = "{0}"\nurl = "http://127.0.0.1:9/{0}.xml"\n'


class Full:
    """A store whose disk is full for as long as a test says so."""

    def __init__(self, store: Any) -> None:
        self.is_full = False
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def sync_feeds(self, feeds: Any, *, now: datetime) -> None:
        if self.is_full:
            raise StoreUnavailable("database or disk is full")
        await self._store.sync_feeds(feeds, now=now)


def _nothing(*_: object) -> None:
    """Nobody listens."""


@asynccontextmanager
async def running(path: Path) -> AsyncIterator[tuple[Parts, Full, Reloader, RoomClock]]:
    hand = RoomClock()
    path.write_text(FEED.format("one"))
    settings, clock = load(path, {}), SystemClock()
    file = ConfigFile(path, hand, _nothing)
    async with opened(settings, clock, exclusive=True) as store:
        full: Any = Full(store)
        observers = Observers(polled=_nothing, sent=_nothing)
        async with built(settings, clock, full, observers=observers, wake=_nothing) as parts:
            await prepare(parts)
            yield parts, full, Reloader(parts, file, wake=_nothing, applied=_nothing, refused=_nothing), hand


async def write(path: Path, text: str, reloader: Reloader, clock: RoomClock) -> None:
    """Write a file and let so much time pass that it counts at the next look."""
    path.write_text(text)
    await reloader.look()
    clock.advance(SETTLED)


async def feeds_of(parts: Parts) -> list[str]:
    return [state.feed.id for state in await parts.store.feeds()]


async def test_what_a_full_disk_kept_from_the_store_is_told_it_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    async with running(path) as (parts, full, reloader, clock):
        await write(path, FEED.format("one") + FEED.format("two"), reloader, clock)
        full.is_full = True
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await reloader.look()
        assert await feeds_of(parts) == ["one"]
        full.is_full = False
        await reloader.look()
        assert await feeds_of(parts) == ["one", "two"]


async def test_a_file_that_is_still_being_written_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    async with running(path) as (parts, _, reloader, clock):
        whole = FEED.format("one") + FEED.format("two") + FEED.format("three")
        for part in ("", FEED.format("one"), FEED.format("one") + FEED.format("two"), whole):
            await write(path, part, reloader, clock)
            if part != whole:
                clock.advance(-SETTLED / 2)
            assert await feeds_of(parts) == ["one"]
        await reloader.look()
        assert await feeds_of(parts) == ["one", "two", "three"]


async def test_what_a_host_has_asked_for_holds_after_a_reload(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    async with running(path) as (parts, _, reloader, clock):
        [feed] = [state.feed for state in await parts.store.feeds()]
        parts.intake.gate.pause(feed.url, timedelta(hours=1))
        await write(path, FEED.format("one") + FEED.format("two"), reloader, clock)
        await reloader.look()
        async with parts.intake.gate.turn(feed, feed.url, patient=False) as turn:
            assert turn.put_off_until is not None


async def test_how_near_a_ban_is_holds_after_a_reload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[Strikes] = []

    def build(*_: object, strikes: Strikes) -> Mapping[str, Notifier]:
        counts.append(strikes)
        return {}

    monkeypatch.setattr("bot.app.parts.build_notifiers", build)
    path = tmp_path / "config.toml"
    async with running(path) as (_, _, reloader, clock):
        await write(path, FEED.format("one") + FEED.format("two"), reloader, clock)
        await reloader.look()
    before, after = counts
    assert before is after


async def test_a_file_that_changed_while_the_bot_started_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(FEED.format("one"))
    clock = RoomClock()
    file = ConfigFile(path, clock, _nothing)
    assert not file.take()
    path.write_text(FEED.format("another"))
    assert not file.take()
    clock.advance(SETTLED)
    assert file.take()
    assert not file.take()


async def test_a_signal_that_comes_before_the_state_is_open_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(FEED.format("one"))
    file = ConfigFile(path, RoomClock(), _nothing)
    os.kill(os.getpid(), signal.SIGHUP)
    for _ in range(100):
        await asyncio.sleep(0)
        if file.again:
            break
    assert file.take()
    assert not file.take()


async def test_a_file_is_read_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def watched(*args: Any, **kwargs: Any) -> Settings:
        threads.append(threading.current_thread())
        return load_complete(*args, **kwargs)

    path = tmp_path / "config.toml"
    async with running(path) as (parts, _, reloader, clock):
        monkeypatch.setattr("bot.app.reloading.load_complete", watched)
        await write(path, FEED.format("one") + FEED.format("two"), reloader, clock)
        await reloader.look()
        assert await feeds_of(parts) == ["one", "two"]
        assert threads
        assert threading.main_thread() not in threads


async def test_a_restart_is_asked_for_once_and_not_for_what_was_taken_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "config.toml"
    plain, moved = FEED.format("one"), '[http]\nlisten = "127.0.0.1:1"\n' + FEED.format("one")
    async with running(path) as (_, _, reloader, clock):
        for text, asked in ((moved, 1), (moved + 'tags = ["x"]\n', 1), (plain, 1), (moved, 2)):
            await write(path, text, reloader, clock)
            clock.advance(SETTLED)
            await reloader.look()
            assert [record.message for record in caplog.records].count("this change needs a restart") == asked
