"""A hub pushes, and the message is there before a poll could have been."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.bot_process import eventually
from tests.process.hub import HubServer
from tests.process.station import NEWS, Station, rss
from tests.servers.feeds import Document

PUBLIC = "https://bell.example.org"
TOPIC = "http://feeds.example.org/blog.xml"
SOON = 2.0  # seconds from the push to the message


def links(hub: str) -> str:
    return f'<atom:link rel="hub" href="{hub}"/><atom:link rel="self" href="{TOPIC}"/>'


@asynccontextmanager
async def subscribed(folder: Path) -> AsyncIterator[tuple[Station, HubServer]]:
    """A bot behind a public address, whose hub has verified that it wants the feed."""
    async with HubServer() as hub, Station(folder) as here:
        hub.callbacks = (PUBLIC, here.base)
        here.sections["http"]["public_url"] = PUBLIC
        here.secrets["FEEDBELL_HTTP__TOKEN"] = "page-token"
        here.follow("blog", "1", head=links(f"{hub.url}/hub"))
        await here.started(polled=None)
        await eventually(lambda: TOPIC in hub.subscriptions, seconds=10)
        yield here, hub


async def test_a_push_is_a_message_within_two_seconds(tmp_path: Path) -> None:
    async with subscribed(tmp_path) as (here, hub):
        [form] = hub.asked
        assert form["hub.mode"] == "subscribe"
        assert form["hub.callback"] == f"{PUBLIC}/websub/blog"
        assert len(form["hub.secret"]) >= 32
        assert await hub.push(TOPIC, rss("1", "2", head=links(f"{hub.url}/hub"))) == 202
        await here.told("2", seconds=SOON)
        assert here.feeds.hits("/blog.xml") == 1
        assert await hub.push(TOPIC, rss("1", "2", head=links(f"{hub.url}/hub"))) == 202
        await here.quiet()
        await here.told("2")


async def test_what_a_push_no_longer_lists_is_withdrawn_like_what_a_poll_no_longer_lists(tmp_path: Path) -> None:
    async with subscribed(tmp_path) as (here, hub):
        [feed] = here.subscriptions.values()
        feed["withdrawn"] = True
        await here.reload()
        here.feeds.serve("/p/3", Document(body=b"a page", content_type="text/html"))

        def listing(*titles: str) -> bytes:
            body = rss(*titles, head=links(f"{hub.url}/hub"))
            return body.replace(b"https://blog.example.org/", f"{here.feeds.url}/p/".encode())

        assert await hub.push(TOPIC, listing("1", "2", "3", "4")) == 202
        await eventually(lambda: len(here.titles()) == 4)
        assert await hub.push(TOPIC, listing("1", "4")) == 202  # the page of 2 is gone too, the one of 3 is there

        def withdrawn() -> list[str]:
            return [post.title for post in here._posts_of(NEWS) if "withdrawn" in post.text]

        await here.until(withdrawn, seconds=5)
        await here.quiet()
        assert withdrawn() == ["2"], here.bot.log


async def test_while_a_hub_pushes_polls_are_a_day_apart(tmp_path: Path) -> None:
    async with subscribed(tmp_path) as (here, hub):
        body = rss("1", "2", head=links(f"{hub.url}/hub"))
        await hub.push(TOPIC, body)
        await here.told("2", seconds=SOON)
        here.clock.move(timedelta(hours=20))
        await here.quiet(1.5)
        assert here.feeds.hits("/blog.xml") == 1
        here.publish("blog", "1", "2", "3", head=links(f"{hub.url}/hub"))
        here.clock.move(timedelta(hours=8))
        await here.told("2", "3")


@pytest.mark.parametrize(("method", "secret"), [("sha256", "guessed"), ("sha1", "guessed"), ("md5", None)])
async def test_a_push_with_a_wrong_signature_is_refused(tmp_path: Path, method: str, secret: str | None) -> None:
    async with subscribed(tmp_path) as (here, hub):
        assert await hub.push(TOPIC, rss("1", "forged"), method=method, secret=secret) == 401
        unsigned = await here.ask("POST", "/websub/blog", data=rss("1", "forged"))
        assert unsigned.status == 401
        await here.quiet(1)
        assert here.titles() == []


async def test_a_weak_signature_is_a_hint_that_is_looked_into_and_not_believed(tmp_path: Path) -> None:
    async with subscribed(tmp_path) as (here, hub):
        here.publish("blog", "1", "2", head=links(f"{hub.url}/hub"))
        assert await hub.push(TOPIC, rss("1", "not in the feed"), method="sha1") == 202
        await here.told("2", seconds=SOON)


async def test_nobody_subscribes_or_pushes_what_was_not_asked_for(tmp_path: Path) -> None:
    async with subscribed(tmp_path) as (here, _):
        query = {"hub.mode": "subscribe", "hub.topic": "https://example.org/other", "hub.challenge": "x"}
        assert (await here.ask("GET", "/websub/blog", params=query)).status == 404
        assert (await here.ask("GET", "/websub/other", params={**query, "hub.topic": TOPIC})).status == 404
        assert (await here.ask("POST", "/websub/other", data=b"x")).status == 404
        bye = {"hub.mode": "unsubscribe", "hub.topic": TOPIC, "hub.challenge": "x"}
        assert (await here.ask("GET", "/websub/blog", params=bye)).status == 404


async def test_a_hub_inside_the_network_is_not_reached(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.sections["http"]["public_url"] = PUBLIC
        here.follow("blog", "1", head=links("http://192.168.7.7/hub"))
        await here.started(polled=None)
        await eventually(lambda: "hub not reached" in here.bot.log, seconds=10)
        line = next(line for line in here.bot.log.splitlines() if "hub not reached" in line)
        assert "address" in line or "192.168.7.7" in line
        here.publish("blog", "1", "2", head=links("http://192.168.7.7/hub"))
        await here.poll_again()
        await here.told("2")
