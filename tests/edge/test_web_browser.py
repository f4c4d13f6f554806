"""The pages in a real browser, where one is installed: they stay up to date, and work the same without JavaScript."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.clock import SystemClock
from tests.edge.browser import PROGRAM, browser
from tests.edge.web_bot import Bot, serve
from tests.edge.web_facts import inbox_messages

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")

SHOWN = "document.querySelector('dl.figures div:nth-child(2) dd').textContent"


async def test_an_open_page_shows_what_changed_without_being_loaded_anew(tmp_path: Path) -> None:
    async with serve(Bot(clock=SystemClock())) as (bot, _), browser(tmp_path) as tab:
        await tab.open(f"{bot.url}/")
        assert await tab.value(SHOWN) == "1,284"
        await tab.value("window.loaded = 'once'")
        bot.status.numbers = replace(bot.status.numbers, entries=1_285)
        bot.live.changed()
        await tab.becomes(f"{SHOWN} === '1,285'")
        assert await tab.value("window.loaded") == "once"
        assert tab.complaints == []


async def test_nothing_moves_under_the_hands_of_who_reads_and_it_comes_when_they_are_done(tmp_path: Path) -> None:
    messages = inbox_messages()
    bot = Bot(clock=SystemClock(), messages=messages[1:])
    async with serve(bot) as (bot, _), browser(tmp_path) as tab:
        await tab.open(f"{bot.url}/inbox")
        count = "document.querySelectorAll('article').length"
        before = await tab.value(count)
        await tab.value("document.querySelector('details').open = true; document.querySelector('iframe').mine = 1")
        await tab.value(f"new EventSource('/events?since={bot.live.mark}').onmessage = () => window.isTold = true; 0")
        bot.messages.insert(0, messages[0])
        bot.live.changed()
        await tab.becomes("window.isTold === true")
        assert await tab.value(count) == before
        await tab.value("document.querySelector('details').open = false")
        await tab.becomes(f"{count} === {before + 1}")
        assert await tab.value("[...document.querySelectorAll('iframe')].some(frame => frame.mine)")  # not loaded anew
        assert tab.complaints == []


async def test_a_page_is_the_same_without_javascript(tmp_path: Path) -> None:
    async with serve() as (bot, _), browser(tmp_path) as tab:
        await tab.open(f"{bot.url}/", scripts=False)
        assert await tab.value(SHOWN) == "1,284"
        assert tab.complaints == []
