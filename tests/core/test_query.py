"""What people type after /latest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import UsageError
from bot.core.model.feed import FeedId
from bot.core.query import LatestQuery, parse_latest
from bot.core.tags import fold

TAGS = frozenset({"bgp", "evpn", "open-source", "top-10", "ai-ml"})
FEEDS = (FeedId("ai-networking"), FeedId("bgp"), FeedId("News"))


def read(text: str, *, tags: frozenset[str] = TAGS) -> LatestQuery:
    return parse_latest(text, has_tag=tags.__contains__, feed_ids=lambda: FEEDS)


def q(tag: str | None = None, *, feed: str | None = None, count: int = 1, public: bool = False) -> LatestQuery:
    return LatestQuery(tag=tag, feed=None if feed is None else FeedId(feed), count=count, public=public)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", q()),
        ("   ", q()),
        ("bgp", q("bgp")),
        ("  BGP  ", q("BGP")),
        ("#bgp", q("#bgp")),
        ("bgp 3", q("bgp", count=3)),
        ("bgp 10", q("bgp", count=10)),
        ("bgp 11", q("bgp 11")),
        ("bgp 0", q("bgp 0")),
        ("bgp 03", q("bgp 03")),
        ("3", q(count=3)),
        ("11", q("11")),
        ("３", q(count=3)),
        ("public", q(public=True)),
        ("bgp public", q("bgp", public=True)),
        ("bgp 3 public", q("bgp", count=3, public=True)),
        ("bgp PUBLIC 3", q("bgp", count=3, public=True)),
        ("3 public", q(count=3, public=True)),
        ("public bgp", q("public bgp")),
        ("bgp 3 3", q("bgp 3", count=3)),
        ("public public", q("public", public=True)),
        ("top 10", q("top 10")),
        ("Top-10", q("Top-10")),
        ("top 10 5", q("top 10", count=5)),
        ("top 10 public", q("top 10", public=True)),
        ('"top 10"', q("top 10")),
        ("top 9", q("top", count=9)),
        ("open source", q("open source")),
        ('"open-source" 2', q("open-source", count=2)),
        ("“open-source”", q("open-source")),
        ('"open-source', q("open-source")),
        ("ospf and others", q("ospf and others")),
        ("open-source; drop table feeds", q("open-source; drop table feeds")),
        # a feed's id
        ("ai-networking", q(feed="ai-networking")),
        ("AI-Networking 3", q(feed="ai-networking", count=3)),
        ("news", q(feed="News")),
        ("ai-networking bgp 2", q("bgp", feed="ai-networking", count=2)),
        ("ai-networking ospf", q("ai-networking ospf")),
        # said outright
        ("tag:bgp", q("bgp")),
        ("tag: bgp", q("bgp")),
        ("TAG:bgp 3 public", q("bgp", count=3, public=True)),
        ('tag:"AI Networking"', q("AI Networking")),
        ('tag:"AI Networking" 3', q("AI Networking", count=3)),
        ("tag:“AI Networking” public", q("AI Networking", public=True)),
        ("tag:AI Networking", q("AI Networking")),
        ("tag:AI Networking count:2", q("AI Networking", count=2)),
        ('tag:"AI Networking', q("AI Networking")),
        ('tag:"top 5"', q("top 5")),
        ("tag:3", q("3")),
        ("tag:public", q("public")),
        ("tag:ai-networking", q("ai-networking")),
        ("tag:", q()),
        ('tag:""', q()),
        ('tag:"', q()),
        ("feed:ai-networking", q(feed="ai-networking")),
        ("feed:bgp", q(feed="bgp")),
        ('feed:"news"', q(feed="News")),
        ("feed:ai-networking bgp 3", q("bgp", feed="ai-networking", count=3)),
        ("feed:ai-networking news", q("news", feed="ai-networking")),
        ("bgp feed:ai-networking", q("bgp", feed="ai-networking")),
        ("count:4", q(count=4)),
        ("count:4 bgp", q("bgp", count=4)),
        ('tag:"bgp"count:4', q("bgp", count=4)),
        ("bgp public:true", q("bgp", public=True)),
        ("bgp public:no", q("bgp")),
        ("metatag:x", q("metatag:x")),
        ("tags", q("tags")),
    ],
)  # fmt: skip
def test_latest_is_read(text: str, expected: LatestQuery) -> None:
    assert read(text) == expected


@pytest.mark.parametrize("text", ["3", "public", "bgp 3", "bgp public", "ai-networking", "ai-networking bgp"])
def test_a_tag_named_by_the_whole_text_wins(text: str) -> None:
    assert read(text, tags=frozenset({fold(text)})) == q(text)


@pytest.mark.parametrize("name", ['12" vinyl', 'Size 12"', '"Weird Al" Yankovic', "rock 'n'", "'90s", "5'"])
@pytest.mark.parametrize("text", ["{}", "{} 3", "tag:‘{}’ 3", "ai-networking {}", "feed:ai-networking {}"])
def test_quotes_that_belong_to_a_tag_stay(text: str, name: str) -> None:
    found = read(text.format(name), tags=frozenset({fold(name)}))
    assert found.folded == fold(name)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("feed:x", 'no feed "x"; feeds: News, ai-networking, bgp'),
        ("feed:", 'no feed ""'),
        ("count:11", "count is a number from 1 to 10"),
        ("count:many bgp", "count is a number from 1 to 10"),
    ],
)
def test_what_cannot_be_is_told(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read(text)


@given(st.text(alphabet="tagfeedcountpublic: \"'“”3 10bgp", max_size=60))
def test_anything_typed_gets_an_answer_or_words(text: str) -> None:
    try:
        query = read(text)
    except UsageError:
        query = q()
    assert 1 <= query.count <= 10
    assert query.feed is None or query.feed in FEEDS
    assert query.tag is None or query.tag.strip() == query.tag != ""


def test_a_very_long_text_is_cut() -> None:
    query = read("x" * 10_000)
    assert query.tag == "x" * 500
