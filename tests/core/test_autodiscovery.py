"""Finding the feed behind a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.autodiscovery import FeedLink, find_feeds, usual_places

URL = "https://example.org/blog/"
RSS = "application/rss+xml"


def urls(page: str | bytes, url: str = URL) -> list[str]:
    return [link.url for link in find_feeds(page.encode() if isinstance(page, str) else page, url)]


def test_declared_feeds_come_in_the_pages_order() -> None:
    page = """<html><head>
    <LINK REL='alternate stylesheet' href=x.css>
    <link rel="alternate" type="application/rss+xml" title="AI &amp; Networking" href="index.xml">
    <link rel=alternate type=application/atom+xml href=/atom.xml />
    <link href="https://example.org/feed.json" rel="alternate" type="application/feed+json; charset=utf-8">
    </head>"""
    assert find_feeds(page.encode(), URL) == (
        FeedLink(url="https://example.org/blog/index.xml", title="AI & Networking"),
        FeedLink(url="https://example.org/atom.xml"),
        FeedLink(url="https://example.org/feed.json"),
    )


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("", []),
        ("no page at all", []),
        ('<link rel="alternate" hreflang="de" href="/de/">', []),
        ('<link rel="stylesheet" type="application/rss+xml" href="/feed">', []),
        ('<link rel="alternate" type="application/json" href="/wp-json/wp/v2/pages/2">', []),
        ('<link rel="alternate" type="application/json" href="/feed.json">', ["https://example.org/feed.json"]),
        ('<link rel="alternate" type="text/xml" title="RSS" href="/x">', ["https://example.org/x"]),
        ('<link rel="alternate" type="application/xml" href="/sitemap.xml">', []),
        ('<link rel="feed" href="/x">', ["https://example.org/x"]),
        ('<link rel="alternate" type="application/rss+xml" href="javascript:alert(1)">', []),
        ('<link rel="alternate" type="application/rss+xml" href="">', []),
        ('<link rel="alternate" type="application/rss+xml">', []),
        ('<link rel="alternate" type="application/rss+xml" href="https://u:p@example.org/feed">', []),
        ('<link rel="alternate" type="application/rss+xml" href="/a>b?c=1&amp;d=2">', ["https://example.org/a%3Eb?c=1&d=2"]),
        ('<link rel="alternate" type="application/rss+xml" href="/1" href="/2">', ["https://example.org/1"]),
        ('<base href="/other/"><link rel="alternate" type="application/rss+xml" href="f">', ["https://example.org/other/f"]),
        ('<base target="_blank"><link rel="feed" href="f">', ["https://example.org/blog/f"]),
        ('<a href="/feed/">Subscribe</a>', ["https://example.org/feed/"]),
        ('<a href="/index.xml">here</a>', ["https://example.org/index.xml"]),
        ('<a href="/x">RSS</a>', ["https://example.org/x"]),
        ('<a href="/x" title="Atom feed"><img></a>', ["https://example.org/x"]),
        ('<a href="/x" type="application/rss+xml">all</a>', ["https://example.org/x"]),
        ('<a href="/feedback">Feedback</a>', []),
        ('<a href="/about">RSS explained</a>', []),
        ('<a href="#rss">RSS</a>', []),
        ("<abbr>RSS</abbr>", []),
        ("<!-- <link rel=feed href=/x> -->", []),
        ("<!-- <link rel=feed href=/x>", []),
        ("<script>'<link rel=feed href=/x>'</script><link rel=feed href=/y>", ["https://example.org/y"]),
        ("<p title='it's'><link rel=feed href=/y>", ["https://example.org/y"]),
        ("İ<!-- c --><link rel=feed href=/y>", ["https://example.org/y"]),
        ("<link rel=feed href=/y><a href=/y>feed</a><a href=/feed>x</a>", ["https://example.org/y", "https://example.org/feed"]),
    ],
)  # fmt: skip
def test_what_counts_as_a_feed(page: str, expected: list[str]) -> None:
    assert urls(page) == expected


@pytest.mark.parametrize("href", ["feed:https://e.org/rss", "feed://e.org/rss", "Feed:/rss"])
def test_an_address_for_feed_readers_alone_is_one(href: str) -> None:
    page = f'<link rel="alternate" type="application/rss+xml" href="{href}">'
    assert urls(page, "https://e.org/blog/") == ["https://e.org/rss"]


def test_comments_come_last() -> None:
    page = (
        f'<link rel="alternate" type="{RSS}" title="Blog: Comments Feed" href="/c">'
        f'<link rel="alternate" type="{RSS}" href="/comments/feed/"><a href="/feed">feed</a>'
    )
    assert urls(page) == ["https://example.org/feed", "https://example.org/c", "https://example.org/comments/feed/"]


@pytest.mark.parametrize(
    "page",
    [
        '<link rel=feed title="Gänse" href=/x>'.encode(),
        '<meta charset="windows-1252"><link rel=feed title="Gänse" href=/x>'.encode("windows-1252"),
        '<meta charset="no-such"><link rel=feed title="Gänse" href=/x>'.encode("latin-1"),
        '<link rel=feed title="Gänse" href=/x>'.encode("latin-1"),
    ],
)
def test_bytes_are_read_in_their_charset(page: bytes) -> None:
    assert find_feeds(page, URL) == (FeedLink(url="https://example.org/x", title="Gänse"),)


def test_a_page_names_twenty_feeds_at_most() -> None:
    assert len(urls("".join(f"<link rel=feed href=/{i}>" for i in range(500)))) == 20


@pytest.mark.parametrize("piece", ["<a ", "<a \"'", "<!--", "<script", "<link '\"", "<a href='/feed' ", '<a "x"'])
def test_a_hostile_page_is_read_in_one_pass(piece: str) -> None:
    assert len(urls(piece * (400_000 // len(piece)))) <= 20


@given(st.text(alphabet="<>link a/base\"'=href rel feed!--script", max_size=200))
def test_any_page_gives_http_addresses(page: str) -> None:
    assert all(url.startswith("https://example.org/") for url in urls(page))


@pytest.mark.parametrize(
    ("url", "first", "has_root"),
    [
        ("https://example.org", "https://example.org/index.xml", True),
        ("https://example.org/", "https://example.org/index.xml", True),
        ("https://example.org/blog/?p=1#x", "https://example.org/blog/index.xml", True),
        ("https://example.org/blog", "https://example.org/blog/index.xml", True),
        ("https://example.org/blog/post.html", "https://example.org/blog/index.xml", True),
        ("http://example.org:8000/a", "http://example.org:8000/a/index.xml", False),
    ],
)
def test_usual_places_are_below_the_page_and_the_root(url: str, first: str, has_root: bool) -> None:
    places = usual_places(url)
    assert places[0] == first
    assert ("https://example.org/feed/" in places) is has_root
    assert len(places) == len(set(places)) <= 8
