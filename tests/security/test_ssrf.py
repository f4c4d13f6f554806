"""T1–T4, T28: no feed, redirect, name or odd spelling leads to a private address; the system itself is asked."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from bot.core.errors import AddressRefused, FetchError
from bot.core.model.feed import FeedAuth, Validators
from bot.fetch.errand import errand_for, to_url
from bot.fetch.guard import Guard, is_public
from tests.edge.raw_http import NOTHING, RSS, Names, RawServer, answer, feed_at, fetching

REFUSED = """
127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 100.127.255.255
0.0.0.0 0.1.2.3 192.0.0.1 192.0.0.8 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
255.255.255.255 192.88.99.1 168.63.129.16 ::1 :: fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 ff02::1 ff0e::1
::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:10.0.0.1 ::ffff:100.64.0.1 ::ffff:0.0.0.0 64:ff9b::a9fe:a9fe
64:ff9b::7f00:1 64:ff9b:1::a9fe:a9fe 2002:a9fe:a9fe::1 2002:7f00:1:: 2001:0:a9fe:a9fe::1 ::169.254.169.254
::127.0.0.1 fec0::1 100::1 2001:db8::1 5f00::1 3fff::1 ::ffff:224.0.0.1
""".split()
ALLOWED = "8.8.8.8 1.1.1.1 93.184.216.34 2606:4700::1111 2a00:1450:4001::1 ::ffff:8.8.8.8 64:ff9b::808:808".split()
ODD = (
    "2130706433 017700000001 0x7f000001 0x7f.1 0X7F.0.0.1 127.1 127.0.1 0177.0.0.1 127.0.0.1. 127.0.0.01 169.254.43518 "
    "①②⑦.⓪.⓪.① １２７.0.0.1 127。0。0。1 [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] [::127.0.0.1] [::1%25lo] "
    "localhost localhost. LOCALHOST %31%32%37.0.0.1 127.0.0.1%2f@8.8.8.8"
).split()
START = "127.0.0.2"  # the one loopback address that these tests' feeds may use

_connected: list[Any] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        _connected.append(arguments[1])


sys.addaudithook(_watch)  # sees every connect() of this process, whoever asks for it


@pytest.fixture
def connected() -> Iterator[list[Any]]:
    _connected.clear()
    yield _connected
    _connected.clear()


def url_of(address: str, port: int = 80) -> str:
    host = address.replace("%", "%25")
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def test_the_lists_are_whole() -> None:
    assert (len(set(REFUSED)), len(set(ALLOWED))) == (50, 7)


@pytest.mark.parametrize("address", REFUSED)
def test_a_private_address_is_not_public_in_any_version_of_python(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    assert not Guard(any_port=True).admits(address, 80)


@pytest.mark.parametrize("address", ALLOWED)
def test_a_public_address_is_admitted(address: str) -> None:
    assert Guard().admits(address, 443)


@pytest.mark.parametrize("address", REFUSED)
async def test_nothing_connects_to_a_private_address_directly(address: str, connected: list[Any]) -> None:
    async with fetching() as fetcher:
        with pytest.raises(AddressRefused):
            await fetcher.fetch(feed_at(url_of(address), allow=()), url_of(address), NOTHING)
        with pytest.raises(AddressRefused):
            await fetcher.get_page(url_of(address), from_chat=True)
        with pytest.raises(AddressRefused):
            await fetcher.post_form(url_of(address), {})
    assert connected == []


@pytest.mark.parametrize("status", [301, 302, 308])
@pytest.mark.parametrize("address", REFUSED)
async def test_nothing_connects_to_a_private_address_by_redirect(
    address: str, status: int, connected: list[Any]
) -> None:
    page = answer(f"{status} Moved", f"Location: {url_of(address)}")
    async with RawServer({"/feed": page}, host=START) as server, fetching() as fetcher:
        with pytest.raises(AddressRefused):
            await fetcher.fetch(feed_at(server.url("/feed"), allow=(START,)), server.url("/feed"), NOTHING)
        assert connected == [(START, server.port)]


@pytest.mark.parametrize("address", REFUSED)
async def test_nothing_connects_to_a_private_address_by_name(address: str, connected: list[Any]) -> None:
    names = Names({"feeds.example": [[address]], "pair.example": [[address, "127.0.0.1"]]})
    async with fetching(names=names) as fetcher:
        for host in ("feeds.example", "pair.example"):
            with pytest.raises(AddressRefused):
                await fetcher.fetch(feed_at(f"http://{host}/", allow=()), f"http://{host}/", NOTHING)
            with pytest.raises(AddressRefused):
                await fetcher.get_page(f"https://{host}/", from_chat=True)
    assert len(names.asked) >= 2
    assert connected == []


@pytest.mark.parametrize("host", ODD)
async def test_nothing_connects_by_an_odd_spelling(host: str, connected: list[Any]) -> None:
    async with RawServer({"/": answer(body=RSS)}) as honeypot:
        url = f"http://{host}:{honeypot.port}/"
        page = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + url.encode() + b"\r\n\r\n"
        async with RawServer({"/feed": page}, host=START) as server, fetching() as fetcher:
            for start in (url, server.url("/feed")):
                with pytest.raises(FetchError):
                    await fetcher.fetch(feed_at(start, allow=(START,)), start, NOTHING)
            assert {address for address in connected if address != (START, server.port)} == set()
        assert honeypot.connections == 0


async def test_a_name_that_changes_its_mind_between_check_and_use_gains_nothing(connected: list[Any]) -> None:
    async with RawServer({"/": answer(body=RSS)}) as honeypot:
        hosts = [f"n{number}.example" for number in range(1000)]
        answers = [[START], ["127.0.0.1"], [START, "127.0.0.1"], ["127.0.0.1", START]]
        names = Names({host: answers[number % 4 :] for number, host in enumerate(hosts)})
        async with fetching(names=names) as fetcher:
            for host in hosts:
                url = f"http://{host}:{honeypot.port}/"
                with pytest.raises(FetchError):  # nobody listens at the one allowed address
                    await fetcher.fetch(feed_at(url, allow=(START,)), url, NOTHING)
        assert honeypot.connections == 0
    assert set(connected) == {(START, honeypot.port)}


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"])
async def test_a_proxy_named_in_the_environment_is_not_used(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with RawServer({"/": answer(body=RSS)}) as honeypot, RawServer({"/": answer(body=RSS)}) as server:
        monkeypatch.setenv(variable, honeypot.url())
        async with fetching() as fetcher:
            await fetcher.fetch(feed_at(server.url()), server.url(), NOTHING)
        assert (honeypot.connections, server.connections) == (0, 1)


async def test_a_chat_member_learns_nothing_about_the_network() -> None:
    async with RawServer({"/": answer(body=RSS)}) as listening:
        names = Names({"internal.example": [["10.0.0.5"]]})
        async with fetching(names=names) as fetcher:
            words = set()
            open_port, closed_port = listening.url(), "http://127.0.0.1:1/"
            for url in (open_port, closed_port, "http://10.0.0.5/", "http://internal.example/", "http://127.1/"):
                feed = feed_at(url, from_chat=True)  # its row names a network, which a chat can't allow
                for ask in (fetcher.get_page(url, from_chat=True), fetcher.fetch(feed, url, NOTHING)):
                    with pytest.raises(AddressRefused) as caught:
                        await ask
                    words.add(str(caught.value))
        assert len(words) == 1
        assert listening.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://8.8.8.8:25/",
        "http://8.8.8.8:22/",
        "https://[2606:4700::1111]:6379/",
        "ftp://8.8.8.8/",
        "file:///etc/passwd",
        "http://me@8.8.8.8/",
        "http://me:pw@8.8.8.8/",
        "gopher://8.8.8.8:70/_x",
        "//8.8.8.8/",
        "8.8.8.8",
        "http:///x",
    ],
)
async def test_what_was_not_written_by_the_operator_reaches_web_ports_by_http_only(
    url: str, connected: list[Any]
) -> None:
    page = answer("302 Found", f"Location: {url}" if ":" in url else "Location: ///")
    async with RawServer({"/feed": page}, host=START) as server, fetching() as fetcher:
        for ask in (
            fetcher.get_page(url, from_chat=True),
            fetcher.fetch(feed_at(url, from_chat=True), url, NOTHING),
            fetcher.post_form(url, {}),
            fetcher.fetch(feed_at(server.url("/feed"), allow=(START,)), server.url("/feed"), NOTHING),
        ):
            with pytest.raises(FetchError):
                await ask
        assert {address for address in connected if address != (START, server.port)} == set()


@pytest.mark.parametrize(
    ("url", "from_chat", "any_port"),
    [
        ("http://feeds.example:9000/", False, True),
        ("http://FEEDS.example:7/moved", False, True),
        ("http://other.example:9000/", False, False),
        ("http://feeds.example:9000/", True, False),
    ],
)
def test_only_the_host_that_the_operator_wrote_may_be_asked_on_any_port(
    url: str, from_chat: bool, any_port: bool
) -> None:
    feed = feed_at("http://feeds.example/", allow=(), from_chat=from_chat)
    guard = errand_for(feed, subscribers=1).guard(to_url(url))
    assert guard.admits("8.8.8.8", 9000) is any_port
    assert guard.admits("8.8.8.8", 8443)


@pytest.mark.parametrize("network", ["127.0.0.0/8", "127.0.0.1"])
async def test_a_network_that_the_operator_allows_is_open_to_that_feed_alone(network: str) -> None:
    page = answer("200 OK", "Connection: keep-alive", body=RSS)
    async with RawServer({"/": page}) as server, fetching() as fetcher:
        await fetcher.fetch(feed_at(server.url(), allow=(network,)), server.url(), NOTHING)
        assert server.connections == 1  # and it is still open, waiting in a pool
        with pytest.raises(AddressRefused):
            await fetcher.fetch(feed_at(server.url(), allow=("10.0.0.0/8",)), server.url(), NOTHING)
        with pytest.raises(AddressRefused):
            await fetcher.get_page(server.url(), from_chat=False)
    assert len(server.requests) == 1


async def test_credentials_and_own_headers_do_not_follow_a_redirect_to_another_origin() -> None:
    async with RawServer({"/x": answer(body=RSS)}, host="127.0.0.3") as other:
        pages = {"/a": answer("302 Found", "Location: /b"), "/b": answer("307 Moved", f"Location: {other.url('/x')}")}
        async with RawServer(pages) as server, fetching() as fetcher:
            feed = feed_at(server.url("/a"), auth=FeedAuth(bearer="token"), headers=(("X-Key", "secret"),))
            await fetcher.fetch(feed, server.url("/a"), Validators(etag='"e"', url=server.url("/b")))
            await fetcher.fetch(feed, other.url("/x"), NOTHING)  # as for a feed that has moved
        assert [request.header("Authorization") for request in server.requests] == ["Bearer token", "Bearer token"]
        assert all(not {"authorization", "x-key", "if-none-match"} & request.names for request in other.requests)
        assert len(other.requests) == 2
