"""Filters: which entries a route wants, and the words for why not."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.filters import MAX_DEPTH, MAX_LENGTH, MatchError, Verdict, judge, matches, parse_match, words_of
from bot.core.model.entry import Entry, Key
from bot.core.model.feed import Feed, FeedAuth, FeedId
from bot.core.model.route import DestinationUid, Route

NOW = datetime(2026, 9, 16, 12, tzinfo=UTC)
FEED = Feed(id=FeedId("ai"), url="https://example.org/feed")
ROUTE = Route(name="routes[0]", to=(DestinationUid("console"),))
ENTRY = Entry(
    feed_id=FEED.id,
    key=Key(b"k" * 16),
    title="Lossless Ethernet for RDMA",
    text="RoCE is not magic.",
    tags=("RoCE", "AI Networking"),
    sort_at=NOW - timedelta(days=10),
    first_seen_at=NOW,
)


def found(expression: str, *texts: str) -> bool:
    return matches(parse_match(expression), words_of(*texts))


@pytest.mark.parametrize(
    ("expression", "text", "expected"),
    [
        ("rdma", "Lossless Ethernet for RDMA", True),
        ("RDMA", "rdma", True),
        ("rdm", "RDMA", False),
        ("rdma ethernet", "Lossless Ethernet for RDMA", True),
        ("rdma and bgp", "RDMA", False),
        ("rdma bgp", "RDMA", False),
        ("rdma or bgp", "RDMA", True),
        ("rdma OR bgp", "BGP", True),
        ("not bgp", "RDMA", True),
        ("rdma and not bgp", "RDMA and BGP", False),
        ("NOT NOT rdma", "RDMA", True),
        ("a or b and c", "a", True),
        ("a or b c", "b", False),
        ("(a or b) and c", "a", False),
        ("(a or b) c", "b c", True),
        ("not a or b", "b a", True),
        ("not (a or b)", "b", False),
        ("not a b", "b", True),
        ("a not b", "a", True),
        ('"lossless ethernet"', "Lossless Ethernet", True),
        ('"lossless ethernet"', "lossless, ethernet", True),
        ('"lossless ethernet"', "ethernet lossless", False),
        ('"lossless ethernet"', "lossless fast ethernet", False),
        ("“lossless ethernet”", "lossless ethernet", True),
        ('rdma or "lossless ethernet"', "lossless ethernet", True),
        ('"and"', "this and that", True),
        ('"or" "not"', "or not", True),
        ("spectrum-x", "NVIDIA Spectrum-X", True),
        ("spectrum-x", "Spectrum X", True),
        ("don't", "don’t", True),
        ("rate_limit", "rate limit", True),
        ("c++", "C++20 and C++", True),
        ("c++", "the C language", False),
        ("c#", "C# 13", True),
        ("c", "C# 13", True),
        ("c++ or é", "C++ é", True),
        (".net", ".NET 9 is out", True),
        (".net", "the net", False),
        (".net", "é .NET", True),
        (".net", "example.net é", False),
        ("dragonfly", "DragonFly+ é", True),
        ("dragonfly+", "DragonFly+ é", True),
        ("802.1q", "IEEE 802.1Q", True),
        ("802.1q", "IEEE 802.1Q é", True),
        ("802", "IEEE 802.1Q", True),
        ("STRASSE", "Straße", True),
        ("ｒｄｍａ", "RDMA", True),
        ("café", "cafe\u0301", True),
        ("cafe", "café", False),
        ("हिन्दी", "नमस्ते हिन्दी", True),
        ("हिन", "नमस्ते हिन्दी", False),
        ("人工智能", "什么是人工智能技术", True),
        ("人工能", "什么是人工智能技术", False),
        ("ネットワーク", "データセンターのネットワークについて", True),
        ("인공지능", "인공지능을 배우다", True),
        ("gpu", "新型GPU集群", True),
        ("gp", "新型GPU集群", False),
        ("soft", "so\u00adft é", True),
        ("\u0301a", "\u0301a", True),
        ("a", "", False),
    ],
)
def test_expression_is_matched_in_whole_words(expression: str, text: str, expected: bool) -> None:
    assert found(expression, text) is expected


def test_a_phrase_does_not_span_title_and_summary() -> None:
    assert not found('"lossless ethernet"', "lossless", "ethernet")
    assert found("lossless ethernet", "lossless", "ethernet")


@pytest.mark.parametrize(
    ("expression", "position", "words"),
    [
        ("", 0, "is empty"),
        ("   ", 0, "is empty"),
        ("rdma and", 8, "missing before the end"),
        ("rdma or  ", 7, "missing before the end"),
        ("and rdma", 0, 'missing before "and"'),
        ("rdma or or bgp", 8, 'missing before "or"'),
        ("not", 3, "missing before the end"),
        ("()", 1, 'missing before ")"'),
        ("(rdma", 0, "never closed"),
        ("rdma (bgp or (evpn)", 5, "never closed"),
        ("rdma) bgp", 4, "closes nothing"),
        ('rdma "lossless', 5, "quote is never closed"),
        ('rdma "', 5, "quote is never closed"),
        ('""', 0, "no word"),
        ("rdma & bgp", 5, "no word"),
        ("rdma, bgp", 4, 'write "or" or "and"'),
        ("rdm*", 3, "no wildcards"),
        ("rdma|bgp", 4, "no wildcards"),
        (r"\brdma", 0, "no wildcards"),
        ("x" * (MAX_LENGTH + 1), MAX_LENGTH, "too long"),
        ("(" * 40 + "a" + ")" * 40, MAX_DEPTH + 1, "too deep"),
        ("not " * 40 + "a", 4 * (MAX_DEPTH + 1), "too deep"),
    ],
)
def test_a_mistake_is_told_with_its_place(expression: str, position: int, words: str) -> None:
    with pytest.raises(MatchError) as caught:
        parse_match(expression)
    assert caught.value.position == position
    assert words in caught.value.words == str(caught.value)


@given(st.text(alphabet='ab ()"“”+#.,not r*é人', max_size=60))
def test_any_expression_is_read_or_refused_within_its_length(expression: str) -> None:
    try:
        assert matches(parse_match(expression), words_of("a", "b")) in (True, False)
        position = 0
    except MatchError as error:
        position = error.position
    assert 0 <= position <= len(expression)


@given(st.text(max_size=60))
def test_a_text_is_found_in_itself(text: str) -> None:
    words = words_of(text)
    quoted = text.replace('"', " ")
    try:
        read = parse_match(f'"{quoted}"')
    except MatchError:
        assert words == "\0\1\0"  # no word in it
    else:
        assert matches(read, words_of(quoted))


@given(st.text(alphabet="ab+#. -", max_size=30))
def test_other_scripts_beside_it_do_not_change_how_ascii_is_read(text: str) -> None:
    assert words_of(f"{text} é") == words_of(text, "é").replace("\0\1", "", 1)


VERDICTS = {
    "every entry": (ROUTE, FEED, ENTRY, None, "the route takes every entry of this feed"),
    "a follow of a feed with credentials": (
        replace(ROUTE, name="follow"),
        replace(FEED, auth=FeedAuth(bearer="x")),
        ENTRY,
        "feeds",
        "feed ai has credentials",
    ),
    "from chat": (ROUTE, replace(FEED, from_chat=True), ENTRY, "feeds", "feed ai was added in chat"),
    "chat's own route": (
        replace(ROUTE, feeds=frozenset({FEED.id})),
        replace(FEED, from_chat=True),
        ENTRY,
        None,
        "the route takes every entry of this feed",
    ),
    "other feed": (replace(ROUTE, feeds=frozenset({FeedId("x")})), FEED, ENTRY, "feeds", "feed ai is not in feeds"),
    "no feed at all": (replace(ROUTE, feeds=frozenset()), FEED, ENTRY, "feeds", "feed ai is not in feeds"),
    "not_tags": (replace(ROUTE, not_tags=frozenset({"roce"})), FEED, ENTRY, "not_tags", "tag RoCE is in not_tags"),
    "none of not_tags": (replace(ROUTE, not_tags=frozenset({"x"})), FEED, ENTRY, None, "no tag of it is in not_tags"),
    "not_tags before tags": (
        replace(ROUTE, not_tags=frozenset({"roce"}), tags=frozenset({"roce"})),
        FEED,
        ENTRY,
        "not_tags",
        "tag RoCE is in not_tags",
    ),
    "no tag": (replace(ROUTE, tags=frozenset({"evpn", "bgp"})), FEED, ENTRY, "tags", "no tag of bgp, evpn"),
    "a tag": (replace(ROUTE, tags=frozenset({"ai-networking", "bgp"})), FEED, ENTRY, None, "tag AI Networking"),
    "no match": (replace(ROUTE, match="bgp"), FEED, ENTRY, "match", "title and summary do not match: bgp"),
    "match in the title": (replace(ROUTE, match="ethernet"), FEED, ENTRY, None, "title or summary matches: ethernet"),
    "match in the summary": (replace(ROUTE, match="magic"), FEED, ENTRY, None, "title or summary matches: magic"),
    "tag and match": (
        replace(ROUTE, tags=frozenset({"roce"}), match="magic"),
        FEED,
        ENTRY,
        None,
        "tag RoCE is in tags, title or summary matches: magic",
    ),
    "too old": (replace(ROUTE, max_age=timedelta(days=9)), FEED, ENTRY, "max_age", "older than 9d: dropped by max_age"),
    "too old by hours": (replace(ROUTE, max_age=timedelta(hours=36)), FEED, ENTRY, "max_age", "older than 36h:"),
    "too old by seconds": (replace(ROUTE, max_age=timedelta(seconds=90)), FEED, ENTRY, "max_age", "older than 90s:"),
    "young enough": (replace(ROUTE, max_age=timedelta(days=10)), FEED, ENTRY, None, "the route takes every entry"),
    "a date without a time has a day more": (
        replace(ROUTE, max_age=timedelta(days=9)),
        FEED,
        replace(ENTRY, date_only=True),
        None,
        "the route takes every entry",
    ),
    "old now, young when it was seen": (
        replace(ROUTE, max_age=timedelta(days=9)),
        FEED,
        replace(ENTRY, first_seen_at=NOW - timedelta(days=5)),
        None,
        "the route takes every entry",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("route", "feed", "entry", "rule", "reason"), VERDICTS.values(), ids=VERDICTS.keys())
def test_verdict_and_its_reason(route: Route, feed: Feed, entry: Entry, rule: str | None, reason: str) -> None:
    verdict = judge(route, entry, feed, now=NOW)
    assert verdict.wanted is (rule is None)
    assert verdict.reason.startswith(reason)


def test_a_replay_later_hears_the_same_verdict() -> None:
    route = replace(ROUTE, max_age=timedelta(days=9))
    assert judge(route, ENTRY, FEED, now=NOW + timedelta(days=400)) == judge(route, ENTRY, FEED, now=NOW)


def test_a_verdict_is_a_value() -> None:
    assert judge(ROUTE, ENTRY, FEED, now=NOW) == Verdict(wanted=True, reason="the route takes every entry of this feed")
