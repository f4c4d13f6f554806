"""JSON Feed, which feedparser does not know."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import NotAFeed
from tests.core.documents import entries, first, read

VERSION = "https://jsonfeed.org/version/1.1"


def feed(*items: object, **head: object) -> str:
    return json.dumps({"version": VERSION, "title": "F", "items": list(items), **head})


def test_an_item_is_read() -> None:
    entry = first(
        feed(
            {
                "id": "1", "url": "/a", "title": "A &amp; <b>", "summary": "s <x>\nt", "content_html": "<p>c</p>",
                "tags": ["a", "a", "b", 7], "date_published": "2026-09-16T10:00:00Z",
                "date_modified": "2026-09-17T10:00:00Z", "image": "/i.png", "authors": [{"name": "Ann"}],
                "attachments": [{"url": "https://e.org/a.mp3"}],
            }
        )
    )  # fmt: skip
    assert entry.guid == "1"
    assert entry.link == "https://blog.example/a"
    assert entry.title == "A &amp; <b>"
    assert entry.text == "s <x>\nt"
    assert entry.content_html == "<p>c</p>"
    assert entry.categories == ("a", "b")
    assert entry.published == datetime(2026, 9, 16, 10, tzinfo=UTC)
    assert entry.updated == datetime(2026, 9, 17, 10, tzinfo=UTC)
    assert entry.image == "https://blog.example/i.png"
    assert entry.author == "Ann"
    assert entry.enclosure == "https://e.org/a.mp3"


def test_a_long_text_is_cut_also_where_each_line_becomes_markup() -> None:
    entry = first(feed({"id": "1", "content_text": "&\n" * 60_000, "summary": "\n" * 120_000}))
    assert (len(entry.content_html), len(entry.summary_html)) == (100_000, 100_000)


def test_the_head_is_read() -> None:
    found = read(
        feed(
            {"id": "1", "content_text": "x"},
            home_page_url="/", feed_url="/f.json", next_url="/2", hubs=[{"url": "https://hub.example/"}],
            author={"name": "Mia"},
        )
    )  # fmt: skip
    assert found.title == "F"
    assert found.site_url == "https://blog.example/"
    assert found.self_url == "https://blog.example/f.json"
    assert found.next_page == "https://blog.example/2"
    assert found.hub == "https://hub.example/"
    assert entries(found)[0].author == "Mia"
    assert entries(found)[0].text == "x"
    assert not found.trim_ok


@pytest.mark.parametrize(
    ("value", "guid"),
    [(7, "7"), (7.0, "7"), (1.5, "1.5"), (True, None), ([], None), (" ", None), ("0", "0"), (None, None)],
)
def test_ids_are_strings_whatever_they_were(value: object, guid: str | None) -> None:
    assert first(feed({"id": value})).guid == guid


@pytest.mark.parametrize(
    "body",
    ["{}", '{"items": []}', '{"version": 1}', "{not json}", '{"version": "https://example.org/1", "items": []}', "[1]"],
)
def test_other_json_is_no_feed(body: str) -> None:
    with pytest.raises(NotAFeed):
        read(body)


def test_numbers_that_no_type_holds_and_wrong_members_do_no_harm() -> None:
    found = read(
        f'{{"version": "{VERSION}", "items": [{{"id": {"9" * 5000}}}, {{"id": NaN}}, 7, null, {{"tags": 1}}]}}'
    )
    assert [entry.guid for entry in entries(found)] == ["9" * 5000, None, None]


def test_lone_surrogates_are_replaced() -> None:
    assert first(feed({"id": "a\ud800", "title": "x\udfff"})).guid == "a?"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "url", "title", "tags", "authors", "name", "attachments"]), inner)
    ),
    max_leaves=10,
)


@given(st.lists(JSON, max_size=4))
def test_no_types_make_the_reader_fail(items: list[object]) -> None:
    read(feed(*items))
