"""What a document may cost, and what its head says of the rest."""

import gzip
from datetime import timedelta

import pytest

from bot.core.errors import NotAFeed
from bot.core.parse.document import parse
from tests.core.documents import entries, first, read, rss


def test_a_longer_document_gives_its_first_and_last_entries() -> None:
    feed = read(rss(*(f"<guid>{n}</guid>" for n in range(5_002))))
    guids = [entry.guid for entry in entries(feed)]
    assert len(guids) == 5_000
    assert (guids[0], guids[2_499], guids[2_500], guids[-1]) == ("0", "2499", "2502", "5001")
    assert feed.total == 5_002
    assert not feed.trim_ok


def test_long_titles_and_texts_are_cut() -> None:
    entry = first(rss(f"<title>{'x' * 50_000}</title><description>{'y ' * 200_000}</description>"))
    assert len(entry.title) == 1_000
    assert len(entry.summary_html) == 100_000


def test_the_head_says_how_often_to_ask_and_where_the_rest_is() -> None:
    feed = read(
        rss(
            head="<title>F</title><ttl>60</ttl><sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency>"
            "<skipHours><hour>3</hour><hour>24</hour></skipHours><skipDays><day>Sunday</day><day>x</day></skipDays>"
            '<atom:link rel="hub" href="https://hub.example/"/><atom:link rel="self" href="https://e.org/f"/>'
            '<atom:link rel="next" href="/2"/><atom:link rel="prev-archive" href="/1"/>'
        )
    )
    assert feed.ttl == timedelta(hours=12)
    assert feed.skip_hours == (0, 3)
    assert feed.skip_days == ("sunday",)
    assert feed.hub == "https://hub.example/"
    assert feed.self_url == "https://e.org/f"
    assert feed.next_page == "https://blog.example/1"
    assert read(rss(head="<ttl>99999999</ttl>")).ttl == timedelta(days=7)
    assert read(rss(head='<atom:link href="/x"/><link/>')).site_url == "https://blog.example/x"
    assert read(rss(head="<ttl>soon</ttl>")).ttl is None


def test_entities_of_a_doctype_are_never_expanded() -> None:
    body = '<!DOCTYPE rss [<!ENTITY x "boom">]>' + rss("<title>&x;</title>").removeprefix('<?xml version="1.0"?>')
    assert first(body).title == "&x;"


def test_a_gz_file_is_unpacked() -> None:
    body = rss("<guid>1</guid>").encode()
    assert first(gzip.compress(body)).guid == "1"
    with pytest.raises(NotAFeed, match="cut off"):
        read(gzip.compress(body)[:-9])


def test_absurd_nesting_and_attributes_cost_the_body_only() -> None:
    deep = "<x>" * 1_000 + "</x>" * 1_000
    wide = "<x " + " ".join(f'a{n}="1"' for n in range(2_000)) + "/>"
    for source in (deep, wide):
        assert first(rss(f"<guid>1</guid><title>t</title>{source}")).title == "t"
    attributes = " " + " ".join(f'a{n}="1"' for n in range(2_000))
    assert first(rss("<guid>1</guid>", attributes=attributes)).guid == "1"


def test_parse_takes_nothing_but_bytes() -> None:
    assert parse(b"<rss><channel/></rss>", url="u", content_type=None).items == ()
