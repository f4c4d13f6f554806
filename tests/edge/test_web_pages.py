"""What people read on the status site, and that nothing a feed says gets in as more than words."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import aiohttp
import pytest
from aiohttp import web

from bot.core.model.delivery import Delivery, DeliveryKind, DeliveryState
from bot.core.model.route import DestinationUid
from bot.core.model.status import Delay, Totals
from bot.telemetry.polls import Polls
from bot.web import words
from bot.web.charts import Column, delay_chart, draw, entries_chart, polls_chart
from bot.web.moments import Moments, in_words
from bot.web.view import View
from tests.edge.web_bot import Bot, serve
from tests.edge.web_facts import FEED, HOSTILE, NOW, entry_of, feed_states, inbox_messages

KEY = entry_of(1).key.hex()
PAGES = [
    "/",
    "/feeds",
    f"/feeds/{FEED}",
    f"/entries/{KEY}",
    "/destinations",
    "/deliveries",
    "/search?q=evpn",
    "/inbox",
    "/unsubscribe/x",
]
VOID = {"meta", "link", "img", "input", "br", "rect", "line", "base"}


class Outline(HTMLParser):
    """Checks that tags close in order, and keeps what a screen reader goes by."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def all(self, *names: str) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.seen if tag in names]


async def page(bot: Bot, client: aiohttp.ClientSession, path: str, status: int = 200) -> str:
    answer = await client.get(bot.url + path)
    assert answer.status == status
    return await answer.text()


@pytest.mark.parametrize("path", PAGES)
async def test_each_page_is_sound_and_can_be_heard(path: str) -> None:
    async with serve(Bot(messages=inbox_messages())) as (bot, client):
        text = await page(bot, client, path)
        found = Outline(text)
        assert found.open == []
        assert found.all("html")[0]["lang"] == "en"
        assert len(found.all("main")) == len(found.all("h1")) == 1
        assert re.search(r"<title>[^<]+feedbell</title>", text)
        ids = [attrs["id"] for _, attrs in found.seen if "id" in attrs]
        assert len(ids) == len(set(ids))
        levels = [int(tag[1]) for tag, _ in found.seen if re.fullmatch(r"h[1-6]", tag)]
        assert all(after - before <= 1 for before, after in pairwise(levels)), levels
        assert all("alt" in attrs for attrs in found.all("img"))
        assert all(attrs.get("scope") for attrs in found.all("th"))
        labelled = {attrs.get("for") for attrs in found.all("label")}
        assert all(attrs["id"] in labelled for attrs in found.all("input", "select"))
        assert all(attrs.get("title") for attrs in found.all("iframe"))


async def test_no_page_is_made_on_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def watched(view: View, name: str, **facts: object) -> web.Response:
        threads.append(threading.current_thread())
        return made(view, name, **facts)  # type: ignore[arg-type]  # as the site gives them

    made = View.page
    monkeypatch.setattr(View, "page", watched)
    async with serve(Bot(messages=inbox_messages())) as (bot, client):
        for path in PAGES:
            await page(bot, client, path)
    assert len(threads) == len(PAGES)
    assert threading.main_thread() not in threads


async def test_every_page_can_be_reached_by_links_alone() -> None:
    async with serve(Bot(messages=inbox_messages())) as (bot, client):
        seen, todo = set[str](), ["/"]
        while todo and len(seen) < 80:
            path = todo.pop()
            if path in seen:
                continue
            seen.add(path)
            links = Outline(await page(bot, client, path)).all("a")
            todo += [str(a["href"]) for a in links if str(a.get("href", "")).startswith("/")]
        assert {"/", "/feeds", f"/feeds/{FEED}", f"/entries/{KEY}", "/deliveries", "/search", "/inbox"} <= seen


async def test_the_first_page_says_first_whether_all_is_well() -> None:
    async with serve() as (bot, client):
        text = await page(bot, client, "/")
        assert "Something needs a look" in text
        for concern in ("1 feed can’t be read", "1 destination is parked", "1 message was given up"):
            assert concern in text
        assert "the server answered 503 (Service Unavailable)" in text
        assert "Slack no longer knows this webhook (no_service)" in text
        assert re.search(r"next\s+<time[^>]*>in 12 minutes</time>", text)
        bot.status.states, bot.status.rows = feed_states()[:1], bot.status.rows[:2]
        bot.status.numbers = Totals(entries=8)
        text = await page(bot, client, "/")
        assert "All is well" in text
        assert "needs a look" not in text


async def test_a_bot_that_has_just_been_installed_says_what_to_do() -> None:
    async with serve() as (bot, client):
        bot.status.entries, bot.status.states, bot.status.rows, bot.status.sent = [], [], [], []
        bot.status.numbers = Totals()
        assert "No feed is configured yet" in await page(bot, client, "/")
        assert "feedbell inspect URL" in await page(bot, client, "/feeds")
        assert "No route names one yet" in await page(bot, client, "/destinations")
        assert "None yet" in await page(bot, client, "/deliveries")
        assert "No message yet" in await page(bot, client, "/inbox")


