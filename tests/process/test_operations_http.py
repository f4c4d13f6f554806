"""What the port answers while the bot runs: who may see what, what is red and why, and pokes."""

from __future__ import annotations

import base64
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.bot_process import eventually
from tests.process.station import Station
from tests.servers.feeds import Document

TOKEN = "page-token-of-the-test"
POKE = "poke-token-of-the-test"
PAGES = ("/", "/feeds", "/inbox", "/metrics", "/no-such-page")
BASIC = "Basic " + base64.b64encode(f"anybody:{TOKEN}".encode()).decode()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


# (settings of [http], token set, Host header, Authorization) -> status of a page that exists
ACCESS: list[tuple[dict[str, Any], bool, str | None, str | None, int]] = [
    ({}, False, None, None, 200),
    ({}, False, "localhost", None, 200),
    ({}, False, "[::1]:8080", None, 200),
    ({}, False, "bell.example.org", None, 404),
    ({}, False, "127.0.0.1.example.org", None, 404),
    ({}, True, "bell.example.org", None, 401),
    ({}, True, "bell.example.org", "Bearer wrong", 401),
    ({}, True, "bell.example.org", f"Bearer {TOKEN}", 200),
    ({}, True, "bell.example.org", BASIC, 200),
    ({}, True, None, None, 200),
    ({"public_url": "https://bell.example.org"}, False, None, None, 404),
    ({"public_url": "https://bell.example.org"}, True, None, None, 401),
    ({"public_url": "https://bell.example.org"}, True, None, f"Bearer {TOKEN}", 200),
]


@pytest.mark.parametrize(("http", "with_token"), [({}, False), ({}, True), ({"public_url": "x"}, False)])
async def test_pages_are_for_those_who_may_see_them(tmp_path: Path, http: dict[str, Any], with_token: bool) -> None:
    rows = [row for row in ACCESS if row[1] == with_token and bool(row[0]) == bool(http)]
    async with Station(tmp_path) as here:
        here.sections["http"] |= rows[0][0]
        if with_token:
            here.secrets["FEEDBELL_HTTP__TOKEN"] = TOKEN
        here.follow("blog", "1")
        await here.started(polled=None)
        for _, _, host, proof, status in rows:
            headers = {**({"Host": host} if host else {}), **({"Authorization": proof} if proof else {})}
            for page in PAGES:
                wanted = 404 if page == "/no-such-page" and status == 200 else status
                assert (await here.ask("GET", page, headers=headers)).status == wanted, (page, host, proof)
            assert (await here.ask("GET", "/healthz", headers=headers)).status == 200
            assert (await here.ask("GET", "/readyz", headers=headers)).status == 200


