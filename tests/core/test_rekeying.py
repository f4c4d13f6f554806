"""Feeds that give all of their entries other names at once (N11)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from bot.core.identity import identify_document, key_of, with_moments
from bot.core.model.entry import Key, Known, KnownEntry, ParsedEntry
from bot.core.novelty import find_news, is_made_anew
from tests.core.polling import START, Reader, post

NO_KEY = Key(b"")


def entries(*days: int, names: str = "old", has_time: bool = True) -> list[ParsedEntry]:
    """One entry a day, newest first; `names` change its guid and link, never its words."""
    return [
        post(
            f"day {day}",
            day,
            guid=f"{names} {day}",
            link=f"https://{names}.example/{day}",
            has_time=has_time,
            bytes_hash=f"{names} {day}".encode(),
        )
        for day in sorted(days, reverse=True)
    ]


def told(*documents: list[ParsedEntry]) -> list[str]:
    """What is told of these documents after the first."""
    reader = Reader()
    for document in documents:
        reader.poll(*document)
    return reader.told


def test_a_small_feed_that_moves_with_all_its_names_is_known_by_its_words_and_dates() -> None:
    assert told(entries(3, 2, 1), entries(4, 3, 2, names="new"), entries(5, 4, 3)) == ["day 4", "day 5"]
    days = entries(3, 2, 1, has_time=False), entries(4, 3, 2, names="new", has_time=False)
    assert told(*days) == ["day 4"]
    assert told(entries(3), entries(3, names="new")) == []


def test_a_single_entry_of_a_day_may_be_another_with_equal_words() -> None:
    assert told(entries(3, has_time=False), entries(3, names="new", has_time=False)) == ["day 3"]


def test_what_was_not_listed_last_is_told_though_it_was_known() -> None:
    """A page of one state with one date: "down", "up", and "down" again."""
    down, up, again = (
        post(w, 1, guid=g, link=None, bytes_hash=g.encode()) for w, g in (("d", "1"), ("u", "2"), ("d", "3"))
    )
    assert told([down], [up], [again]) == ["u", "d"]


# --- a feed that moves to other software ------------------------------------------------------------------------------


def moved_to(*items: ParsedEntry, before: Sequence[ParsedEntry]) -> list[str]:
    """What is told of a document by a feed that knew the entries `before`, asked for them as a poll does."""
    stored = [
        KnownEntry(
            id=number,
            key=key_of(entry) or NO_KEY,
            published=entry.published,
            first_seen_at=START,
            content_hash="",
            edits=0,
        )
        for number, entry in enumerate(before)
    ]
    names = [identity for identity in identify_document(before).identities if identity is not None]
    by_hash = {name: number for number, identity in enumerate(names) for name in identity.hashes}
    known = Known(by_hash=by_hash, entries=dict(enumerate(stored)), total=len(stored))
    identities = identify_document(items).identities
    if is_made_anew(identities, known):
        known = with_moments(known, zip([entry.title for entry in before], stored, strict=True))
    news = find_news(items, identities, known, links_shared=False, primed_at=START, oldest_first=False)
    return [fresh.parsed.title for fresh in news.new]


def rewritten(*days: float, names: str = "new", **parts: object) -> list[ParsedEntry]:
    """Entries of these days under other names, and with other words than entries() has."""
    texts = {day: f"{names}: all of day {day}" for day in days}
    return [
        post(
            f"day {day}",
            day,
            **{"guid": f"{names} {day}", "link": f"https://{names}.example/{day}", "text": texts[day]} | parts,
        )
        for day in days
    ]


def test_a_feed_that_moves_to_other_software_is_known_by_titles_and_instants() -> None:
    assert moved_to(*rewritten(6, 5, 4, 3, 2, 1), before=rewritten(5, 4, 3, 2, 1, names="old")) == ["day 6"]


def test_a_feed_that_moves_is_known_also_where_only_some_of_its_words_are_others() -> None:
    before = rewritten(5, 4, 3, 2, 1, names="old")
    same = [replace(entry, guid=entry.title, link=None) for entry in before[2:]]
    assert moved_to(*rewritten(6, 5, 4), *same, before=before) == ["day 6"]


def test_two_parts_of_one_midnight_are_each_known_by_their_titles() -> None:
    days, midnight = (5, 4, 3, 2), START + timedelta(days=2)
    old, new = (
        rewritten(*days, names=names) + rewritten(1, names=names, published=midnight) for names in ("old", "new")
    )
    assert moved_to(*new, before=old) == []


def test_of_a_few_new_names_titles_and_instants_prove_nothing() -> None:
    before = rewritten(5, 4, 3, 2, 1, names="old")
    assert moved_to(*rewritten(5, 4), *before[2:], before=before) == ["day 4", "day 5"]
    assert len(moved_to(*rewritten(4, 3, 2, 1), before=before[1:])) == 4


def test_equal_titles_are_one_entry_only_at_an_instant_that_is_theirs_alone() -> None:
    before = rewritten(5, 4, 3, 2, 1, names="old")
    assert len(moved_to(*rewritten(5, 4, 3, 2, 1, has_time=False), before=before)) == 5
    assert len(moved_to(*rewritten(5, 4, 3, 2, 1, title="down"), before=before)) == 5
    assert len(moved_to(*rewritten(5.1, 4.1, 3.1, 2.1, 1.1, title="day 5"), before=before)) == 5
    twice = [*before, *rewritten(5, names="older")]
    assert moved_to(*rewritten(5, 4, 3, 2, 1), before=twice) == ["day 5"]
    at_once = rewritten(5, 4, 3, 2, 1, published=START)
    assert len(moved_to(*at_once, before=rewritten(5, 4, 3, 2, 1, names="old", published=START))) == 5
    assert moved_to(*rewritten(6, 5, 4, 3, 2), before[0], before=before) == ["day 5", "day 6"]  # its own name is listed
