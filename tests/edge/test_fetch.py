"""The fetcher asks as politely as the rules of detection.md say, and tells what it was told."""

import asyncio
from datetime import timedelta

import pytest
from aiohttp.abc import ResolveResult

from bot.clock import SystemClock
from bot.core.errors import FetchError
from bot.core.model.feed import FeedAuth, Fetched, NotModified, Validators
from bot.fetch.client import HttpFetcher
from bot.fetch.limits import FetchLimits
from tests.edge.raw_http import NOTHING, RSS, Names, RawServer, answer, feed_at, fetching


async def get(page: bytes, known: Validators = NOTHING) -> Fetched | NotModified:
    async with RawServer({"/feed": page}) as server, fetching() as fetcher:
        url = server.url("/feed")
        if known.url:
            known = Validators(etag=known.etag, last_modified=known.last_modified, url=url)
        return await fetcher.fetch(feed_at(url), url, known)


async def fails(page: bytes, known: Validators = NOTHING) -> FetchError:
    with pytest.raises(FetchError) as caught:
        await get(page, known)
    return caught.value


async def test_a_first_request_is_plain_honest_and_unconditional() -> None:
    async with RawServer({"/feed": answer(body=RSS)}) as server, fetching(contact="https://me.example") as fetcher:
        await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
    request = server.requests[0]
    assert request.names == {"host", "user-agent", "accept", "accept-encoding"}
    assert request.header("Accept-Encoding") == "gzip"
    agent = request.header("User-Agent")
    assert agent is not None
    assert agent.startswith("feedbell/")
    assert agent.endswith("(+https://me.example; subscribers=1)")
    assert b" HTTP/1.1" in request.head


@pytest.mark.parametrize(
    ("etag", "modified"),
    [
        ('"abc"', "Mon, 02 Sep 2024 10:00:00 GMT"),
        ('W/"a b,c"', None),
        ("unquoted", "2024-09-02"),
        ('"ünï"', None),
        (None, "Thu, 01 Jan 1970 00:00:00 +0000"),
    ],
)
async def test_validators_go_back_byte_for_byte_and_none_is_invented(etag: str | None, modified: str | None) -> None:
    lines = [line for line in (etag and f"ETag: {etag}", modified and f"Last-Modified: {modified}") if line]
    page = "\r\n".join(["HTTP/1.1 200 OK", *lines, f"Content-Length: {len(RSS)}", "", ""]).encode() + RSS
    async with RawServer({"/feed": page}) as server, fetching() as fetcher:
        url = server.url("/feed")
        first = await fetcher.fetch(feed_at(url), url, NOTHING)
        assert first.validators == Validators(etag=etag, last_modified=modified, url=url)
        server.pages["/feed"] = answer("304 Not Modified", length=False)
        second = await fetcher.fetch(feed_at(url), url, first.validators)
    assert isinstance(second, NotModified)
    assert second.validators == first.validators
    assert server.requests[1].header("If-None-Match") == etag
    assert server.requests[1].header("If-Modified-Since") == modified


async def test_a_200_replaces_both_validators_and_a_304_only_what_it_names() -> None:
    known = Validators(etag='"old"', last_modified="Mon, 02 Sep 2024 10:00:00 GMT", url="same")
    whole = await get(answer("200 OK", 'ETag: "new"', body=RSS), known)
    assert (whole.validators.etag, whole.validators.last_modified) == ('"new"', None)
    unchanged = await get(answer("304 Not Modified", 'ETag: "new"', length=False), known)
    assert (unchanged.validators.etag, unchanged.validators.last_modified) == ('"new"', known.last_modified)


async def test_validators_of_another_address_are_not_sent() -> None:
    known = Validators(etag='"x"', last_modified="Mon, 02 Sep 2024 10:00:00 GMT", url="http://127.0.0.1/elsewhere")
    async with RawServer({"/feed": answer(body=RSS)}) as server, fetching() as fetcher:
        await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), known)
    assert not {"if-none-match", "if-modified-since"} & server.requests[0].names


async def test_on_a_redirect_only_the_final_address_gets_its_validators() -> None:
    pages = {"/old": answer("302 Found", "Location: /new"), "/new": answer("304 Not Modified", length=False)}
    async with RawServer(pages) as server, fetching() as fetcher:
        known = Validators(etag='"x"', url=server.url("/new"))
        result = await fetcher.fetch(feed_at(server.url("/old")), server.url("/old"), known)
    assert isinstance(result, NotModified)
    assert [request.header("If-None-Match") for request in server.requests] == [None, '"x"']