async def test_a_day_is_a_day_and_a_moment_is_in_the_configured_zone() -> None:
    async with serve() as (bot, client):
        text = await page(bot, client, f"/entries/{KEY}")
        assert "16 Sep 2026</span>" in text
        assert "First seen" in text
        assert ">16 Sep 2026, 13:58</time>" in text  # 11:58 UTC, in Berlin
        assert "14:05:33 CEST" in text


async def test_an_entry_tells_its_whole_life() -> None:
    async with serve() as (bot, client):
        text = await page(bot, client, f"/entries/{KEY}")
        for part in ("wanted", "not wanted", "none of its tags: outage", "will be tried again", "parked", "routes[0]"):
            assert part in text
        await page(bot, client, "/entries/ffff", 404)
        await page(bot, client, "/feeds/no-such", 404)


async def test_a_feed_says_in_plain_words_why_it_fails() -> None:
    async with serve() as (bot, client):
        assert "failed 7 times in a row" in await page(bot, client, "/feeds/release-notes")
        assert "the server answered 503 (Service Unavailable)" in await page(bot, client, "/feeds")


async def test_deliveries_can_be_filtered_and_turned_over() -> None:
    async with serve() as (bot, client):
        dead = await page(bot, client, "/deliveries?state=dead")
        assert "the mailbox does not exist" in dead
        assert dead.count("<tr role") == 2
        some = await page(bot, client, "/deliveries?destination=slack%3A%23ai-networking&feed=ai-networking")
        assert some.count("<tr role") == 9
        assert '<option value="slack:#ai-networking" selected>' in some
        bot.status.sent = [
            replace(row, delivery=replace(row.delivery, id=1000 - n)) for n, row in enumerate(bot.status.sent * 2)
        ]
        first = await page(bot, client, "/deliveries")
        assert first.count("<tr role") == 51
        older = re.search(r'rel="next" href="([^"]+)"', first)
        assert older is not None
        assert (await page(bot, client, older[1].replace("&amp;", "&"))).count("<tr role") == 15
        for odd in ("?state=nonsense", "?before=x", "?before=-1", "?before=99999999999999999999", "?destination=%00"):
            await page(bot, client, f"/deliveries{odd}")


@pytest.mark.parametrize(
    ("query", "count"),
    [("tag=BGP", 2), ("tag=%23evpn", 2), ("q=evpn", 2), ("q=fabric&tag=infiniband", 1), ("tag=ospf", 0), ("q=%25", 0)],
)
async def test_search_finds_by_whole_tag_and_by_words(query: str, count: int) -> None:
    async with serve() as (bot, client):
        text = await page(bot, client, f"/search?{query}")
        assert f"{count} entr{'y' if count == 1 else 'ies'}" in text


async def test_no_word_of_a_feed_becomes_markup_anywhere() -> None:
    state = feed_states()[0]
    hostile = entry_of(
        1,
        title=HOSTILE,
        text=HOSTILE,
        summary_html="<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp;amp; <script>alert(2)</script></p>",
        tags=(HOSTILE,),
        author=HOSTILE,
        feed_title=HOSTILE,
        link="javascript:alert(1)",
        guid=HOSTILE,
    )
    bot = Bot(messages=inbox_messages(hostile))
    bot.status.entries = [hostile]
    bot.status.states = [replace(state, title=HOSTILE, error=HOSTILE, failures=3, site_url="javascript:alert(1)")]
    bot.status.sent = [replace(row, title=HOSTILE) for row in bot.status.sent]
    async with serve(bot) as (bot, client):
        for path in (*PAGES, f"/search?q={'%3Cscript%3E%22'}&tag=%3Cb%3E"):
            text = await page(bot, client, path)
            found = Outline(text)
            assert not found.all("b>"), path
            assert [set(one) for one in found.all("script")] in ([], [{"src", "data-since", "defer"}]), path
            assert "<script>" not in text, path
            assert not [a for a in found.all("a") if str(a.get("href")).lower().startswith("javascript")], path


async def test_style_is_one_small_file_that_may_be_kept_for_long() -> None:
    async with serve() as (bot, client):
        link = Outline(await page(bot, client, "/")).all("link")[1]["href"]
        answer = await client.get(f"{bot.url}{link}")
        assert answer.content_type == "text/css"
        assert "immutable" in answer.headers["Cache-Control"]
        assert len(await answer.read()) < 24_000
        for name in ("../parts.py", "%2e%2e%2fparts.py", "style.py", ""):
            assert (await client.get(f"{bot.url}/static/{name}")).status == 404


