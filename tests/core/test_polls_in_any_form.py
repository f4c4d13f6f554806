"""Whatever a server makes of its feed from poll to poll, each entry is news exactly once, oldest first."""

from hypothesis import given
from hypothesis import strategies as st

from tests.core.polling import Reader, post

POSTS = [post(f"post {number:02d}", number / 10) for number in range(30)]
UNDATED = [post(f"post {number:02d}") for number in range(30)]


@st.composite
def growths(draw: st.DrawFn) -> list[int]:
    """How many posts there are at each poll: steps from none to ten, and one document again and again."""
    steps = draw(st.lists(st.integers(0, 10), min_size=3, max_size=12))
    return [min(30, 3 + sum(steps[:place])) for place in range(1, len(steps) + 1)]


@given(counts=growths(), window=st.integers(11, 30), dated=st.booleans(), oldest_first=st.booleans())
def test_windows_and_repetitions_tell_each_entry_once_and_in_order(
    counts: list[int], window: int, dated: bool, oldest_first: bool
) -> None:
    posts = POSTS if dated or oldest_first else UNDATED
    reader = Reader()
    for count in [3, *counts]:
        shown = posts[max(0, count - window) : count]
        reader.poll(*(shown if oldest_first else reversed(shown)))
    assert reader.told == [entry.title for entry in posts[3 : counts[-1]]]


@given(counts=growths(), data=st.data())
def test_shuffled_documents_tell_each_entry_once(counts: list[int], data: st.DataObject) -> None:
    reader = Reader()
    for count in [3, *counts]:
        reader.poll(*data.draw(st.permutations(POSTS[:count])))
    assert sorted(reader.told) == [entry.title for entry in POSTS[3 : counts[-1]]]


@given(counts=growths(), broken=st.lists(st.booleans(), min_size=12, max_size=12))
def test_documents_that_are_empty_or_short_in_between_forget_nothing(counts: list[int], broken: list[bool]) -> None:
    reader = Reader()
    reader.poll(*reversed(POSTS[:3]))
    for count, is_broken in zip(counts, broken, strict=False):
        if is_broken:
            reader.poll()
            reader.poll(POSTS[0])
        reader.poll(*reversed(POSTS[:count]))
    assert reader.told == [entry.title for entry in POSTS[3 : counts[-1]]]
