"""T1, T4, T27: every other way by which an address reaches the fetcher: pages, hubs, pokes, images, imported lists."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.core.errors import AddressRefused, FetchError, NotAFeed, UsageError
from bot.core.model.feed import Feed, FeedId, FeedMemory, FeedState
from bot.core.opml import parse_opml
from bot.notifiers import discord_layout, email_layout, slack_layout
from bot.services.commands.discovery import discover
from bot.services.discovery import Discovery
from bot.services.websub import WebSub
from tests.bot_process import BotProcess
from tests.chat_room import InProcess, RoomClock
from tests.core.messages import entry, message
from tests.edge.raw_http import RSS, RawServer, answer, fetching
from tests.security.test_ssrf import ODD, REFUSED, START, url_of

_connected: list[Any] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        _connected.append(arguments[1])


sys.addaudithook(_watch)


@pytest.fixture
def connected() -> Iterator[list[Any]]:
    _connected.clear()
    yield _connected
    _connected.clear()


def page_naming(*urls: str) -> bytes:
    links = "".join(f'<link rel="alternate" type="application/rss+xml" href="{url}">' for url in urls)
    return answer(body=f"<html><head>{links}</head><body>no feed here</body></html>".encode())


async def test_no_page_leads_discovery_to_a_private_address(connected: list[Any]) -> None:
    async with RawServer({"/": answer(body=RSS)}) as honeypot:
        urls = [url_of(address, honeypot.port) for address in REFUSED]
        urls += [f"http://{host}:{honeypot.port}/" for host in ODD if "[" not in host]
        pages = {f"/{number}": page_naming(url) for number, url in enumerate(urls)}
        async with RawServer(pages, host=START) as server, fetching() as fetcher:
            for number in range(len(urls)):
                with pytest.raises((FetchError, NotAFeed)):
                    await Discovery(fetcher, InProcess()).find(
                        server.url(f"/{number}"), from_chat=False, allow_private=(START,)
                    )
                assert await discover(server.url(f"/{number}"), pages=fetcher, parser=InProcess()) is None
            assert {address for address in connected if address != (START, server.port)} == set()
        assert honeypot.connections == 0


async def test_inspect_trusts_the_host_that_was_typed_and_nothing_that_it_names(tmp_path: Path) -> None:
    async with RawServer({"/": answer(body=RSS)}) as honeypot:
        async with RawServer({"/": page_naming(honeypot.url("/"))}, host=START) as server:
            shown = await BotProcess(tmp_path, "").call("inspect", server.url("/"))
            assert shown.code != 0
            assert len(server.requests) == 1
        assert honeypot.connections == 0


class OneFeed:
    """A store with one feed, whose document names `hub`."""

    def __init__(self, hub: str) -> None:
        feed = Feed(id=FeedId("f"), url="https://feeds.example/")
        now = datetime(2026, 9, 16, tzinfo=UTC)
        self.state = FeedState(no=1, feed=feed, memory=FeedMemory(hub=hub), next_poll_at=now)
        self.kept: dict[str, str] = {}

    async def feeds(self) -> list[FeedState]:
        return [self.state]

    async def meta(self, name: str) -> str | None:
        return self.kept.get(name)

    async def put_meta(self, name: str, value: str) -> None:
        self.kept[name] = value

    async def key(self) -> bytes:
        return b"k" * 32


async def test_no_feed_makes_us_post_to_a_private_hub(connected: list[Any]) -> None:
    async with RawServer({"/": answer()}) as honeypot, fetching() as fetcher:
        for hub in [url_of(address, honeypot.port) for address in REFUSED] + [honeypot.url("/")]:
            with pytest.raises(AddressRefused):
                await fetcher.post_form(hub, {})
            websub = WebSub(
                store=OneFeed(hub),  # type: ignore[arg-type]  # what a subscription asks of it
                hub=fetcher,
                clock=RoomClock(),
                ingest=None,  # type: ignore[arg-type]  # nothing is pushed
                wake=lambda: None,
                public_url=lambda: "https://bell.example.org",
            )
            await websub.look()
        assert honeypot.connections == 0
    assert connected == []


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/i.png", "http://169.254.169.254/latest/meta-data/"])
def test_an_image_is_named_to_the_service_and_never_fetched_by_us(address: str, connected: list[Any]) -> None:
    said = message(entry(image=address, summary_html=f'<img src="{address}">'))
    slack_layout.to_payload(said)
    discord_layout.to_payload(said)
    mail = email_layout.to_payload(said, sender="a@example.org")
    assert "<img" not in str(mail["html"])
    assert connected == []


async def test_an_imported_list_is_read_and_nothing_of_it_is_fetched(tmp_path: Path) -> None:
    async with RawServer({"/": answer(body=RSS)}) as honeypot:
        outline = f'<outline type="rss" xmlUrl="{honeypot.url("/")}"/>'
        (tmp_path / "list.opml").write_text(f"<opml><body>{outline}</body></opml>", encoding="utf-8")
        shown = await BotProcess(tmp_path, "").call("opml", "import", "list.opml")
        assert honeypot.url("/") in shown.out
        assert honeypot.connections == 0
    many = "".join(f'<outline xmlUrl="https://e.org/{number}"/>' for number in range(501))
    with pytest.raises(UsageError):
        parse_opml(f"<opml><body>{many}</body></opml>".encode())
    with pytest.raises(UsageError):
        parse_opml(b"<opml><body>" + b" " * 1_000_001 + outline.encode() + b"</body></opml>")
