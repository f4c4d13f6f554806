"""What `inspect` says about a feed, and the configuration that it proposes."""

import tomllib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.lint import Level, config_block, feed_block, lint, propose_id
from bot.core.model.entry import Key, Listed, ParsedEntry, ParsedFeed
from bot.core.model.feed import Fetched, Validators

URL = "https://example.org/ai-networking/index.xml"


def item(number: int, *tags: str, day: int | None = None) -> ParsedEntry:
    link = f"https://example.org/{number}"
    at = None if day is None else datetime(2026, 9, day, tzinfo=UTC)
    return ParsedEntry(
        guid=link,
        link=link,
        title=f"Entry {number}",
        summary_html="x" * (150 + number),
        categories=tags,
        published=at,
        has_time=False,
    )


SEED = ParsedFeed(
    items=(
        item(1, "AI Networking", "evpn", day=16),
        item(2, "AI Networking", "evpn", day=16),
        item(3, "AI Networking", "bgp", day=10),
    ),
    title="AI Networking · Darren Qu",
    total=3,
)
FETCHED = Fetched(url=URL, body=b"x" * 4_321, content_type="application/xml", validators=Validators(etag='"a"'))


def words_of(parsed: ParsedFeed = SEED, fetched: Fetched = FETCHED) -> list[str]:
    return [f"{finding.topic}: {finding.words}" for finding in lint(parsed, fetched)]


def only(*items: ParsedEntry) -> ParsedFeed:
    return ParsedFeed(items=items, title="Blog", total=len(items))


def test_a_section_feed_with_dates_alone() -> None:
    assert words_of() == [
        "size: 3 entries in 4,321 bytes",
        'section: "AI Networking" stands on 3 of 3 entries: the section, not a tag',
        "tags: 2 tags: evpn, bgp",
        "dates: dates without a time of day: shown as dates, in no time zone",
        "dates: 1 date shared by several entries: their place in the document decides the order",
        "order: newest entry first",
        "guids: each guid is the entry's link: it changes when the address does (a move is recognised)",
        "texts: summaries on 3 of 3 entries, 151 to 153 characters",
        "caching: ETag: a poll without news costs next to nothing; every 15 minutes is fine",
    ]


ONE = item(1, "a", day=1)
BARE = ParsedEntry(text="words")

FEEDS = {
    "no entries": (only(), "size: 0 entries in", Level.GOOD),
    "one entry": (only(ONE), "size: 1 entry in", Level.GOOD),
    "cut off": (replace(SEED, truncated=True), "document: the document is cut off", Level.WARNING),
    "too many": (replace(SEED, total=9000), "document: holds 9000 entries; the 3 that stand first", Level.NOTE),
    "no tags": (only(item(1)), "tags: no entry has a tag of its own", Level.NOTE),
    "many tags": (only(item(1, *"abcdefghijklmno")), "tags: 15 tags: a, b, c, d, e, f, g, h, i, j, k, l", Level.GOOD),
    "no dates": (only(item(1)), "dates: 1 entry without a date", Level.NOTE),
    "oldest first": (only(item(1, day=1), item(2, day=2)), "order: oldest entry first", Level.NOTE),
    "mixed": (only(item(1, day=1), item(2, day=2), item(3, day=1)), "order: not in the order of its dates", Level.NOTE),
    "no guid": (only(replace(ONE, guid=None)), "guids: 1 entry without a guid", Level.NOTE),
    "one guid twice": (only(ONE, replace(ONE, link="https://example.org/2")), "guids: 1 guid shared", Level.WARNING),
    "no title": (only(BARE), "titles: 1 entry without a title", Level.NOTE),
    "no link": (only(BARE), "links: 1 entry without a link", Level.WARNING),
    "no texts": (only(BARE), "texts: neither summaries nor full texts", Level.NOTE),
    "full texts": (only(replace(ONE, content_html="y" * 1234)), "texts: full texts on 1 of 1 entries, 1,2", Level.GOOD),
    "ttl": (replace(SEED, ttl=timedelta(hours=2)), "caching: ttl asks for 2 hours", Level.NOTE),
    "long ttl": (replace(SEED, ttl=timedelta(days=1)), "caching: ttl asks for 1 day", Level.NOTE),
    "skips": (replace(SEED, skip_hours=(0,), skip_days=("sunday",)), "caching: wants no poll at 0:00, sun", Level.NOTE),
    "hub": (replace(SEED, hub="https://hub.example.org/"), "hub: WebSub hub https://hub.example.org/", Level.GOOD),
}  # fmt: skip


@pytest.mark.parametrize(("parsed", "words", "level"), FEEDS.values(), ids=FEEDS.keys())
def test_what_a_document_shows(parsed: ParsedFeed, words: str, level: Level) -> None:
    hits = [found for found in lint(parsed, FETCHED) if f"{found.topic}: {found.words}".startswith(words)]
    assert [found.level for found in hits] == [level]


