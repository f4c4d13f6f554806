"""Feed text made safe and short."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.model.message import Block, Bullets, Mention, Paragraph, Preformatted, Quote, Span, Text
from bot.core.text.blocks import MAX_BLOCKS, cut_blocks, html_to_blocks
from bot.core.text.characters import clean, one_line
from bot.core.text.graphemes import cut, graphemes
from bot.core.text.links import display_host, http_url, misleads
from bot.core.text.markup import MAX_HTML, plain_text, title_text
from tests.core.documents import entries, read_hostile

BASE = "https://blog.example/posts/1"


def blocks(html: str) -> tuple[Block, ...]:
    return html_to_blocks(html, base_url=BASE)


def words(block: Block) -> str:
    spans = block.spans if isinstance(block, Paragraph | Quote) else ()
    return "".join(span.text for span in spans if isinstance(span, Text))


# --- characters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\x00b\x1f\x7f\x9fc", "abc"),
        ("\u202eevil\u202c txt.exe", "evil txt.exe"),
        ("safe\u2066\u202eneddih\u2069", "safeneddih"),
        ("ab\u200bcd\u2060\ufeff", "abcd"),
        ("a\r\nb\rc\u2028d\u2029e\x85f", "a\nb\nc\nd\ne\nf"),
        ("\ud800x\udfff", "x"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("അവന\u0d4d\u200d വന്നു", "അവന\u0d4d\u200d വന്നു"),
        ("അവന\u0d4d\u200d\u200d\u200c", "അവന\u0d4d\u200d"),
        ("a\u200cb\u200dc", "abc"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
        ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"),
        ("👩🏽\u200d⚕\ufe0f", "👩🏽\u200d⚕\ufe0f"),
        ("\u200dx\u200d", "x"),
        ("a\u200d\U0001f600", "a\U0001f600"),
        ("\ufe0fx \ufe0f", "x "),
        ("🏴\U000e0067\U000e0062\U000e007f", "🏴\U000e0067\U000e0062\U000e007f"),
        ("tag \U000e0041\U000e007f", "tag "),
        ("x" + "\u0301" * 100, "x" + "\u0301" * 8),
        ("soft\u00adhyphen", "softhyphen"),
        ("plain\r\ntext", "plain\ntext"),
        ("plain", "plain"),
    ],
)
def test_characters_that_hide_or_reorder_go_and_those_that_scripts_need_stay(text: str, left: str) -> None:
    assert clean(text) == left


def test_titles_are_one_line() -> None:
    assert one_line(" a\n\tb\u00a0\u3000c\u2800 ") == "a b c"
    assert one_line("\u3164\u2800\u200b") == ""


@given(st.text())
def test_cleaning_twice_changes_nothing(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    once.encode("utf-8")


# --- graphemes -------------------------------------------------------------------------------------------------------

CLUSTERS = [
    "a", "é", "e\u0301", "👩\u200d👩\u200d👧", "🇩🇪", "👍🏽", "1\ufe0f\u20e3", "❤\ufe0f", "กำ", "ที่", "क्षि", "각",
    "\u1112\u1161\u11ab", "가\u11a8", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "\r\n",
    "ｶ\uff9e", "நி",
]  # fmt: skip


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_what_reads_as_one_character_stays_whole(cluster: str) -> None:
    assert list(graphemes(cluster)) == [cluster]
    assert list(graphemes(f"x{cluster}x")) == ["x", cluster, "x"]


def test_flags_come_in_pairs() -> None:
    assert list(graphemes("🇩🇪🇫🇷🇬")) == ["🇩🇪", "🇫🇷", "🇬"]
    assert list(graphemes("각가")) == ["각", "가"]
    assert list(graphemes("")) == []
    assert list(graphemes("\n\u0301")) == ["\n", "\u0301"]


@given(st.lists(st.sampled_from([*CLUSTERS[:15], " "]), max_size=12), st.integers(0, 30))
def test_a_cut_ends_on_a_whole_cluster_within_the_budget(parts: list[str], budget: int) -> None:
    text = "".join(parts)
    short = cut(text, budget)
    assert len(short) <= max(budget, 0)
    if short != text and short:
        kept = short.removesuffix("…")
        assert text.startswith(kept)
        assert "".join(list(graphemes(text))[: len(list(graphemes(kept)))]) == kept


def test_a_cut_prefers_the_end_of_a_word() -> None:
    assert cut("one two three", 10) == "one two…"
    assert cut("one two three", 13) == "one two three"
    assert cut("abcdefgh ijk", 6) == "abcde…"
    assert cut("abcde fgh", 6) == "abcde…"
    assert cut("abc", 0) == ""
    assert cut("ab cd", 5, lambda text: 9 if len(text) > 3 else 0) == "ab cd…"
    assert cut("añb", 5, lambda text: len(text.encode())) == "añb"[:3]
    assert cut("aññññ", 6, lambda text: len(text.encode())) == "añ…"
    assert cut("x" + "\u0301" * 200, 100).endswith("…")


def test_every_title_of_the_truncation_set_is_cut_whole() -> None:
    for entry in entries(read_hostile("text/truncation.xml")):
        for budget in (150, 256, 255, 100):
            short = cut(entry.title, budget)
            kept = short.removesuffix("…")
            following = entry.title[len(kept) : len(kept) + 1]
            assert len(short) <= budget
            assert not kept.endswith("\u200d")
            assert not following or not unicodedata.combining(following)


# --- plain text ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one</p><p>two<br>three</p>", "one\ntwo\nthree"),
        ("a &amp; b &amp;amp; c &lt;i&gt;", "a & b &amp; c <i>"),
        ("Chris <chris@example.org> a < b <- c", "Chris <chris@example.org> a < b <- c"),
        ("List<String> and <my-widget>x</my-widget> <Foo>y</Foo>", "List<String> and x y"),
        ("<script>no</script>x<style>no</style><!-- no -->y<!doctype html><?php no ?>", "xy"),
        ("a<script>never closed", "a"),
        ("a<script>x</script", "a"),
        ("<svg>never closed", "never closed"),
        ("<svg/>x", "x"),
        ("<!-- open", "<!-- open"),
        ("<! no>", "<! no>"),
        ("<!here> <!subteam^S1|team> <!DOCTYPE html><![if !IE]>x<![endif]>", "<!here> <!subteam^S1|team> x"),
        ("<td>1</td><td>2</td>", "1 2"),
        ("<a title=Don't>x</a>", "x"),
        ("<i>one</i>\n  two\n\n\nthree", "one two three"),
        ("plain\ntext", "plain\ntext"),
        ("", ""),
    ],
)
def test_html_as_plain_words(html: str, text: str) -> None:
    assert plain_text(html) == text


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("<script>alert(1)</script>", ""),
        ("one<br>two", "one two"),
        ("<div>a</div>", "a"),
        ("Use the <title> element", "Use the <title> element"),
        ("</b>", "</b>"),
        ("AT&T &copy; &notanentity;", "AT&T © &notanentity;"),
    ],
)
def test_titles_nobody_typed_keep_what_is_not_surely_markup(title: str, text: str) -> None:
    assert title_text(title) == text
    assert title_text(title, markup=False) == title


# --- blocks ----------------------------------------------------------------------------------------------------------


def test_paragraphs_lists_quotes_and_code_become_blocks() -> None:
    found = blocks(
        "<p>Hi <b>bold</b> <i>it</i> <s>no</s> <code>x</code></p><ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"
        "<ol><li>1</li></ol><pre>\n  x\n  y\n</pre><blockquote><p>q</p></blockquote><h2>H</h2><ul></ul>"
    )
    assert [type(block) for block in found] == [Paragraph, Bullets, Bullets, Preformatted, Quote, Paragraph]
    assert words(found[0]) == "Hi bold it no x"
    assert isinstance(found[1], Bullets)
    assert [span.text for item in found[1].items for span in item if isinstance(span, Text)] == ["a", "b", "c"]
    assert isinstance(found[2], Bullets)
    assert found[2].ordered
    assert found[3] == Preformatted(text="  x\n  y")
    assert found[5] == Paragraph(spans=(Text(text="H", bold=True),))


def test_only_absolute_http_links_stay() -> None:
    (paragraph,) = blocks(
        '<p><a href="/a">a</a> <a href="javascript:x">b</a> <a>c</a> <a href="https://g@e.org">d</a></p>'
    )
    assert isinstance(paragraph, Paragraph)
    assert [(span.text, span.href) for span in paragraph.spans if isinstance(span, Text)] == [
        ("a", "https://blog.example/a"),
        (" b c d", None),
    ]


def test_tables_give_a_line_for_each_row() -> None:
    found = blocks("<table><tr><th>a</th><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>")
    assert [words(block) for block in found] == ["a · b", "c · d"]


def test_nothing_that_runs_loads_or_hides_is_left() -> None:
    html = '<p>x</p><script>1</script><iframe src="//e"></iframe><img src="//t" width=1><style>y</style><svg>z</svg>'
    assert [words(block) for block in blocks(html)] == ["x"]
    assert blocks("<p> </p><br>") == ()


def test_entities_are_decoded_once() -> None:
    assert (
        words(blocks("<p>&amp;lt;b&amp;gt; &lt;!channel&gt; <user@host></p>")[0]) == "&lt;b&gt; <!channel> <user@host>"
    )


def test_huge_and_broken_html_is_bounded() -> None:
    assert len(blocks("<p>x</p>" * 10_000)) == MAX_BLOCKS
    assert words(blocks("<div>" * 2_000 + "deep" + "</div>" * 2_000 + "<b>x</b>")[0]) == "deep"
    assert words(blocks("<p>x" * 100 + "<b>bold</b>")[-1]) == "xbold"
    assert words(blocks("<b>" * 5_000 + "deep")[0]) == "deep"
    assert len(plain_text("x" * 200_000)) == MAX_HTML


@given(st.text(alphabet="<>/abp= \"'&;lti!-\n", max_size=80))
def test_no_html_makes_a_span_with_markup_of_its_own(html: str) -> None:
    for block in blocks(html):
        for span in block.spans if isinstance(block, Paragraph) else ():
            assert isinstance(span, Text)
            assert span.href is None or span.href.startswith("https://")


def test_blocks_are_cut_within_a_budget_of_words() -> None:
    whole = blocks("<p>one two three</p><ul><li>four</li><li>five</li></ul><pre>six\nseven</pre><p>eight</p>")
    for budget in range(40):
        short = cut_blocks(whole, budget)
        text = "".join(span_text(block) for block in short)
        assert len(text) <= budget
        assert short == whole or "…" in text or not short
    assert cut_blocks(whole, 100) == whole


def test_a_cut_marks_where_it_fell_and_keeps_what_is_no_text() -> None:
    ping = Mention(literal="<!here>")
    mixed = (Paragraph(spans=(Text(text="a"), ping, Text(text="b", bold=True))), Paragraph(spans=(Text(text="c"),)))
    assert cut_blocks(mixed, 2) == (Paragraph(spans=(Text(text="a"), ping, Text(text="…"))),)
    assert cut_blocks(mixed, 0) == ()
    assert cut_blocks((Preformatted(text="long code"),), 1) == ()
    assert cut_blocks((Paragraph(spans=(Text(text="one"),)), Preformatted(text="long code")), 4)[1:] == (
        Paragraph(spans=(Text(text="…"),)),
    )
    assert cut_blocks((Paragraph(spans=(Text(text="one two"),)),), 1) == ()


def span_text(block: Block) -> str:
    if isinstance(block, Preformatted):
        return block.text
    spans: tuple[Span, ...] = tuple(s for i in block.items for s in i) if isinstance(block, Bullets) else block.spans
    return "".join(span.text for span in spans if isinstance(span, Text))


# --- links -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "url"),
    [
        ("https://e.org/a b", "https://e.org/a%20b"),
        ("https://e.org/|>", "https://e.org/%7C%3E"),
        ("HTTPS://e.org/", "HTTPS://e.org/"),
        ("//e.org/x", "https://e.org/x"),
        ("?p=1", "https://blog.example/posts/1?p=1"),
        ("http://[::1]:8080/", "http://[::1]:8080/"),
        *((bad, None) for bad in (
            "javascript:alert(1)", "java\tscript:x", "data:text/html,x", "mailto:a@e.org", "https://", "https:///x", "",
            "https://good@evil.example/", "https://evil\\@good/", "https://e.org:99999/", "https://e. org/",
            "https://[x/", "https://:80/", "https://e.org/" + "l" * 3_000, "https://e.org/" + "|" * 1_900, None, "file:///etc/passwd",
        )),
    ],
)  # fmt: skip
def test_links_that_may_be_clicked(raw: str | None, url: str | None) -> None:
    assert http_url(raw, BASE) == url


def test_a_relative_link_needs_a_base() -> None:
    assert http_url("/a") is None
    assert http_url("/a", "https://[broken") is None


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://www.e.org/a", "e.org"),
        ("https://bücher.example/", "bücher.example"),
        ("https://例え.jp/", "例え.jp"),
        ("https://аррӏе.example/", "xn--80ak6aa92e.example"),
        ("https://gооgle.example/", "xn--ggle-55da.example"),
        ("https://" + "а" * 70 + ".example/", "xn--" + ("а" * 70).encode("punycode").decode() + ".example"),
        ("https://[broken", None),
        (None, None),
        ("/a", None),
    ],
)
def test_hosts_are_shown_so_that_they_cannot_pass_for_others(url: str | None, host: str | None) -> None:
    assert display_host(url) == host


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("https://bank.example/login", True), ("bank.example", True), ("see www.bank.example now", True),
        ("ＢＡＮＫ．example", True), ("blog.example", False), ("www.blog.example", False), ("example.", False),
        ("About node.js and main.py", False), ("Version 2.0 is out", False),
        ("no host", False), ("x@bank.example", True),
    ],
)  # fmt: skip
def test_a_text_that_names_another_host_misleads(text: str, *, yes: bool) -> None:
    assert misleads(text, "https://blog.example/1") is yes
    assert not misleads(text, None)


@pytest.mark.parametrize("word", ["N/A", "none", "null", "-", "#", "."])
def test_a_word_that_says_that_there_is_no_address_is_none(word: str) -> None:
    assert http_url(word, "https://example.org/feed.xml") is None
