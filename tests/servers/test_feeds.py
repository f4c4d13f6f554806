"""The local feed server answers conditional requests by the book, and is hostile by name."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.servers.certificates import Certificates
from tests.servers.faults import Fault
from tests.servers.feed_cases import CASES
from tests.servers.feeds import GOOD_FEED, Document, FeedServer
from tests.servers.journal import SettableClock

AGENT = {"User-Agent": "reader/1 (+https://example.org)"}
BROKEN = {"short-body", "chunked-broken", "bad-gzip", "gzip-truncated", "br", "reset", "huge-headers", "header-crlf"}
LENIENT = {"header-crlf", "gzip-truncated"}  # aiohttp reads these without a word
SLOW = {"slow-headers", "slow-drip", "header-drip", "endless", "gzip-twice"}
SLOW |= {"gzip-bomb", "gzip-members", "gzip-twice-bomb", "deflate-bomb"}


@pytest.fixture
async def feeds() -> AsyncIterator[FeedServer]:
    async with FeedServer(clock=SettableClock()) as server:
        server.drip_pause = 0.01
        yield server


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers=AGENT) as session:
        yield session


async def test_a_reader_with_both_validators_gets_304_until_the_document_changes(
    feeds: FeedServer, http: aiohttp.ClientSession
) -> None:
    url = feeds.serve("/feed.xml", Document(body=b"<rss>1</rss>"))
    async with http.get(url) as first:
        known = {"If-None-Match": first.headers["ETag"], "If-Modified-Since": first.headers["Last-Modified"]}
    async with http.get(url, headers=known) as second:
        assert (second.status, await second.read(), second.headers["ETag"]) == (304, b"", known["If-None-Match"])
    feeds.serve("/feed.xml", Document(body=b"<rss>2</rss>"))
    for headers in (known, {"If-Modified-Since": known["If-Modified-Since"]}):
        async with http.get(url, headers=headers) as third:
            assert third.status == 200
    assert feeds.hits("/feed.xml") == 4


async def test_steps_follow_each_other_and_the_last_stays(feeds: FeedServer, http: aiohttp.ClientSession) -> None:
    url = feeds.serve("/f", Document(status=503), Document(body=b"x"))
    statuses = []
    for _ in range(3):
        async with http.get(url) as answer:
            statuses.append(answer.status)
    assert statuses == [503, 200, 200]


async def test_the_score_names_each_kind_of_bad_manners(feeds: FeedServer, http: aiohttp.ClientSession) -> None:
    url = feeds.serve("/f", Document(body=b"x", etag='"a"', last_modified="Wed, 16 Sep 2026 00:00:00 GMT", max_age=60))
    both = {"If-None-Match": '"a"', "If-Modified-Since": "Wed, 16 Sep 2026 00:00:00 GMT"}
    assert isinstance(feeds.clock, SettableClock)
    for headers in ({}, both, {"If-None-Match": '"made-up"'}, {}, {"If-None-Match": '"a"'}):
        await (await http.get(url, headers=headers)).read()
        feeds.clock.move(60)
    feeds.clock.move(-50)
    await (await http.get(url, headers=both)).read()
    assert [text.partition(" ")[2][:26] for text in feeds.complaints("/f")] == [
        "3: If-None-Match '\"made-up",
        "4: unconditional, though v",
        "5: Last-Modified None is n",
        "6: max-age asked for 60 s,",
    ]


@pytest.mark.parametrize("case", sorted(CASES.keys() - BROKEN - SLOW))
async def test_cases_that_can_be_read_answer(feeds: FeedServer, http: aiohttp.ClientSession, case: str) -> None:
    async with http.get(feeds.case_url(case), allow_redirects=False) as answer:
        assert answer.status in (200, 301, 302, 404, 410, 429, 503)


@pytest.mark.parametrize("case", sorted(BROKEN - LENIENT))
async def test_cases_that_cannot_be_read_fail(feeds: FeedServer, http: aiohttp.ClientSession, case: str) -> None:
    with pytest.raises(aiohttp.ClientError):
        await (await http.get(feeds.case_url(case))).read()


@pytest.mark.parametrize("case", ["slow-headers", "slow-drip", "endless"])
async def test_slow_cases_never_end(feeds: FeedServer, http: aiohttp.ClientSession, case: str) -> None:
    with pytest.raises(TimeoutError):
        await (await http.get(feeds.case_url(case), timeout=aiohttp.ClientTimeout(total=0.2))).read()


async def test_a_fault_may_cut_any_answer_in_half(feeds: FeedServer, http: aiohttp.ClientSession) -> None:
    url = feeds.serve("/f", Document(body=GOOD_FEED))
    feeds.faults.add(Fault(kind="fin", store=True, at=400))
    with pytest.raises(aiohttp.ClientError):
        await (await http.get(url)).read()
    assert await (await http.get(url)).read() == GOOD_FEED


async def test_an_early_return_after_503_is_noted(feeds: FeedServer, http: aiohttp.ClientSession) -> None:
    url = feeds.serve("/f", Document(status=503, headers={"Retry-After": "60"}))
    await http.get(url)
    await http.get(url)
    assert len(feeds.violations) == 1


async def test_a_bad_certificate_is_refused(http: aiohttp.ClientSession) -> None:
    made = Certificates()
    for kind in ("expired", "other-name", "unknown", "good"):
        async with FeedServer(tls=made.server_context(kind)) as feeds:
            url = feeds.serve("/f", Document(body=b"x"))
            if kind == "good":
                assert await (await http.get(url, ssl=made.client_context())).read() == b"x"
                continue
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await http.get(url, ssl=made.client_context())
