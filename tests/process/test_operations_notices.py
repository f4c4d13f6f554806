"""What the operator is told in `ops`: once for each thing, with what to do."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from tests.bot_process import eventually
from tests.process.station import OPS, Station
from tests.servers.feeds import Document


class Watched(Station):
    """A station whose operator is told."""

    async def __aenter__(self) -> Watched:
        await super().__aenter__()
        self.top["ops"] = OPS
        return self

    async def hours_later(self, hours: float, path: str = "/blog.xml") -> None:
        """Let the feed be polled once more, so much later."""
        before = self.feeds.hits(path)
        self.clock.move(timedelta(hours=hours))
        await eventually(lambda: self.feeds.hits(path) > before)
        await asyncio.sleep(0.3)


async def test_a_feed_that_breaks_and_comes_back_is_two_notices(tmp_path: Path) -> None:
    async with Watched(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        here.feeds.serve("/blog.xml", Document(status=500))
        for _ in range(8):
            await here.hours_later(27)
        broken = await here.noticed("cannot be read")
        assert "blog" in broken
        assert "500" in broken
        assert "tried again" in broken
        here.publish("blog", "1", "2")
        await here.hours_later(27)
        await here.noticed("blog can be read again")
        assert len(here.notices()) == 2
        await here.told("2")


async def test_a_short_outage_is_told_to_nobody(tmp_path: Path) -> None:
    async with Watched(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        here.feeds.serve("/blog.xml", Document(status=500))
        await here.hours_later(0.3)
        here.publish("blog", "1", "2")
        await here.hours_later(1)
        await here.told("2")
        assert here.notices() == []


async def test_a_feed_that_moved_for_good_is_told_with_its_new_address(tmp_path: Path) -> None:
    async with Watched(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        here.publish("new", "1")
        target = here.here("http://feeds.example.org/new.xml")
        here.feeds.serve("/blog.xml", Document(status=301, headers={"Location": target}))
        for _ in range(4):
            before = here.feeds.hits("/new.xml")
            here.clock.move(timedelta(days=1.5))
            await eventually(lambda before=before: here.feeds.hits("/new.xml") > before)
            await asyncio.sleep(0.3)
        notice = await here.noticed("has moved for good")
        assert target in notice
        assert "Put it into the file" in notice
        assert len(here.notices()) == 1


async def test_a_flood_is_a_digest_and_one_notice(tmp_path: Path) -> None:
    async with Watched(tmp_path) as here:
        here.follow("blog", "0")
        await here.started()
        here.publish("blog", *(str(number) for number in range(41)))
        await here.poll_again()
        await here.told(*(str(number) for number in range(1, 41)))
        notice = await here.noticed("blog")
        assert "40" in notice or "30" in notice
        assert len(here.notices()) == 1
        assert len(here.slack.in_channel("#news")) < 40


async def test_a_destination_that_is_archived_is_told_once_and_its_return_too(tmp_path: Path) -> None:
    async with Watched(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        [channel] = [one.id for one in here.slack.team.channels.values() if one.name == "news"]
        here.slack.set_channel(channel, archived=True)
        here.publish("blog", "1", "2", "3")
        await here.poll_again()
        notice = await here.noticed("is parked")
        assert "slack:#news" in notice
        assert "archived" in notice
        assert "feedbell resume slack:#news" in notice
        assert (await here.ask("GET", "/readyz")).status == 200
        assert await here.metric("feedbell_parked_destinations") == 1
        here.slack.set_channel(channel, archived=False)
        done = await here.bot.call("resume", "slack:#news")
        assert done.code == 0, done.err
        await here.told("2", "3")
        assert len(here.notices()) <= 2


async def test_a_revoked_token_is_told_where_the_operator_still_hears_it(tmp_path: Path) -> None:
    async with Watched(tmp_path) as here:
        here.top["ops"] = "email:ops@example.org"
        here.follow("blog", "1")
        await here.started()
        here.slack.auth_error = "token_revoked"
        here.publish("blog", "1", "2")
        await here.poll_again()
        await eventually(lambda: len(here.smtp.to("ops@example.org")) == 1)
        await here.quiet(1.5)
        [mail] = here.smtp.to("ops@example.org")
        words = mail.body("plain")
        assert "token_revoked" in words
        assert "feedbell resume" in words
        here.slack.auth_error = None
        await asyncio.sleep(5)  # real seconds, in which a refused token is not tried again
        assert (await here.bot.call("resume", "slack:#news")).code == 0
        await here.told("2")


async def test_one_channel_under_two_names_is_told_once_from_the_first_message_on(tmp_path: Path) -> None:
    async with Watched(tmp_path) as here:
        here.follow("blog", "1")
        [channel] = [one.id for one in here.slack.team.channels.values() if one.name == "news"]
        here.routes[0]["to"] = ["slack:#news", f"slack:{channel}"]
        await here.started()
        here.publish("blog", "1", "2", "3")
        await here.poll_again()
        notice = await here.noticed("is the same channel as")
        assert "feedbell resume slack:" in notice
        await here.quiet(1)
        assert here.titles() == ["2", "3"]