def test_the_style_and_the_templates_come_with_the_package() -> None:
    folder = Path(words.__file__).parent
    patterns = (folder.parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    for path in [*(folder / "templates").iterdir(), *(folder / "static").iterdir()]:
        assert f'"*{path.suffix}"' in patterns


# --- words -----------------------------------------------------------------------------------------------------------


def delivery(**changes: object) -> Delivery:
    settings: dict[str, object] = {
        "idem": "0" * 32,
        "destination": DestinationUid("console"),
        "kind": DeliveryKind.ENTRY,
        "due_at": NOW,
        "created_at": NOW,
    }
    return Delivery(**{**settings, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "parked", "shown"),
    [
        ({}, False, "waiting"),
        ({}, True, "parked"),
        ({"due_at": NOW + timedelta(hours=1)}, False, "for later"),
        ({"attempts": 1, "error": "503"}, False, "will be tried again"),
        ({"digest_id": 7}, False, "part of a digest"),
        ({"digest_id": 7, "state": DeliveryState.SENT}, False, "sent"),
        ({"state": DeliveryState.SENDING}, False, "being sent"),
        ({"state": DeliveryState.UNKNOWN}, False, "outcome unknown"),
        ({"state": DeliveryState.HELD}, True, "waits for you"),
        ({"state": DeliveryState.DEAD}, True, "given up"),
    ],
)
def test_a_delivery_is_called_what_it_is(changes: dict[str, object], parked: bool, shown: str) -> None:
    assert words.state_of(delivery(**changes), NOW, parked=parked).words == shown


def test_feeds_and_destinations_are_called_what_they_are() -> None:
    well, broken, paused = feed_states()
    assert [words.feed_state(one).words for one in (well, broken, paused)] == [
        "well",
        "failed 7 times in a row",
        "paused",
    ]
    assert words.feed_state(replace(well, failures=1)).words == "failed once"
    assert words.feed_state(replace(well, stopped="gone (410)")).words == "gone"
    assert words.feed_state(replace(well, last_poll_at=None)).words == "not polled yet"
    rows = Bot().status.rows
    assert [words.destination_state(row).words for row in rows] == ["well", "well", "well", "parked"]
    for facts, shown in (
        ({"unsubscribed": True}, "unsubscribed"),
        ({"failures": 2}, "can’t be reached"),
        ({"unwell_since": NOW}, "asked us to wait"),
    ):
        row = replace(rows[0], destination=replace(rows[0].destination, **facts))  # type: ignore[arg-type]
        assert words.destination_state(row).words == shown


@pytest.mark.parametrize(
    ("span", "shown"),
    [(0, "just now"), (60, "1 minute ago"), (-7300, "in 2 hours"), (90_000, "1 day ago"), (20 * 86_400, "27 Aug 2026")],
)
def test_moments_are_told_from_now(span: int, shown: str) -> None:
    assert Moments(now=NOW, zone=UTC).ago(NOW - timedelta(seconds=span)) == shown
    assert in_words(timedelta(seconds=59)) == "59 seconds"


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "UTC", "Pacific/Auckland"])
def test_days_and_weeks_of_charts_have_the_same_names_in_every_zone(zone: str) -> None:
    now = datetime(2026, 10, 25, 22, 30, tzinfo=UTC)
    at = Moments(now=now, zone=ZoneInfo(zone))
    today = Delay(
        day=datetime(2026, 10, 25, tzinfo=UTC), median=timedelta(seconds=1), longest=timedelta(seconds=2), count=3
    )
    days = [bar.caption.partition(":")[0] for bar in delay_chart([today], at, days=3).bars]
    assert days == ["23 Oct 2026", "24 Oct 2026", "25 Oct 2026"]
    assert "3 messages" in delay_chart([today], at, days=3).bars[-1].caption
    assert entries_chart([(datetime(2026, 10, 19, tzinfo=UTC), 2)], at).bars[0].caption.startswith("Week of 19 Oct")


def test_a_chart_stacks_its_values_and_shows_also_one_of_many() -> None:
    chart = draw("t", "s", [Column(values=(("main", 1), ("bad", 0)), caption="", label="a")] * 9)
    assert chart.bars[0].parts == (("main", 0.0, 88.0),)
    mixed = draw("t", "s", [Column(values=(("main", 999), ("bad", 1)), caption="", label="a")])
    assert mixed.bars[0].parts[1][2] > 0
    assert mixed.bars[0].parts[1][1] >= 0
    assert draw("t", "s", []).bars == draw("t", "s", []).labels == ()
    few = draw("t", "s", [Column(values=(("main", 1),), caption="", label="a")] * 2)
    assert [bar.width for bar in few.bars] == [22.0, 22.0]
    assert [label.text for label in few.labels] == ["a"]
    hours = [Polls(hour=datetime(2026, 9, 16, hour, tzinfo=UTC), ok=3, failed=hour % 2) for hour in range(12)]
    assert polls_chart(hours, Moments(now=NOW, zone=UTC)).summary == "42 polls, 6 failed"
