"""The hostile set: what each attack must not do to what is read."""

from collections.abc import Mapping
from typing import Any

import pytest

from bot.core.errors import NotAFeed
from bot.core.identity import identify_document
from bot.core.model.entry import Key, ParsedEntry
from bot.core.parse.document import parse
from tests.core.documents import FEEDS, entries, hostile, read_hostile

ROWS = list(hostile())


def words_of(entry: ParsedEntry) -> str:
    return "\n".join(
        (entry.title, entry.text, entry.summary_html, entry.content_html, entry.guid or "", entry.link or "",
         entry.author or "", *entry.categories)
    )  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_every_hostile_document_is_read_or_refused(row: Mapping[str, Any]) -> None:
    body = (FEEDS / "hostile" / row["path"]).read_bytes()
    try:
        feed = parse(body, url="https://hostile.example/f", content_type=row["headers"].get("Content-Type"))
    except NotAFeed:
        assert row.get("entries") in (0, None)
        return
    found = entries(feed)
    if "entries" in row:
        assert len(found) == row["entries"]
    for entry in found:
        text = words_of(entry)
        text.encode("utf-8")
        assert "\x00" not in text
        assert not any(bad in text for bad in row.get("must_not_contain", ()))
        assert "\n" not in entry.title
        assert entry.link is None or entry.link.startswith(("http://", "https://"))
        assert not set(entry.link or "") & set('|<>"\\ \r\n')


def test_no_expansion_is_read() -> None:
    for name in ("billion-laughs", "quadratic-blowup"):
        assert all(len(words_of(entry)) < 300_000 for entry in entries(read_hostile(f"xml/{name}.xml")))


def test_the_text_of_split_cdata_is_put_together() -> None:
    assert entries(read_hostile("xml/cdata-end.xml"))[0].text == "one ]]> two <![CDATA[ three"


def test_of_two_documents_in_one_answer_only_the_first_is_read() -> None:
    assert len(entries(read_hostile("xml/two-feeds.xml"))) == 1


def test_bare_ampersands_are_read_as_written() -> None:
    (entry,) = entries(read_hostile("xml/bare-ampersand.xml"))
    assert entry.guid == entry.link == "https://hostile.example/a?x=1&utm_medium=rss&y=2"
    assert entry.title == "R&D & AT&T"


def test_bad_bytes_spoil_only_themselves() -> None:
    assert entries(read_hostile("bytes/invalid-utf8.xml"))[1].title == "Přehled týdne"
    assert "<" not in entries(read_hostile("bytes/overlong-utf8.xml"))[0].title


def test_titles_still_say_what_they_say() -> None:
    row = next(row for row in ROWS if row["path"] == "text/mentions.xml")
    for entry, title in zip(entries(read_hostile(row["path"])), row["titles"], strict=True):
        assert entry.title == title.replace("\u200b", "").replace("&lt;", "<").replace("&gt;", ">")


def test_invisible_titles_are_empty() -> None:
    for name in ("text/invisible-titles.xml", "text/bidi-zero-width.xml"):
        for entry in entries(read_hostile(name)):
            assert entry.title == "" or entry.title.strip()
            assert not any("\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069" for char in entry.title)


def test_dates_are_as_fed_in_or_none() -> None:
    future = entries(read_hostile("dates/future-2099.xml"))
    assert [entry.published.year if entry.published else None for entry in future] == [2099, 9999, 2026]
    assert len(entries(read_hostile("dates/garbage.xml"))) == 28


def test_empty_and_repeated_tags_are_dropped() -> None:
    for entry in entries(read_hostile("text/tags.xml")):
        assert len(set(entry.categories)) == len(entry.categories) <= 200
        assert all(tag.strip() for tag in entry.categories)


def keys(path: str) -> list[Key | None]:
    found = identify_document(read_hostile(path).items)
    return [identity.key if identity else None for identity in found.identities]


def test_odd_guids_are_sixteen_different_ones() -> None:
    assert len(set(keys("ids/odd-guids.xml"))) == 16


def test_one_guid_for_all_entries_falls_back_to_their_links() -> None:
    found = keys("ids/same-guid.xml")
    assert len(set(found)) == len(found) == 10
    assert found == keys("ids/same-guid.xml")


def test_items_with_nothing_to_show_have_no_name() -> None:
    assert [key is not None for key in keys("text/missing-parts.xml")] == [True] * 4 + [False] * 3


def test_a_relative_guid_does_not_change_with_the_address_of_the_feed() -> None:
    body = (FEEDS / "hostile" / "ids" / "relative-guid.xml").read_bytes()
    one, other = (
        entries(parse(body, url=url, content_type=None)) for url in ("http://a.example/f", "https://b.example/")
    )
    assert [entry.guid for entry in one] == [entry.guid for entry in other] == ["/post/1", "/post/2"]