async def test_a_304_that_nobody_asked_for_is_an_error() -> None:
    assert (await fails(answer("304 Not Modified", length=False))).status == 304


async def test_every_redirect_is_told_with_its_status_and_target() -> None:
    pages = {
        "/a": answer("301 Moved", "Location: /b?x=%2F#part"),
        "/b": answer("308 Moved", "Location: //127.0.0.1:{port}/c"),
        "/c": answer(body=RSS),
    }
    async with RawServer(pages) as server, fetching() as fetcher:
        pages["/b"] = answer("308 Moved", f"Location: //127.0.0.1:{server.port}/c")
        result = await fetcher.fetch(feed_at(server.url("/a")), server.url("/a"), NOTHING)
    assert result.url == server.url("/c")
    assert result.hops == ((301, server.url("/b?x=%2F")), (308, server.url("/c")))
    assert [request.target for request in server.requests] == ["/a", "/b?x=%2F", "/c"]
    assert "referer" not in {name for request in server.requests for name in request.names}


async def test_five_redirects_are_followed_and_a_sixth_is_not() -> None:
    pages = {f"/{n}": answer("302 Found", f"Location: /{n - 1}") for n in range(1, 7)} | {"/0": answer(body=RSS)}
    async with RawServer(pages) as server, fetching() as fetcher:
        assert len((await fetcher.fetch(feed_at(server.url("/5")), server.url("/5"), NOTHING)).hops) == 5
        with pytest.raises(FetchError, match="more than 5 times"):
            await fetcher.fetch(feed_at(server.url("/6")), server.url("/6"), NOTHING)
    assert len(server.requests) == 12


async def test_a_redirect_to_nowhere_is_an_error() -> None:
    assert (await fails(answer("302 Found"))).status == 302


@pytest.mark.parametrize("status", ["429 Slow Down", "503 Busy", "500 Oops", "403 No", "300 Choose"])
@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("120", timedelta(seconds=120)),
        ("0.25", timedelta(seconds=0.25)),
        ("Mon, 02 Sep 2024 10:02:00 GMT", timedelta(minutes=2)),
        ("Mon, 02 Sep 2024 09:00:00 GMT", None),
        ("1000000000", timedelta(days=31)),
        ("-1", None),
        ("soon", None),
        ("0", None),
    ],
)
async def test_retry_after_is_read_in_seconds_or_relative_to_the_servers_date(
    status: str, header: str, wait: timedelta | None
) -> None:
    error = await fails(answer(status, f"Retry-After: {header}", "Date: Mon, 02 Sep 2024 10:00:00 GMT"))
    assert error.status == int(status[:3])
    assert error.retry_after == wait


async def test_a_redirect_that_asks_for_patience_is_followed_and_then_obeyed() -> None:
    pages = {"/a": answer("302 Found", "Location: /b", "Retry-After: 3600"), "/b": answer(body=RSS)}
    async with RawServer(pages) as server, fetching() as fetcher:
        assert (await fetcher.fetch(feed_at(server.url("/a")), server.url("/a"), NOTHING)).max_age == timedelta(hours=1)
        pages["/b"] = answer("404 Not Found")
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(feed_at(server.url("/a")), server.url("/a"), NOTHING)
    assert caught.value.retry_after == timedelta(hours=1)


@pytest.mark.parametrize(
    ("headers", "fresh"),
    [
        (["Cache-Control: max-age=600"], timedelta(minutes=10)),
        (["Cache-Control: public, Max-Age=600", "Age: 100"], timedelta(seconds=500)),
        (["Cache-Control: public", "Cache-Control: max-age=60"], timedelta(minutes=1)),
        (["Cache-Control: max-age=600, no-cache"], None),
        (["Cache-Control: no-store", "Expires: Mon, 02 Sep 2024 11:00:00 GMT"], None),
        (["Expires: Mon, 02 Sep 2024 11:00:00 GMT"], timedelta(hours=1)),
        (["Expires: 0"], None),
        (["Expires: Mon, 02 Sep 2024 09:00:00 GMT"], None),
        (["Cache-Control: max-age=0", "Expires: Mon, 02 Sep 2024 11:00:00 GMT"], None),
        (["Cache-Control: max-age=9999999999"], timedelta(days=31)),
        (["Cache-Control: s-maxage=600, x-max-age=5"], None),
        ([], None),
    ],
)
async def test_freshness_comes_from_cache_control_or_expires(headers: list[str], fresh: timedelta | None) -> None:
    page = answer("200 OK", "Date: Mon, 02 Sep 2024 10:00:00 GMT", *headers, body=RSS)
    assert (await get(page)).max_age == fresh


