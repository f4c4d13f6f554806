"""Bugs of other bots and readers that concern feeds, one test each; the numbers are those of our list of forty."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.core.errors import NotAFeed
from bot.core.identity import identify
from bot.core.model.feed import Feed, FeedId, FeedMemory, FeedState, NotModified, Validators
from bot.core.moves import follow_redirects, polled_url
from bot.core.parse.document import parse
from bot.core.plan import plan_unchanged
from tests.core.polling import START, Reader, post

THREE = [post("c", 3), post("b", 2), post("a", 1)]
EIGHT = [post(f"post {number}", number) for number in range(8, 0, -1)]


def primed(*items: object) -> Reader:
    reader = Reader()
    reader.poll(*items)  # type: ignore[arg-type]
    return reader


def test_17_a_feed_is_not_repeated_when_the_bot_looks_again() -> None:
    reader = primed(*THREE)
    for _ in range(5):
        assert reader.poll(*THREE) == []


@pytest.mark.parametrize("guid", ["", "  ", None])
def test_18_an_empty_guid_is_no_guid(guid: str | None) -> None:
    reader = primed(post("old", 1))
    blank = [replace(post(name, 2), guid=(guid or "").strip() or None) for name in ("x", "y")]
    assert sorted(reader.poll(*blank, post("old", 1))) == ["x", "y"]
    assert reader.poll(*blank, post("old", 1)) == []


def test_19_a_deletion_lets_no_old_entry_slide_in_as_new() -> None:
    window = [post(f"post {number}", -10 * number) for number in range(1, 6)]
    reader = primed(*window)
    assert reader.poll(*window[:2], *window[3:], post("years old", -900)) == []


def test_22_what_left_the_feed_long_ago_comes_back_unread_never() -> None:
    reader = primed(*THREE)
    for number in range(200):
        reader.poll(post(f"later {number}", 4 + number))
    assert reader.poll(*THREE) == []


def test_23_a_new_etag_is_kept_though_nothing_else_changed() -> None:
    state = FeedState(no=1, feed=Feed(id=FeedId("x"), url="https://e.org/x"), next_poll_at=START)
    answer = NotModified(
        url="https://e.org/x", validators=Validators(etag='"2"', last_modified="same", url="https://e.org/x")
    )
    assert plan_unchanged(state, answer, now=START, roll=0.0).change.validators == answer.validators


def test_24_guids_that_turn_from_http_to_https_announce_nothing() -> None:
    old = [replace(item, guid=f"http://example.org/{item.title}") for item in EIGHT]
    reader = primed(*old)
    assert reader.poll(*EIGHT) == []
    assert reader.poll(*old) == []


def test_25_guids_that_change_at_every_poll_announce_nothing() -> None:
    reader = primed(*(replace(item, guid=f"1-{item.title}") for item in EIGHT))
    assert reader.poll(*(replace(item, guid=f"2-{item.title}") for item in EIGHT)) == []


def test_26_entries_that_share_a_guid_or_a_link_do_not_flip_to_new() -> None:
    same_guid = [replace(post(name, day), guid="N/A") for day, name in ((2, "y"), (1, "x"))]
    reader = primed(*same_guid)
    newer = replace(post("z", 3), guid="N/A")
    assert [reader.poll(newer, *same_guid) for _ in range(3)] == [["z"], [], []]
    same_link = [replace(post(name, day), link="https://example.org/status") for day, name in ((2, "y"), (1, "x"))]
    reader = primed(*same_link)
    newer = replace(post("z", 3), link="https://example.org/status")
    assert [reader.poll(newer, *same_link) for _ in range(3)] == [["z"], [], []]


def test_27_a_guid_of_zero_is_one_and_case_matters() -> None:
    reader = primed(post("old", 1))
    odd = [replace(post(name, 2), guid=guid, link=None) for name, guid in (("zero", "0"), ("A", "Ab"), ("a", "aB"))]
    assert sorted(reader.poll(*odd, post("old", 1))) == ["A", "a", "zero"]


def test_28_a_very_long_feed_marks_nothing_unread() -> None:
    long = [post(f"post {number}", number / 100) for number in range(1200, 0, -1)]
    reader = primed(*long)
    assert reader.poll(post("new", 30), *long) == ["new"]


def test_29_the_first_poll_names_entries_as_every_other_does() -> None:
    for item in (post("x", 1), replace(post("x", 1), guid=None), replace(post("x"), guid=None, link=None)):
        assert identify(item) == identify(item, links_shared=False, guids_shared=False)
        reader = primed(item)
        assert reader.poll(item) == []


def test_30_a_redirect_to_a_maintenance_page_moves_no_feed() -> None:
    state = FeedState(no=1, feed=Feed(id=FeedId("x"), url="https://e.org/x"), next_poll_at=START)
    answer = NotModified(
        url="https://host.example/maintenance",
        validators=Validators(),
        hops=((301, "https://host.example/maintenance"),),
    )
    memory = FeedMemory()
    for day in range(9):
        memory, _ = follow_redirects(state, answer, memory, is_same_feed=False, now=START + timedelta(days=day))
    assert polled_url(replace(state, memory=memory)) == "https://e.org/x"


@pytest.mark.parametrize(
    "body", [b"", b"<html><body>Log in to the network</body></html>", b"<!doctype html><title>x</title>"]
)
def test_31_a_captive_portal_is_no_feed(body: bytes) -> None:
    with pytest.raises(NotAFeed):
        parse(body, url="https://e.org/x", content_type="application/rss+xml")


@pytest.mark.parametrize("body", [b"/etc/passwd", b"/dev/zero", b"http://127.0.0.1:1/x", b"<!h<!h<"])
def test_32_a_body_is_never_opened_fetched_or_waited_for(body: bytes) -> None:
    with pytest.raises(NotAFeed):
        parse(body, url="https://e.org/x", content_type="text/xml")


def test_32_a_broken_marked_section_is_a_cut_off_document() -> None:
    found = parse(b"<rss><channel><![CDATA[<!h<", url="https://e.org/x", content_type="text/xml")
    assert found.truncated
    assert found.items == ()


def test_39_the_same_body_keeps_the_validators_it_came_with() -> None:
    state = FeedState(
        no=1,
        feed=Feed(id=FeedId("x"), url="https://e.org/x"),
        next_poll_at=START,
        validators=Validators(etag='"1"', url="https://e.org/x"),
    )
    answer = NotModified(url="https://e.org/x", validators=Validators(etag='"9"', url="https://e.org/x"))
    assert plan_unchanged(state, answer, now=START, roll=0.0).change.validators == answer.validators


def test_40_two_new_duplicates_do_not_take_turns_in_being_new() -> None:
    reader = primed(post("old", 1))
    twins = [replace(post("same", 2), link=f"https://example.org/{number}", guid="same") for number in (1, 2)]
    first = reader.poll(*twins, post("old", 1))
    assert first
    assert [reader.poll(*pair, post("old", 1)) for pair in (twins, twins[::-1], twins)] == [[], [], []]
