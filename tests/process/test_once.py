"""`once`: one round, and an exit code that says whether a later one is needed."""

from datetime import timedelta
from pathlib import Path

from tests.cases.world import World
from tests.process.station import rss
from tests.servers.feeds import Document

FEED = "http://feeds.example.org/feed.xml"


async def test_a_feed_whose_server_asked_for_patience_is_left_alone_and_named(tmp_path: Path) -> None:
    async with World(tmp_path, live=False) as world:
        world.subscribe(FEED, "", ["slack:#news"])
        world.configure()
        world.feeds.serve("/feed.xml", Document(body=rss("1")))
        await world.bot.once()
        world.feeds.serve("/feed.xml", Document(status=429, headers={"Retry-After": "3600"}))
        await world.bot.once(expect=75)
        world.feeds.serve("/feed.xml", Document(body=rss("1")))
        asked = world.feeds.hits("/feed.xml")
        waiting = await world.bot.once(expect=75)
        assert "its server asked to be left alone" in waiting.err
        assert world.feeds.hits("/feed.xml") == asked
        world.clock.move(timedelta(minutes=61))
        await world.bot.once()
        assert world.feeds.hits("/feed.xml") == asked + 1


async def test_a_parked_destination_is_a_line_and_no_failure(tmp_path: Path) -> None:
    async with World(tmp_path, live=False) as world:
        world.subscribe(FEED, "", ["slack:#news"])
        world.routes[0]["to"] = ["slack:#news", "slack:#gone"]
        world.configure()
        world.feeds.serve("/feed.xml", Document(body=rss("1")))
        await world.bot.once()
        world.feeds.serve("/feed.xml", Document(body=rss("1", "2")))
        done = await world.bot.once()
        assert "slack:#gone: parked: the channel does not exist" in done.err
        assert "1 message sent" in done.err


async def test_what_a_destination_does_not_take_for_a_week_is_given_up_without_a_running_bot_too(
    tmp_path: Path,
) -> None:
    async with World(tmp_path, live=False) as world:
        world.subscribe(FEED, "", ["slack:#news"])
        world.routes[0]["to"] = ["slack:#gone"]
        world.configure()
        world.feeds.serve("/feed.xml", Document(body=rss("1")))
        await world.bot.once()
        world.feeds.serve("/feed.xml", Document(body=rss("1", "2")))
        await world.bot.once()
        world.clock.move(timedelta(days=8))
        await world.bot.once()
        assert "deliveries: 1 dead" in (await world.bot.call("status")).out