async def test_hub_and_self_are_read_from_link_headers() -> None:
    result = await get(
        answer(
            "200 OK",
            'Link: <https://hub.example/>; rel="hub", <https://second.example/>; rel=hub',
            'Link: </feed.xml>; type="application/rss+xml"; rel="self alternate"',
            body=RSS,
        )
    )
    assert isinstance(result, Fetched)
    assert result.hub == "https://hub.example/"
    assert result.self_url is not None
    assert result.self_url.endswith("/feed.xml")


@pytest.mark.parametrize("link", ["<javascript:x>; rel=hub", "<file:///etc/passwd>; rel=hub", "<>; rel=hub", "hub"])
async def test_a_hub_that_is_no_web_address_is_none(link: str) -> None:
    result = await get(answer("200 OK", f"Link: {link}", body=RSS))
    assert isinstance(result, Fetched)
    assert result.hub is None


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("401 No", "login"),
        ("403 No", "does not let us in"),
        ("404 No", "the server says 404: there is no such page"),
        ("410 Gone", "gone for good"),
        ("418 Teapot", "refuses the request"),
        ("599 Odd", "error of its own"),
        ("204 Nothing", "nothing to give"),
        ("205 Nothing", "nothing to give"),
        ("206 Part", "only a part"),
    ],
)
async def test_the_status_is_told_in_plain_words(status: str, words: str) -> None:
    error = await fails(answer(status, length=not status.startswith("204")))
    assert words in str(error)
    assert error.status == int(status[:3])


@pytest.mark.parametrize("status", ["200 OK", "203 Other", "226 IM Used"])
async def test_a_body_is_handed_on_even_when_it_is_empty(status: str) -> None:
    for body in (RSS, b""):
        result = await get(answer(status, body=body))
        assert isinstance(result, Fetched)
        assert result.body == body


@pytest.mark.parametrize(
    "header", [*map("Content-Encoding: {}".format, ["none", "UTF-8", ""]), f"X-Policy: {'x' * 20_000}"]
)
async def test_a_header_that_is_odd_or_long_costs_no_feed(header: str) -> None:
    result = await get(answer("200 OK", header, body=RSS))
    assert isinstance(result, Fetched)
    assert result.body == RSS


async def test_unreachable_hosts_are_told_in_plain_words_without_the_address_itself() -> None:
    async with RawServer({}) as server, fetching() as fetcher:
        port = server.port
    async with fetching() as fetcher:
        for url, words in (
            (f"http://127.0.0.1:{port}/secret-token", "127.0.0.1 refuses connections"),
            ("http://nowhere.invalid/secret-token", "no host named nowhere.invalid"),
        ):
            with pytest.raises(FetchError, match=words) as caught:
                await fetcher.fetch(feed_at(url), url, NOTHING)
            assert "secret-token" not in str(caught.value)


async def test_own_headers_and_credentials_go_to_the_feeds_origin() -> None:
    auth = FeedAuth(username="me", password="pass:wörd")
    async with RawServer({"/feed": answer(body=RSS)}) as server, fetching() as fetcher:
        url = server.url("/feed")
        feed = feed_at(url, auth=auth, headers=(("X-Key", "k"), ("user-agent", "mine")))
        await fetcher.fetch(feed, url, NOTHING)
        await fetcher.fetch(feed_at(url, auth=FeedAuth(bearer="tok")), url, NOTHING)
    assert server.requests[0].header("Authorization") == "Basic bWU6cGFzczp3w7ZyZA=="
    assert server.requests[0].header("X-Key") == "k"
    assert server.requests[0].header("User-Agent") == "mine"
    assert server.requests[1].header("Authorization") == "Bearer tok"


async def test_feeds_of_one_host_share_a_connection_that_is_kept_for_a_moment() -> None:
    page = answer("200 OK", "Connection: keep-alive", body=RSS)
    async with RawServer({"/1": page, "/2": page}) as server, fetching() as fetcher:
        for path in ("/1", "/2"):
            await fetcher.fetch(feed_at(server.url(path)), server.url(path), NOTHING)
    assert (server.connections, len(server.requests)) == (1, 2)


