"""`check --online`: each feed, token, channel and mail server is tried, and nothing is posted."""

from pathlib import Path

from tests.cases.world import World
from tests.process.station import rss
from tests.servers.feeds import Document

FEED = "http://feeds.example.org/feed.xml"


async def test_each_destination_says_whether_exactly_once_is_possible(tmp_path: Path) -> None:
    async with World(tmp_path, live=False) as world:
        world.feeds.serve("/feed.xml", Document(body=rss("1")))
        world.slack.team.add_channel("news")
        world.discord.guild.add_channel("201", "blind")
        world.discord.set_permissions("201", deny=["READ_MESSAGE_HISTORY"])
        world.discord.guild.add_channel("202", "bare")
        world.discord.set_permissions("202", deny=["EMBED_LINKS"])
        world.subscribe(FEED, "", ["slack:#news"])
        world.routes[0]["to"] = ["slack:#news", "discord:201", "discord:202", "email:a@example.org", "console"]
        world.configure()
        done = await world.bot.call("check", "--online")
        assert (done.code, done.err) == (0, "")
        mail = "mail has no look-up; a second try carries the same Message-ID"
        assert done.out.splitlines()[2:] == [
            "slack:#news: ok: #news, C0NEWS, exactly-once: yes",
            "discord:201: ok: #blind, 201, exactly-once: no (the bot lacks READ_MESSAGE_HISTORY)",
            "discord:202: ok: #bare, 202, exactly-once: yes (the bot lacks EMBED_LINKS)",
            f"email:a@example.org: ok: 127.0.0.1, exactly-once: no ({mail})",
            "console: ok: console, exactly-once: no (a console has no history)",
            "commands in Slack: ok: by Socket Mode",
            "commands in Discord: ok: by the gateway",
        ]
        assert ": ok: 1 entry, Blog" in done.out.splitlines()[1]
        assert not world.slack.messages


async def test_what_cannot_work_is_an_error_with_its_reason(tmp_path: Path) -> None:
    async with World(tmp_path, live=False) as world:
        world.feeds.serve("/feed.xml", Document(status=404))
        world.slack.team.add_channel("news")
        world.slack.team.add_channel("apart", member=False)
        world.subscribe(FEED, "", ["slack:#news"])
        world.routes[0]["to"] = ["slack:#news", "slack:#apart", "slack:#nowhere", "discord:404404"]
        world.configure()
        done = await world.bot.call("check", "--online")
        assert done.code == 1
        told = done.err.splitlines()
        assert told[0].endswith("error: the server says 404: there is no such page")
        assert told[1:] == [
            "slack:#apart: error: the bot is not in the channel: invite it (not_in_channel)",
            "slack:#nowhere: error: #nowhere is not in the list of channels: "
            "it does not exist, or the bot is not invited",
            "discord:404404: error: the channel does not exist (10003)",
        ]
        assert "slack:#news: ok" in done.out


async def test_tokens_that_only_commands_need_are_tried_too(tmp_path: Path) -> None:
    async with World(tmp_path, live=False) as world:
        world.slack.app_token = "xapp-another"
        world.discord.set(token_revoked=True)
        world.configure()
        done = await world.bot.call("check", "--online")
        assert (done.code, done.err.splitlines()) == (
            1,
            [
                "commands in Slack: error: Slack refuses the app token (invalid_auth)",
                "commands in Discord: error: Discord refuses the bot token (401)",
            ],
        )


async def test_a_page_that_is_no_feed_is_told_with_the_command_that_finds_its_feed(tmp_path: Path) -> None:
    async with World(tmp_path, live=False) as world:
        world.feeds.serve("/feed.xml", Document(body=b"<!DOCTYPE html><html><body>A page</body></html>"))
        world.subscribe(FEED, "", ["slack:#news"])
        world.slack.team.add_channel("news")
        world.configure()
        told = (await world.bot.call("check", "--online")).err
        assert "error: an HTML page, not a feed; `feedbell inspect http://" in told


async def test_a_server_without_validators_is_told_to_be_asked_less_often(tmp_path: Path) -> None:
    async with World(tmp_path, live=False) as world:
        world.feeds.serve("/feed.xml", Document(body=rss("1"), etag=None, last_modified=None))
        world.subscribe(FEED, "", ["slack:#news"])
        world.subscriptions[FEED] |= {"own": False, "interval": "15m"}
        world.configure()
        done = await world.bot.call("check", "--online")
        raised = "interval 15m is raised to 1h, for its server sends neither ETag nor Last-Modified"
        assert done.out.splitlines()[1].endswith(f": ok: 1 entry, Blog; {raised}")