ANSWERS = {
    "moved for good": ({"hops": ((301, URL),)}, f"address: moved for good to {URL}"),
    "moved for now": ({"hops": ((302, URL),)}, f"address: answers from {URL} for now"),
    "http": ({"url": "http://example.org/f"}, "address: plain http"),
    "large": ({"body": b"x" * 2_000_000}, "size: 3 entries in 2,000 kB"),
    "html": ({"content_type": "text/HTML; charset=utf-8"}, "document: is a feed, but its server calls it text/HTML"),
    "no validators": ({"validators": Validators()}, "caching: neither ETag nor Last-Modified: each poll"),
    "both validators": ({"validators": Validators(etag="a", last_modified="b")}, "caching: ETag and Last-Modified: a"),
    "max-age": ({"max_age": timedelta(minutes=50)}, "caching: Cache-Control asks for 50 minutes"),
    "hub in a header": ({"hub": "https://hub.example.org/"}, "hub: WebSub hub"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), ANSWERS.values(), ids=ANSWERS.keys())
def test_what_an_answer_shows(changes: dict[str, object], words: str) -> None:
    fetched = replace(FETCHED, **changes)  # type: ignore[arg-type]
    assert sum(line.startswith(words) for line in words_of(fetched=fetched)) == 1


def test_a_short_max_age_is_no_news() -> None:
    assert not any("asks for" in line for line in words_of(fetched=replace(FETCHED, max_age=timedelta(minutes=5))))


def test_items_known_by_their_bytes_are_left_out() -> None:
    listed = Listed(bytes_hash=b"h" * 16, key=Key(b"k" * 16))
    assert words_of(replace(SEED, items=(listed,), total=1))[0].startswith("size: 0 entries")


def test_config_block_is_ready_to_use() -> None:
    block = config_block(SEED, FETCHED, url=URL)
    assert tomllib.loads(block) == {
        "feeds": [{"id": "ai-networking", "url": URL, "section": "AI Networking"}],
        "routes": [{"to": "slack:#news", "feeds": ["ai-networking"]}],
    }
    assert '# tags = ["evpn", "bgp"]' in block
    assert block.startswith("# AI Networking · Darren Qu\n[[feeds]]\n")


def test_config_block_keeps_the_private_network_that_a_feed_was_found_in() -> None:
    block = config_block(SEED, FETCHED, url=URL, allow_private=("10.0.0.0/8", "fd00::/8"))
    assert tomllib.loads(block)["feeds"][0]["allow_private"] == ["10.0.0.0/8", "fd00::/8"]


def test_config_block_takes_the_address_of_a_move_for_good_only() -> None:
    for status, expected in ((301, URL), (308, URL), (302, "http://old.example.org/f")):
        block = config_block(SEED, replace(FETCHED, hops=((status, URL),)), url="http://old.example.org/f")
        assert tomllib.loads(block)["feeds"][0]["url"] == expected


def test_config_block_of_a_bare_feed() -> None:
    block = config_block(only(), FETCHED, url=URL, taken=("Blog", "ai-networking"))
    assert tomllib.loads(block)["feeds"] == [{"id": "ai-networking-2", "url": URL}]
    assert "tags" not in block


def test_feed_block_with_tags() -> None:
    assert tomllib.loads(feed_block("a", URL, tags=("x", 'y"z')))["feeds"] == [
        {"id": "a", "url": URL, "tags": ["x", 'y"z']}
    ]


@given(title=st.text(max_size=40), tags=st.lists(st.text(max_size=10), max_size=4))
def test_any_words_make_valid_toml(title: str, tags: list[str]) -> None:
    parsed = replace(SEED, title=title, items=tuple(item(number, *tags, str(number)) for number in range(3)))
    feed = tomllib.loads(config_block(parsed, FETCHED, url=URL))["feeds"][0]
    assert feed["url"] == URL
    assert feed["id"].isascii()
    assert 0 < len(feed["id"]) <= 40


@pytest.mark.parametrize(
    ("title", "url", "taken", "expected"),
    [
        ("AI Networking · Darren Qu", URL, (), "ai-networking"),
        ("Kernel News: all of it", URL, (), "kernel-news"),
        ("Feed", "https://example.org/feed.xml", (), "example"),
        ("", "https://www.example.org/blog/bgp/feed/", (), "bgp"),
        ("ネット", "https://example.org/feed", (), "example"),
        ("Žižkov – Übersicht", URL, (), "zizkov"),
        ("Crème brûlée, süß", URL, (), "creme-brulee-suss"),
        ("", "https://example.org", (), "example"),
        ("", "", (), "feed"),
        ("A" * 100, URL, (), "a" * 40),
        ("News", URL, ("NEWS", "news-2"), "news-3"),
        ("C++ & Rust", URL, (), "c-rust"),
    ],
)
def test_an_id_is_proposed(title: str, url: str, taken: tuple[str, ...], expected: str) -> None:
    assert propose_id(title, url, taken=taken) == expected
