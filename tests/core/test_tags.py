"""Tags: spellings that meet, sections that are no tags, and the nearest known ones."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.core.tags import Sections, decide_section, entry_tags, fold, fold_all, nearest, split_section, unique_tags

SEED = [
    ("AI Networking", tag) for tag in ("evpn", "evpn", "bgp", "bgp", "infiniband", "infiniband", "infiniband", "roce")
]
SEED_TITLE = "AI Networking · Darren Qu"


@pytest.mark.parametrize(
    "spelling",
    [
        "open-source",
        "Open-Source",
        "OPEN-SOURCE",
        "  open-source  ",
        '"open-source"',
        "“open-source”",
        "„open-source“",
        "'open-source'",
        "‘open-source’",
        "*open-source*",
        "_open-source_",
        "`open-source`",
        "#open-source",
        "#Open_Source",
        "open source",
        "open \t source",
        "open‑source",
        "open–source",
        "open-source\u00a0",
        "open\u200b-source",
        "＃ｏｐｅｎ－ｓｏｕｒｃｅ",
        '"#open-source"',
        "#*open-source*",
    ],
)
def test_spellings_of_one_tag_meet(spelling: str) -> None:
    assert fold(spelling) == fold("open-source") == "open-source"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("c", "c++"),
        ("c", "c#"),
        ("c++", "c#"),
        ("net", ".net"),
        ("opensource", "open-source"),
        ("café", "cafe"),
        ("r&d", "rd"),
        ("bgp", "bgp4"),
        ("ai/ml", "ai-ml"),
    ],
)
def test_different_tags_stay_apart(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("STRASSE", "straße"), ("Ｃ＋＋", "c++"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("cafe\u0301", "CAFÉ"), ("♥\ufe0f", "♥")],
)
def test_folding_is_unicodes_own(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("tag", "folded"),
    [("", ""), (" \u200b ", ""), ("#", "#"), ("---", "---"), ("_", "_"), ("**", "**"), ("人工智能", "人工智能")],
)
def test_a_tag_of_marks_alone_is_still_a_tag(tag: str, folded: str) -> None:
    assert fold(tag) == folded


@given(st.text(max_size=40))
def test_folding_twice_changes_nothing(tag: str) -> None:
    assert fold(fold(tag)) == fold(tag)


@given(st.text(alphabet="aB#-_ *\"'`“”‘’", max_size=12))
@example("* *_")
def test_folding_marks_twice_changes_nothing(tag: str) -> None:
    assert fold(fold(tag)) == fold(tag)


@given(st.text(max_size=20))
def test_case_and_a_hash_never_matter(tag: str) -> None:
    if fold(tag) not in {"", "#"} and any(char.isalnum() for char in fold(tag)):
        assert fold("#" + tag.strip()) in {fold(tag), fold("#" + fold(tag))}
        assert fold(tag.casefold()) == fold(tag)


def test_seed_feed_has_its_section_found() -> None:
    found = decide_section(SEED, title=SEED_TITLE)
    assert found == Sections(names=("AI Networking",), remember=("AI Networking",))
    assert [entry_tags(item, found.names) for item in SEED][:3] == [("evpn",), ("evpn",), ("bgp",)]


DECISIONS = {
    "configured wins, and nothing is remembered": (SEED, SEED_TITLE, "evpn", ("bgp",), ("evpn",), None),
    "remembered is never re-derived": (SEED, SEED_TITLE, None, ("bgp",), ("bgp",), ("bgp",)),
    "remembered none is an answer too": (SEED, SEED_TITLE, None, (), (), ()),
    "on all items, the title says nothing": (SEED, "Blog", None, None, ("AI Networking",), ("AI Networking",)),
    "one item is enough for the title": (SEED[:1], SEED_TITLE, None, None, ("AI Networking",), None),
    "two items are no habit": (SEED[1:3], "Blog", None, None, (), None),
    "a feed with one tag so far keeps it": ([("bgp",)] * 5, "Blog", None, None, (), None),
    "two terms on all items: the title tells": (
        SEED[4:7],
        SEED_TITLE,
        None,
        None,
        ("AI Networking",),
        ("AI Networking",),
    ),
    "two terms on all items, no title: open": (SEED[4:7], "Blog", None, None, (), None),
    "few items would keep a tag: open": ([("news",), ("news",), ("news", "x")], "Blog", None, None, (), None),
    "most items keep a tag": ([("N", "a"), ("n", "b"), ("n",)], "Blog", None, None, ("N",), ("N",)),
    "two sections": ([("Blog", "Tech", t) for t in "abc"], "Mine", None, None, ("Blog", "Tech"), ("Blog", "Tech")),
    "title and habit together": (
        [("Blog", "Tech", t) for t in "abc"],
        "Blog",
        None,
        None,
        ("Blog", "Tech"),
        ("Blog", "Tech"),
    ),
    "no common term: no section, for good": ([("a",), ("b",), ("c",)], "Blog", None, None, (), ()),
    "no categories at all: open": ([(), (), ()], "Blog", None, None, (), None),
    "no items": ([], "Blog", None, None, (), None),
    "section of the title on some items": ([("Blog", "a"), ("b",), ("c",)], "Blog", None, None, ("Blog",), ("Blog",)),
}


@pytest.mark.parametrize(
    ("items", "title", "configured", "remembered", "names", "remember"), DECISIONS.values(), ids=DECISIONS.keys()
)
def test_section_is_decided(
    items: list[tuple[str, ...]],
    title: str,
    configured: str | None,
    remembered: tuple[str, ...] | None,
    names: tuple[str, ...],
    remember: tuple[str, ...] | None,
) -> None:
    found = decide_section(items, title=title, configured=configured, remembered=remembered)
    assert found == Sections(names=names, remember=remember)


@pytest.mark.parametrize(
    "title",
    [
        "AI Networking",
        "AI Networking · Darren Qu",
        "ai-networking | Darren Qu",
        "AI Networking on Darren Qu",
        "AI Networking – Darren – Qu",
        "AI Networking: Darren Qu",
        "AI Networking » Darren Qu",
    ],
)
def test_title_head_names_the_section(title: str) -> None:
    assert decide_section([("AI Networking", "evpn")], title=title).names == ("AI Networking",)


def test_tags_keep_feed_order_and_spelling_each_once() -> None:
    categories = ("Zebra", "AI Networking", "BGP", "bgp", "", "#zebra", "evpn")
    assert split_section(categories, ("ai-networking",)) == (("AI Networking",), ("Zebra", "BGP", "evpn"))
    assert entry_tags(categories, ("ai-networking",), ("Evpn", "net")) == ("Zebra", "BGP", "evpn", "net")


def test_a_fixed_tag_may_name_the_section() -> None:
    assert entry_tags(("News", "x"), ("News",), ("News",)) == ("x", "News")


def test_an_entry_may_have_no_tag() -> None:
    assert entry_tags(("News",), ("News",)) == ()
    assert fold_all(("BGP", " ")) == frozenset({"bgp"})


@given(st.lists(st.text(max_size=6)), st.lists(st.text(max_size=6), max_size=3))
def test_no_category_is_lost_or_doubled(categories: list[str], sections: list[str]) -> None:
    section, tags = split_section(categories, sections)
    assert sorted((*section, *tags)) == sorted(unique_tags(categories))


KNOWN = ("bgp", "evpn", "infiniband", "roce", "AI Networking", "open-source", "Café")


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("opensauce", ("open-source",)),
        ("open-source; drop table feeds", ("open-source",)),
        ("opensource", ("open-source",)),
        ("Open Sources", ("open-source",)),
        ("infinband", ("infiniband",)),
        ("ai", ("AI Networking",)),
        ("cafe", ("Café",)),
        ("bgps", ("bgp",)),
        ("envpn", ("evpn",)),
        ("ospf", ()),
        ("x", ()),
        ("", ()),
        ("bgp", ("bgp",)),
        ("z" * 10_000, ()),
    ],
)
def test_nearest_known_tags(typed: str, near: tuple[str, ...]) -> None:
    assert nearest(typed, KNOWN) == near


def test_nearest_gives_three_at_most_likeliest_first() -> None:
    assert nearest("tag", ("tagging", "tags", "tagger", "tage", "other")) == ("tage", "tags", "tagger")


def test_a_category_that_was_escaped_twice_is_shown_as_it_was_meant() -> None:
    assert unique_tags(["R&amp;D", "R&D", "C&#43;&#43;"]) == ("R&D", "C++")
