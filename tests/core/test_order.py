"""In what order the news of a document without any order is told (N22)."""

import pytest

from bot.core.model.entry import ParsedEntry
from tests.core.polling import Reader, post

# Sorted by title, or by fame: news stands amid what is known.
LISTED = [post("a", 4), post("newer", 9), post("b", 6), post("newest", 9), post("c", 2), post("new", 7), post("d", 5)]


def told(*items: ParsedEntry, habit: bool = False) -> list[str]:
    """What a feed that lists its oldest entry last, or first as its habit, tells of these; it knew every other one."""
    reader = Reader()
    reader.poll(*[post("x", 3), post("y", 2), post("z", 1)][:: -1 if habit else 1])
    reader.poll(*items[::2])
    before = len(reader.told)
    reader.poll(*items)
    return reader.told[before:]


@pytest.mark.parametrize(("habit", "tie"), [(False, ["newest", "newer"]), (True, ["newer", "newest"])])
def test_news_amid_what_is_known_is_told_by_its_dates(habit: bool, tie: list[str]) -> None:
    assert told(*LISTED, habit=habit) == ["new", *tie]


def test_news_without_a_date_is_told_by_its_place() -> None:
    items = [post("newest") if item.title == "newest" else item for item in LISTED]
    assert told(*items) == ["new", "newest", "newer"]
