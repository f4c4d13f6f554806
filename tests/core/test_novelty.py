"""Which items are new, and in what order they are told: N5, N6, N11, N20, N22."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.core.model.entry import Identity, Key, Known, KnownEntry, Listed, ParsedEntry
from bot.core.novelty import News, aliases_of, find_news, names_of

PRIMED = datetime(2026, 5, 1, tzinfo=UTC)


def key(name: str) -> Key:
    return Key(hashlib.blake2b(name.encode(), digest_size=16).digest())


def identity(guid: str, *, link: str | None = None, words: str | None = None, alias: str | None = None) -> Identity:
    return Identity(
        key=key(f"guid|{guid}"),
        guid_alias=None if alias is None else key(f"a2|{alias}"),
        link_alias=None if link is None else key(f"a3|{link}"),
        fingerprint=None if words is None else key(f"a4|{words}"),
    )


def item(guid: str, day: int | None = None) -> ParsedEntry:
    published = None if day is None else datetime(2026, 5, 1, tzinfo=UTC) + timedelta(days=day)
    return ParsedEntry(guid=guid, title=guid, published=published)


def known(*names: Identity, days: Sequence[int | None] = ()) -> Known:
    dates = [*days, *[None] * (len(names) - len(days))]
    entries = {
        number: KnownEntry(
            id=number,
            key=name.key,
            published=None if day is None else datetime(2026, 5, 1, tzinfo=UTC) + timedelta(days=day),
            first_seen_at=PRIMED,
            content_hash="",
            edits=0,
        )
        for number, (name, day) in enumerate(zip(names, dates, strict=True), start=1)
    }
    by_hash = {h: number for number, name in enumerate(names, start=1) for h in name.hashes}
    return Known(by_hash=by_hash, entries=entries, total=len(names))


def news(
    items: Sequence[ParsedEntry | Listed],
    names: Sequence[Identity | None],
    store: Known,
    *,
    links_shared: bool = False,
    primed_at: datetime | None = PRIMED,
    oldest_first: bool = False,
    listed: Sequence[Identity] = (),
) -> News:
    return find_news(
        items,
        names,
        store,
        links_shared=links_shared,
        primed_at=primed_at,
        oldest_first=oldest_first,
        listed=frozenset(name.key for name in listed),
    )


def titles(found: News) -> list[str]:
    return [fresh.parsed.title for fresh in found.new]


def test_newest_first_documents_are_told_from_their_end() -> None:
    found = news([item("c", 3), item("b", 2), item("a", 1)], [identity(n) for n in "cba"], known())
    assert titles(found) == ["a", "b", "c"]


def test_a_tie_of_dates_is_broken_against_document_order() -> None:
    found = news([item("part 2", 3), item("part 1", 3), item("a", 1)], [identity(n) for n in "21a"], known())
    assert titles(found) == ["a", "part 1", "part 2"]


def test_documents_that_list_their_oldest_entry_first_are_told_from_their_beginning() -> None:
    found = news([item("a", 1), item("b", 2), item("c", 3)], [identity(n) for n in "abc"], known())
    assert titles(found) == ["a", "b", "c"]
    assert found.oldest_first


def test_one_odd_date_does_not_turn_a_document_round() -> None:
    names = [identity(n) for n in "dcba"]
    found = news([item("d", 4), item("c", 3), item("b", 9), item("a", 1)], names, known())
    assert titles(found) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("oldest_first", [False, True])
def test_some_wrong_dates_turn_no_document_around_whose_news_stands_where_it_always_did(oldest_first: bool) -> None:
    """A burst of posts of one day, some of which say that they are a year old: more dates rise than fall."""
    days = {"e": -400, "d": 9, "c": -400, "b": 9, "a": -400, "z": 8}
    items = [item(name, day) for name, day in days.items()]
    names = [identity(name) for name in days]
    turned = -1 if oldest_first else 1
    found = news(
        items[::turned],
        names[::turned],
        known(names[-1], days=[8]),
        oldest_first=oldest_first,
        listed=[*map(identity, "zyx")],
    )
    assert titles(found) == ["a", "b", "c", "d", "e"]
    assert (found.oldest_first, found.slid_in) == (oldest_first, ())


def test_without_dates_the_remembered_direction_holds() -> None:
    names = [identity(n) for n in "ab"]
    assert titles(news([item("a"), item("b")], names, known())) == ["b", "a"]
    assert titles(news([item("a"), item("b")], names, known(), oldest_first=True)) == ["a", "b"]


def test_an_entry_is_known_by_its_key_and_by_its_guid_without_scheme() -> None:
    store = known(identity("http://x/a", alias="x/a"))
    same = news([item("https://x/a")], [identity("https://x/a", alias="x/a")], store)
    assert same.new == ()
    assert len(same.renamed) == 1
    assert aliases_of(same.items, store) == {key("guid|https://x/a"): 1}


def test_a_new_guid_on_a_known_link_is_the_same_entry_only_where_links_are_unique() -> None:
    store = known(identity("1", link="x/a"))
    assert news([item("2")], [identity("2", link="x/a")], store).new == ()
    assert titles(news([item("2")], [identity("2", link="x/a")], store, links_shared=True)) == ["2"]


def test_an_alias_proves_nothing_while_its_entry_is_in_the_document_under_its_own_name() -> None:
    old = identity("1", link="x/a")
    found = news([item("2", 2), item("1", 1)], [identity("2", link="x/a"), old], known(old))
    assert titles(found) == ["2"]


def test_an_id_that_starts_to_be_shared_is_the_entry_with_its_words_and_the_other_is_new() -> None:
    store = known(identity("x", words="old"))
    alias = key("guid|x")
    names = [
        Identity(key=key("x|new"), guid_alias=alias, fingerprint=key("a4|new")),
        Identity(key=key("x|old"), guid_alias=alias, fingerprint=key("a4|old")),
    ]
    assert titles(news([item("new", 2), item("old", 1)], names, store)) == ["new"]
    unclear = [replace(name, fingerprint=None) for name in names]
    assert titles(news([item("new", 2), item("old", 1)], unclear, store)) == []


def test_words_prove_identity_only_when_half_of_a_document_seems_new() -> None:
    old = [identity(f"old{n}", words=f"w{n}") for n in range(6)]
    renamed = [identity(f"new{n}", words=f"w{n}") for n in range(6)]
    all_new = news([item(f"new{n}") for n in range(6)], renamed, known(*old))
    assert all_new.new == ()
    assert all_new.rekeyed
    one_new = news([item("new0"), *(item(f"old{n}") for n in range(1, 6))], [renamed[0], *old[1:]], known(*old))
    assert titles(one_new) == ["new0"]


def test_an_unknown_entry_amid_renamed_ones_is_still_told() -> None:
    old = [identity(f"old{n}", words=f"w{n}") for n in range(6)]
    names = [identity("fresh", words="w9"), *(identity(f"new{n}", words=f"w{n}") for n in range(6))]
    found = news([item("fresh"), *(item(f"new{n}") for n in range(6))], names, known(*old))
    assert titles(found) == ["fresh"]


OLD = (identity("gone", words="w1"), identity("c"), identity("b"))


def _comes_back(back: ParsedEntry, *, words: str = "w1", place: int = 2, days: Sequence[int] = (7, 9, 8)) -> News:
    """Into a document of two known entries comes something that has all names new; the former entry is not listed."""
    names, items = [*OLD[1:]], [item("c", days[1]), item("b", days[2])]
    names.insert(place, identity("renamed", words=words))
    items.insert(place, back)
    return news(items, names, known(*OLD, days=days), listed=[*OLD[1:], identity("deleted")])


def test_an_entry_that_comes_back_with_all_its_names_new_is_known_by_its_words_and_its_instant() -> None:
    found = _comes_back(item("renamed", 7))
    assert (titles(found), found.slid_in) == ([], ())
    assert aliases_of(found.items, known(*OLD)) == {key("guid|renamed"): 1}
    assert titles(_comes_back(item("renamed", 7), place=1)) == []  # in a document without order
    assert titles(_comes_back(item("renamed", 7), days=(7, 9, -300))) == []  # behind one that was dated back
    first = _comes_back(item("renamed", 7), place=0, days=(7, 8, 9))
    assert (titles(first), first.oldest_first) == ([], True)


def test_an_entry_with_the_words_of_a_former_one_is_told_unless_all_else_is_the_same() -> None:
    assert titles(_comes_back(item("renamed", 7), days=(6, 9, 8))) == ["renamed"]  # another instant
    assert titles(_comes_back(item("renamed", 7), words="w2")) == ["renamed"]  # other words
    assert titles(_comes_back(item("renamed", 10), place=0, days=(10, 9, 8))) == ["renamed"]  # at the new end
    assert titles(_comes_back(replace(item("renamed", 7), has_time=False))) == ["renamed"]  # a day is no instant
    assert titles(_comes_back(item("renamed"))) == ["renamed"]


def _moves(renamed: ParsedEntry, *, words: str = "c", beside: Sequence[str] = (), gone_at: int = 9) -> list[str]:
    """Of a feed that listed c, b and a, c is missing; at the head comes something that has all names new."""
    store = [identity(name, words=name) for name in ("c", "b", "a")]
    others = [identity(f"more {name}", words=name) for name in beside]
    found = news(
        [renamed, *(item(f"more {name}", 9) for name in beside), item("b", 8), item("a", 7)],
        [identity("renamed", words=words), *others, *store[1:]],
        known(*store, days=[gone_at, 8, 7]),
        listed=store,
    )
    return titles(found)


def test_an_entry_whose_address_was_corrected_is_not_told_again() -> None:
    assert _moves(item("renamed", 9)) == []
    assert _moves(replace(item("renamed", 9), has_time=False)) == []


def test_where_an_entry_may_be_another_with_equal_words_it_is_told() -> None:
    assert _moves(item("renamed", 10)) == ["renamed"]  # at another time
    assert _moves(item("renamed", 9), words="others") == ["renamed"]
    assert _moves(item("renamed", 7), gone_at=7) == ["renamed"]  # the former one may have fallen off the end
    assert _moves(item("renamed", 9), beside=["c"]) == ["more c", "renamed"]  # which of them is it?


@pytest.mark.parametrize(("new_at", "remembered"), [(0, False), (1, False), (1, True), (0, True)])
def test_where_all_dates_are_one_equal_words_prove_nothing(new_at: int, remembered: bool) -> None:
    """A page of states without dates of their own: "down", "up" and "down" again, of which it lists two."""
    store = known(identity("1", words="down"), identity("2", words="up"), days=[7, 7])
    names, items = [identity("2", words="up")], [item("2", 7)]
    names.insert(new_at, identity("3", words="down"))
    items.insert(new_at, item("3", 7))
    assert titles(news(items, names, store, listed=OLD[:1], oldest_first=remembered)) == ["3"]


def test_words_and_instant_are_no_proof_while_their_entry_is_listed() -> None:
    names = [identity("b", words="w1"), identity("other", words="w1")]
    found = news([item("b", 7), item("other", 7)], names, known(names[0], days=[7]), listed=names[:1])
    assert titles(found) == ["other"]


def test_an_old_entry_that_slides_in_at_the_end_is_stored_in_silence() -> None:
    store = known(identity("c"), identity("b"), days=[5, 4])
    found = news([item("c", 5), item("b", 4), item("old", -40)], [identity(n) for n in ("c", "b", "old")], store)
    assert titles(found) == []
    assert [fresh.parsed.title for fresh in found.slid_in] == ["old"]


def test_the_same_at_the_beginning_of_a_document_that_lists_its_oldest_first() -> None:
    store = known(identity("b"), identity("c"), days=[4, 5])
    found = news([item("old", -40), item("b", 4), item("c", 5)], [identity(n) for n in ("old", "b", "c")], store)
    assert titles(found) == []
    assert len(found.slid_in) == 1


def test_what_a_deletion_made_room_for_is_silent_however_young() -> None:
    names = [identity(n) for n in ("c", "b", "a")]
    found = news(
        [item("c", 5), item("a", 3), item("young", -1)],
        [names[0], names[2], identity("young")],
        known(*names, days=[5, 4, 3]),
        listed=names,
    )
    assert titles(found) == []


def test_one_old_entry_at_the_end_where_nothing_left_is_told() -> None:
    names = [identity(n) for n in ("c", "b")]
    items = [item("c", 5), item("b", 4), item("old", -40)]
    found = news(items, [*names, identity("old")], known(*names, days=[5, 4]), listed=names)
    assert titles(found) == ["old"]


def test_several_old_entries_at_the_end_are_a_longer_window() -> None:
    names = [identity(n) for n in ("c", "b")]
    items = [item("c", 5), item("b", 4), item("old", -40), item("older", -41)]
    found = news(items, [*names, identity("old"), identity("older")], known(*names, days=[5, 4]), listed=names)
    assert titles(found) == []


def test_many_old_entries_at_the_end_are_a_longer_window_however_young() -> None:
    names = [identity(n) for n in ("c", "b")]
    for count, told in ((3, ["young 2", "young 1", "young 0"]), (4, [])):
        young = [f"young {number}" for number in range(count)]
        items = [item("c", 5), item("b", 4), *(item(name, -1 - number) for number, name in enumerate(young))]
        found = news(items, [*names, *map(identity, young)], known(*names, days=[5, 4]), listed=names)
        assert titles(found) == told


def test_an_atom_feed_with_nothing_but_updates_is_told_in_their_order() -> None:
    items = [replace(item(n), updated=PRIMED + timedelta(days=day)) for day, n in enumerate(("a", "b", "c"))]
    found = news(items, [identity(n) for n in ("a", "b", "c")], known(identity("z")))
    assert titles(found) == ["a", "b", "c"]


def test_a_back_dated_entry_at_the_head_is_told() -> None:
    store = known(identity("c"), identity("b"), days=[5, 4])
    found = news([item("late", -40), item("c", 5), item("b", 4)], [identity(n) for n in ("late", "c", "b")], store)
    assert titles(found) == ["late"]


def test_an_old_date_among_newer_ones_is_told() -> None:
    store = known(identity("c"), identity("b"), days=[5, -50])
    found = news([item("c", 5), item("b", -50), item("x", -40)], [identity(n) for n in ("c", "b", "x")], store)
    assert titles(found) == ["x"]


def test_where_nothing_of_a_document_is_known_nothing_slides_in() -> None:
    found = news([item("x", -40)], [identity("x")], known(identity("a")))
    assert titles(found) == ["x"]


def test_an_item_named_twice_in_one_document_is_one_entry() -> None:
    found = news([item("a", 2), item("a", 2), item("b", 1)], [identity("a"), identity("a"), identity("b")], known())
    assert titles(found) == ["b", "a"]


def test_an_item_without_any_name_is_passed_over() -> None:
    assert titles(news([item("a"), ParsedEntry()], [identity("a"), None], known())) == ["a"]


def test_items_known_by_their_bytes_stand_for_their_entries() -> None:
    store = known(identity("b"), identity("a"), days=[2, 1])
    listed = Listed(bytes_hash=b"x" * 16, key=key("guid|b"))
    lost = Listed(bytes_hash=b"y" * 16, key=key("guid|forgotten"))
    names = [identity("c"), Identity(key=listed.key), Identity(key=lost.key)]
    found = news([item("c", 3), listed, lost], names, store)
    assert titles(found) == ["c"]
    assert aliases_of(found.items, store) == {}


def test_the_look_up_asks_for_each_name_once() -> None:
    names = names_of([identity("a", link="x", words="w", alias="y"), None, identity("b", link="x")])
    assert len(names) == len(set(names)) == 5


def test_one_document_in_disorder_does_not_become_the_habit_of_a_feed() -> None:
    mixed = [item(str(day), day) for day in (3, 1, 2, 5, 4, 6, 7)]
    found = news(mixed, [identity(entry.title) for entry in mixed], known())
    assert found.oldest_first
    assert not found.habit
    risen = [item(str(day), day) for day in range(1, 6)]
    assert news(risen, [identity(entry.title) for entry in risen], known()).habit
