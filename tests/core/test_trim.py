"""Items known by their bytes are not parsed again, and that changes nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.model.entry import Key, Listed, ParsedEntry, ParsedFeed
from bot.core.parse.cut import outline, without
from tests.core.documents import FEEDS, atom, entries, read, rss

FILES = sorted(
    path
    for folder in ("seed/timeline", "model", "hostile/sequences", "hostile/ids", "hostile/text", "hostile/dates")
    for path in (FEEDS / folder).rglob("*.*")
    if path.suffix in (".xml", ".atom", ".rdf") and path.stat().st_size < 300_000
)


def keys_of(feed: ParsedFeed) -> dict[bytes, Key]:
    return {item.bytes_hash: Key(item.bytes_hash) for item in feed.items if item.bytes_hash}


def assert_same(trimmed: ParsedFeed, whole: ParsedFeed) -> None:
    """The trimmed parse says what the whole one says, with known items by their keys."""
    assert replace(trimmed, items=()) == replace(whole, items=())
    assert len(trimmed.items) == len(whole.items)
    for mine, theirs in zip(trimmed.items, whole.items, strict=True):
        assert isinstance(theirs, ParsedEntry)
        assert mine.bytes_hash == theirs.bytes_hash
        assert mine == theirs or mine == Listed(bytes_hash=theirs.bytes_hash, key=Key(theirs.bytes_hash))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_trimmed_feed_reads_like_the_whole_one(path: Path) -> None:
    body = path.read_bytes()
    whole = read(body)
    if not whole.trim_ok:
        return
    known = keys_of(whole)
    for step in (1, 2, 3):
        some = {item: key for position, (item, key) in enumerate(known.items()) if position % step or step == 1}
        assert_same(read(body, listed=some), whole)
        rest = dict(list(known.items())[step:])
        assert_same(read(body, listed=rest), whole)


def test_each_snapshot_of_the_seed_needs_only_its_new_items() -> None:
    known: dict[bytes, Key] = {}
    for path in sorted((FEEDS / "seed" / "timeline").glob("*.xml")):
        whole = read(path.read_bytes())
        trimmed = read(path.read_bytes(), listed=known)
        assert_same(trimmed, whole)
        fresh = [item for item in trimmed.items if isinstance(item, ParsedEntry)]
        assert len(fresh) == len(whole.items) - sum(item.bytes_hash in known for item in whole.items)
        known = keys_of(whole)


SEQUENCES = sorted({path.parent for path in FILES if path.parent.parent.name == "sequences"})


@pytest.mark.parametrize("folder", SEQUENCES, ids=lambda path: path.name)
def test_each_poll_of_a_sequence_reads_the_same_trimmed_and_whole(folder: Path) -> None:
    known: dict[bytes, Key] = {}
    for path in sorted(folder.glob("*.xml")):
        whole = read(path.read_bytes())
        assert_same(read(path.read_bytes(), listed=known), whole)
        known |= keys_of(whole)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=8), st.data())
def test_any_part_of_a_document_may_be_known(items: list[tuple[int, bool]], data: st.DataObject) -> None:
    body = rss(*(f"<guid>number-{n}</guid><title>{'t' * n}</title>" + "<b>" * odd for n, odd in items))
    whole = read(body)
    known = {item: key for item, key in keys_of(whole).items() if data.draw(st.booleans())}
    assert_same(read(body, listed=known), whole)


def test_an_id_or_link_that_a_known_item_has_too_needs_the_whole_document() -> None:
    one = "<guid>https://status.example/1</guid><link>https://status.example/</link>"
    two = "<guid>https://status.example/2</guid><link>https://status.example/</link>"
    known = keys_of(read(rss(one)))
    assert len(entries(read(rss(two, one), listed=known))) == 2
    short = keys_of(read(rss("<guid>7</guid><title>x</title>")))
    assert (
        len(entries(read(rss("<guid>7</guid><title>y</title>", "<guid>7</guid><title>x</title>"), listed=short))) == 2
    )
    assert (
        len(entries(read(rss("<guid>8</guid><title>7</title>", "<guid>7</guid><title>x</title>"), listed=short))) == 1
    )


@pytest.mark.parametrize(
    "body",
    [
        rss("<title><![CDATA[</item><item>]]></title>"),
        rss("<title>a</title>", head="<!-- <item></item> -->"),
        rss("<title>a</title>").removesuffix("</rss>"),
        rss("<title>a</title><x>a<b></x>"),
        rss("<title>a</title><x y=' >z</x>"),
        rss("<title>a</title>", "<title>b</title><item></item>"),
    ],
)
def test_what_cannot_be_cut_safely_is_not_trimmed(body: str) -> None:
    feed = read(body)
    assert not feed.trim_ok
    assert all(not item.bytes_hash for item in feed.items)


def test_a_document_that_broke_since_is_read_whole() -> None:
    known = keys_of(read(rss("<title>a</title>", "<title>b</title>")))
    for new in ("<x>c<b></x>", "<title>c</title><item>x</item>"):
        body = rss(new, "<title>a</title>", "<title>b</title>")
        assert len(entries(read(body, listed=known))) == 3
    cut = rss("<title>a</title>", "<title>b</title>").removesuffix("</channel></rss>")
    assert read(cut, listed=known).truncated
    page = rss("<title>a</title>").replace("<rss", "<other").replace("</rss", "</other").encode()
    shape = outline(page)
    assert shape is not None
    assert without(page, shape, known) != page
    many = rss(*(f"<guid>g{n}</guid>" for n in range(5_001)))
    first = outline(many.encode())
    assert first is not None
    assert read(many, listed={first.hashes[0]: Key(b"k")}).total == 5_001


def test_the_hashes_tell_a_build_date_from_news() -> None:
    head = "<title>F</title><lastBuildDate>{}</lastBuildDate>"
    before, after = (read(rss("<guid>1</guid>", head=head.format(day))) for day in ("Mon", "Tue"))
    assert (before.items_hash, before.head_hash) == (after.items_hash, after.head_hash)
    renamed = read(rss("<guid>1</guid>", head="<title>G</title><lastBuildDate>Mon</lastBuildDate>"))
    assert renamed.head_hash != before.head_hash
    assert read(rss("<guid>2</guid>", head=head.format("Mon"))).items_hash != before.items_hash
    assert read(atom(head="<updated>1</updated>") + "").items_hash is None
    one, two = (read(atom("<id>1</id>", head=f"<updated>{day}</updated>")) for day in (1, 2))
    assert one.head_hash == two.head_hash


def test_unfinished_items_end_the_cut() -> None:
    shape = outline(b"<rss><item>a</item><items/><itemx><item >b")
    assert shape is not None
    assert len(shape.hashes) == 1
