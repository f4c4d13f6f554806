"""Lists of feeds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import UsageError
from bot.core.model.feed import Feed, FeedAuth, FeedId
from bot.core.opml import OpmlFeed, OpmlList, parse_opml, to_opml


def opml(body: str) -> bytes:
    return f'<?xml version="1.0"?><opml version="2.0"><head><title>x</title></head><body>{body}</body></opml>'.encode()


def test_feeds_come_in_order_with_folders_and_categories_as_tags() -> None:
    found = parse_opml(
        opml(
            """<outline text="Feeds"><outline text="Networking">
              <outline type="rss" text="AI" title="AI&#10;Networking" xmlUrl="https://example.org/a.xml"/>
              <outline text="B" XMLURL="http://example.org/b" category="/tech/bgp,Networking"/>
            </outline></outline>
            <outline text="C" xmlUrl="https://example.org/c"><outline xmlUrl="https://example.org/d"/></outline>
            <outline text="again" xmlUrl="https://example.org/c" category="later"/>"""
        )
    )
    assert found == OpmlList(
        feeds=(
            OpmlFeed(url="https://example.org/a.xml", title="AI Networking", tags=("Networking",)),
            OpmlFeed(url="http://example.org/b", title="B", tags=("Networking", "tech", "bgp")),
            OpmlFeed(url="https://example.org/c", title="C", tags=("later",)),
            OpmlFeed(url="https://example.org/d"),
        )
    )


def test_what_cannot_be_polled_is_named_without_credentials() -> None:
    found = parse_opml(opml('<outline xmlUrl="feed:x"/><outline xmlUrl="https://u:secret@example.org/f"/>'))
    assert found == OpmlList(feeds=(), skipped=("feed:x", "https://…@example.org/f"))


BOMB = (
    b'<!DOCTYPE opml [<!ENTITY a "aaaa">]><opml><body><outline text="&a;" xmlUrl="https://example.org/"/></body></opml>'
)
OUTSIDE = b'<!DOCTYPE opml [<!ENTITY a SYSTEM "file:///etc/passwd">]><opml>&a;</opml>'


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"", "no well-formed XML"),
        (b"<opml>", "line 1 of the file is no well-formed XML"),
        (b"<html></html>", "outermost element is not <opml>"),
        (BOMB, "declares XML entities"),
        (OUTSIDE, "declares XML entities"),
        (b"<opml>" + b" " * 1_000_000 + b"</opml>", "too large"),
        (b'<?xml version="1.0" encoding="x-none"?><opml/>', "encoding"),
        (b'<?xml version="1.0" encoding="shift_jis"?><opml/>', "encoding that can't be read"),
        (opml("<outline>" * 40 + "</outline>" * 40), "nested too deep"),
        (opml("".join(f'<outline xmlUrl="https://example.org/{i}"/>' for i in range(501))), "too many feeds"),
    ],
    ids=["empty", "cut off", "html", "bomb", "outside", "large", "no encoding", "wide encoding", "deep", "many"],
)
def test_anything_else_is_refused_in_words(source: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_opml(source)


def test_a_doctype_without_entities_and_other_encodings_are_read() -> None:
    source = (
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE opml><OPML><outline text="ä" xmlUrl="http://e.org/"/></OPML>'
    )
    assert parse_opml(source.encode("utf-16")).feeds == (OpmlFeed(url="http://e.org/", title="ä"),)


def test_export_holds_no_secret_and_comes_back() -> None:
    feed = Feed(
        id=FeedId("ai"),
        url="https://example.org/a?b=1&c=2",
        tags=("one, two", '"three"'),
        headers=(("X-Key", "secret"),),
        auth=FeedAuth(username="u", password="secret"),
    )
    written = to_opml(
        [
            (feed, 'AI <Networking> & "more"', "https://example.org/"),
            (Feed(id=FeedId("b"), url="http://b.org/"), "", None),
        ]
    )
    assert "secret" not in written
    assert 'htmlUrl="https://example.org/"' in written
    assert parse_opml(written.encode()).feeds == (
        OpmlFeed(url="https://example.org/a?b=1&c=2", title='AI <Networking> & "more"', tags=("one two", '"three"')),
        OpmlFeed(url="http://b.org/", title="b"),
    )


@given(st.text(max_size=30))
def test_any_title_survives_the_round_trip(name: str) -> None:
    written = to_opml([(Feed(id=FeedId("f"), url="https://example.org/"), name, None)])
    assert [feed.url for feed in parse_opml(written.encode()).feeds] == ["https://example.org/"]