async def test_a_public_address_asks_for_the_token_from_the_reload_on(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.secrets["FEEDBELL_HTTP__TOKEN"] = TOKEN
        here.follow("blog", "1")
        await here.started()
        here.sections["http"]["public_url"] = "https://bell.example.org"
        await here.reload()
        assert (await here.ask("GET", "/")).status == 401
        assert (await here.ask("GET", "/", headers=bearer(TOKEN))).status == 200


async def test_ready_tells_a_chat_connection_that_is_down(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.secrets["FEEDBELL_SLACK__APP_TOKEN"] = "xapp-that-is-not-known"
        here.follow("blog", "1")
        await here.started()

        async def red() -> bool:
            return (await here.ask("GET", "/readyz")).status == 503

        await here.becomes(red)
        answer = await here.ask("GET", "/readyz")
        assert any("slack" in reason for reason in answer.json["reasons"])
        assert "xapp-" not in answer.text
        assert (await here.ask("GET", "/healthz")).status == 200
        assert (await here.bot.call("health", "--ready")).code == 1
        here.publish("blog", "1", "2")
        await here.poll_again()
        await here.told("2")


async def test_a_feed_that_fails_and_one_that_is_silent_for_months_are_ready(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        here.feeds.serve("/blog.xml", Document(status=500))
        await here.poll_again()
        here.clock.move(timedelta(days=90))
        hits = here.feeds.hits("/blog.xml")
        await eventually(lambda: here.feeds.hits("/blog.xml") > hits)

        async def ready() -> bool:
            return bool((await here.ask("GET", "/readyz")).json == {"status": "ok", "reasons": []})

        await here.becomes(ready)


async def test_a_poke_needs_its_token_and_a_feed(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.secrets["FEEDBELL_HTTP__POKE_TOKEN"] = POKE
        here.follow("blog", "1")
        await here.started()
        assert (await here.ask("POST", "/hooks/poke/blog")).status == 401
        assert (await here.ask("POST", "/hooks/poke/blog", headers=bearer("wrong"))).status == 401
        assert (await here.ask("POST", "/hooks/poke/none", headers=bearer("wrong"))).status == 401
        assert (await here.ask("POST", "/hooks/poke/none", headers=bearer(POKE))).status == 404
        assert (await here.ask("GET", "/hooks/poke/blog", headers=bearer(POKE))).status == 405
        here.publish("blog", "1", "2")
        assert (await here.ask("POST", "/hooks/poke/blog", headers=bearer(POKE))).status == 202
        await here.told("2", seconds=3)


async def test_without_a_token_there_is_no_hook(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        assert (await here.ask("POST", "/hooks/poke/blog", headers=bearer("anything"))).status == 404


async def test_an_open_page_is_told_of_a_new_post(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.follow("blog", "1")
        await here.started()
        loaded = re.search(r'data-since="([\d.-]+)"', await here.page("/"))
        assert loaded is not None
        here.publish("blog", "1", "2")
        async with ClientSession() as session, session.get(f"{here.base}/events?since={loaded[1]}") as stream:
            await here.poll_again()
            await here.told("2")
            lines = [(await stream.content.readline()).decode() for _ in range(4)]
            assert lines[:2] == ["retry: 1000\n", "\n"]
            assert lines[2].startswith("id: ")
            assert lines[3] == "data: changed\n"


async def test_a_poke_is_patient_with_a_cache_that_lags(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.secrets["FEEDBELL_HTTP__POKE_TOKEN"] = POKE
        here.follow("blog", "1")
        await here.started()
        await here.ask("POST", "/hooks/poke/blog", headers=bearer(POKE))
        await eventually(lambda: here.feeds.hits("/blog.xml") == 2)
        here.publish("blog", "1", "2")
        await here.told("2", seconds=10)


async def test_a_poke_works_in_backoff_while_another_feed_hangs(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.secrets["FEEDBELL_HTTP__POKE_TOKEN"] = POKE
        here.follow("blog", "1")
        await here.started()
        here.feeds.serve("/blog.xml", Document(status=500))
        await here.poll_again()
        await eventually(lambda: "feed not read" in here.bot.log)
        here.subscriptions["hanging"] = {
            **here.subscriptions["http://feeds.example.org/blog.xml"],
            "id": "hanging",
            "url": here.feeds.case_url("slow-headers"),
        }
        await here.reload()
        await eventually(lambda: any("/case/" in one.path for one in here.feeds.requests))
        here.publish("blog", "1", "2")
        assert (await here.ask("POST", "/hooks/poke/blog", headers=bearer(POKE))).status == 202
        await here.told("2", seconds=5)


async def test_a_poke_keeps_a_retry_after(tmp_path: Path) -> None:
    async with Station(tmp_path) as here:
        here.secrets["FEEDBELL_HTTP__POKE_TOKEN"] = POKE
        here.follow("blog", "1")
        await here.started()
        here.feeds.serve("/blog.xml", Document(status=503, headers={"Retry-After": "7200"}))
        await here.poll_again()
        here.publish("blog", "1", "2")
        hits = here.feeds.hits("/blog.xml")
        assert (await here.ask("POST", "/hooks/poke/blog", headers=bearer(POKE))).status == 202
        await here.quiet(1.5)
        assert here.feeds.hits("/blog.xml") == hits
        here.clock.move(timedelta(hours=2, minutes=30))
        await here.told("2")
