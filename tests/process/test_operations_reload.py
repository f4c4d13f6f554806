"""A changed file holds within four seconds, a bad one changes nothing, and no message is disturbed by either."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from tests.bot_process import eventually
from tests.process.station import Station
from tests.servers.faults import Fault

SOON = 4.0  # seconds; small print 13


async def test_a_feed_that_was_added_is_polled_within_four_seconds_of_sighup(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        here.follow("second", "a")
        here.hup()
        await eventually(lambda: here.feeds.hits("/second.xml") > 0, seconds=SOON)
        assert "feed second: added" in here.bot.log


async def test_a_changed_file_is_seen_without_a_signal(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        here.follow("second", "a")
        here.configure()
        await eventually(lambda: here.feeds.hits("/second.xml") > 0, seconds=SOON)


async def test_a_bad_file_is_refused_with_each_of_its_errors_and_the_old_one_stays_in_force(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        text = (tmp_path / "config.toml").read_text()
        here.bot.configure(text.replace("interval", "intervall", 1) + '\n[[routes]]\nto = "slak:#x"\n')
        await eventually(lambda: here.bot.log.count("configuration refused") >= 2, seconds=SOON)
        assert "config.toml:" in here.bot.log
        assert "intervall" in here.bot.log
        assert "slak" in here.bot.log
        assert await here.metric('feedbell_config_reloads_total{outcome="refused"}') == 1
        here.publish("blog", "1", "2")
        await here.poll_again()
        await here.told("2")
        assert (await here.ask("GET", "/healthz")).status == 200
        assert (await here.bot.call("health")).code == 0  # a restart would end what is well


async def test_a_template_with_a_mistake_is_refused_and_the_old_one_stays_in_force(tmp_path: Path) -> None:
    layout = tmp_path / "short.j2"
    layout.write_text("Read: {{ title }}")
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        here.routes[0]["template"] = "short.j2"
        await here.started()
        layout.write_text("{{ title ")
        here.hup()
        await eventually(lambda: "configuration refused" in here.bot.log, seconds=SOON)
        assert "short.j2:1:1: error" in here.bot.log
        here.publish("blog", "1", "2")
        await here.poll_again()
        assert await here.until(lambda: bool(here.slack.in_channel("#news")), seconds=15), here.bot.log
        assert (await here.ask("GET", "/healthz")).status == 200


async def test_a_feed_whose_address_changed_keeps_what_it_has_told(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        feed = here.follow("blog", "1")
        await here.started()
        here.publish("moved", "1", "2")
        feed["url"] = here.here("http://feeds.example.org/moved.xml")
        await here.reload()
        await here.told("2")


async def test_a_shorter_interval_holds_at_once(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        feed = here.follow("blog", "1")
        feed["interval"] = "24h"
        await here.started()
        here.clock.move(timedelta(hours=1))
        await asyncio.sleep(1)
        assert here.feeds.hits("/blog.xml") == 1
        feed["interval"] = "15m"
        await here.reload()
        await eventually(lambda: here.feeds.hits("/blog.xml") > 1, seconds=SOON)


async def test_what_is_being_sent_comes_to_its_end_while_routes_change(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        here.slack.faults.add(Fault(kind="delay", match="chat.postMessage", seconds=1, times=None))
        here.publish("blog", "1", "2", "3", "4")
        here.follow("second", "a", to="slack:#general")
        before = len(here.slack.requests)
        await here.poll_again()
        await eventually(lambda: len(here.slack.requests) > before)
        await here.reload()
        await here.told("2", "3", "4")


async def test_a_route_that_was_added_begins_with_the_next_entry_and_one_that_is_gone_tells_no_more(
    tmp_path: Path,
) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        here.routes[0]["to"] = ["slack:#general"]
        await here.reload()
        here.publish("blog", "1", "2")
        await here.poll_again()
        await eventually(lambda: here.titles("slack:#general") == ["2"])
        assert here.titles() == []


async def test_a_changed_token_is_used_at_once_and_what_waits_for_a_restart_is_named(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("xoxb-old\n")
    async with Station(tmp_path) as here:
        del here.secrets["FEEDBELL_SLACK__BOT_TOKEN"]
        here.secrets["FEEDBELL_SLACK__BOT_TOKEN_FILE"] = str(secret)
        here.slack.bot_token = "xoxb-new"
        here.follow("blog", "1")
        await here.started()
        secret.write_text("xoxb-new\n")
        here.sections["log"] = {"level": "debug"}
        await here.reload()
        here.publish("blog", "1", "2")
        await here.poll_again()
        await here.told("2")
        assert "this change needs a restart  key=log.level" in here.bot.log
        assert "xoxb-" not in here.bot.log