async def test_a_kept_connection_that_the_server_closed_costs_nothing_but_a_new_one() -> None:
    page = answer("200 OK", body=RSS)  # kept by HTTP/1.1, yet the server hangs up
    async with RawServer({"/1": page}) as server, fetching() as fetcher:
        for _ in range(5):
            await fetcher.fetch(feed_at(server.url("/1")), server.url("/1"), NOTHING)
    assert server.connections == 5


async def test_a_server_that_hangs_up_without_an_answer_is_asked_once() -> None:
    async with RawServer({"/feed": b""}) as server, fetching() as fetcher:
        with pytest.raises(FetchError, match="closed the connection without an answer"):
            await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
    assert len(server.requests) == 1


async def test_a_signed_address_goes_out_exactly_as_written() -> None:
    path = "/feed?sig=a%3Db%2Fc%2B&x=a+b%20c&y=%7e"
    async with RawServer({"/feed": answer(body=RSS)}) as server, fetching() as fetcher:
        await fetcher.fetch(feed_at(server.url(path)), server.url(path), NOTHING)
        odd = server.url("/feed?q=ü b")
        await fetcher.fetch(feed_at(odd), odd, NOTHING)
    assert [request.target for request in server.requests] == [path, "/feed?q=%C3%BC+b"]


async def test_a_page_is_got_for_discovery_and_a_form_is_posted_to_a_hub() -> None:
    pages = {"/page": answer("200 OK", "Content-Type: text/html", body=b"<html>"), "/hub": answer("202 Accepted")}
    async with RawServer(pages) as server, fetching() as fetcher:
        page = await fetcher.get_page(server.url("/page"), from_chat=False, allow_private=("127.0.0.1/32",))
        assert (page.body, page.content_type) == (b"<html>", "text/html")
        fields = {"hub.mode": "subscribe", "hub.topic": "http://a/?x=ü"}
        assert await fetcher.post_form(server.url("/hub"), fields, allow_private=("127.0.0.1/32",)) == 202
    assert "text/html" in (server.requests[0].header("Accept") or "")
    assert server.requests[1].head.startswith(b"POST /hub ")
    assert server.requests[1].body == b"hub.mode=subscribe&hub.topic=http%3A%2F%2Fa%2F%3Fx%3D%C3%BC"


async def test_a_name_is_looked_up_by_the_system_and_an_impossible_one_is_none() -> None:
    async with RawServer({"/feed": answer(body=RSS)}) as server, fetching() as fetcher:
        url = server.url("/feed", host="localhost")
        await fetcher.fetch(feed_at(url, allow=("127.0.0.1", "::1")), url, NOTHING)
        for host in ("a" * 70 + ".example", "a..example", "_.invalid"):
            with pytest.raises(FetchError, match="there is no host named"):
                await fetcher.get_page(f"http://{host}/", from_chat=True)
    assert len(server.requests) == 1


@pytest.mark.parametrize("url", ["", "http://", "nonsense", "http://[::1/", "http://x:99999/", "http://a b/"])
async def test_what_is_no_web_address_is_refused_in_words(url: str) -> None:
    async with fetching() as fetcher:
        with pytest.raises(FetchError):
            await fetcher.fetch(feed_at(url), url, NOTHING)


async def test_subscribers_are_counted_in_the_user_agent() -> None:
    async with RawServer({"/feed": answer(body=RSS)}) as server:
        fetcher = HttpFetcher(clock=SystemClock(), subscribers={"f": 7}.__getitem__)
        await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
        await fetcher.close()
    assert "subscribers=7)" in (server.requests[0].header("User-Agent") or "")


class Silent(Names):
    """A name server that never answers."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        await asyncio.Event().wait()
        return []


async def test_a_limit_that_a_reload_changes_holds_from_the_next_request_on() -> None:
    async with fetching(names=Silent({}), limits=FetchLimits(connect=timedelta(seconds=9))) as fetcher:
        fetcher.configure(contact=None, limits=FetchLimits(connect=timedelta(milliseconds=50)))
        async with asyncio.timeout(3):
            with pytest.raises(FetchError, match="does not answer in time"):
                await fetcher.fetch(feed_at("http://feeds.example/feed"), "http://feeds.example/feed", NOTHING)
