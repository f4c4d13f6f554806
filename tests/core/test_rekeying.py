"""Feeds of few entries that give all of them other names at once."""

from bot.core.model.entry import ParsedEntry
from tests.core.polling import Reader, post


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
