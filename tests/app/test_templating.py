"""The operator's templates: what they may say, what a feed can't make of them, and that they end."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.app.templating import MAX_SOURCE, READY, layout_of, load_templates
from bot.config.load import parse
from bot.config.nouns import READY_TEMPLATES
from bot.core.errors import ConfigError
from bot.core.model.delivery import Owed
from bot.core.model.entry import Entry
from bot.core.model.message import Block, Bullets, Paragraph, Quote, Text
from bot.core.render import Template, block_lines, card_of, render_owed
from tests.core.messages import BERLIN, delivery, entry
from tests.edge.test_layouts import entries, payload_faults

LINK = "https://www.example.org/posts/1"


def laid_out(source: str, shown: Entry | None = None) -> tuple[Block, ...]:
    shown = shown or entry()
    return layout_of(source, path="short.j2")(shown, card_of(shown, timezone=BERLIN))


def lines(source: str, shown: Entry | None = None) -> list[str]:
    return block_lines(laid_out(source, shown))


def refusal(source: str) -> str:
    with pytest.raises(ConfigError) as caught:
        layout_of(source, path="short.j2")
    (problem,) = caught.value.problems
    return str(problem)


def test_each_line_is_a_paragraph_and_empty_ones_are_none() -> None:
    assert lines("{{ title }}\n\n{{ tags | join(', ') }} / {{ date }}\n{{ author }}\n") == [
        "A title",
        "bgp / 16 Sep 2026 10:05 CEST",
    ]


def test_functions_mark_and_link() -> None:
    (block,) = laid_out("{{ bold(link(title, url)) }} by {{ italic(feed) }}{{ code('x') }}{{ strike('y') }}")
    assert block == Paragraph(
        spans=(
            Text(text="A title", bold=True, href=LINK),
            Text(text=" by "),
            Text(text="Example News", italic=True),
            Text(text="x", code=True),
            Text(text="y", strike=True),
        )
    )


def test_the_entrys_own_address_is_a_link_wherever_it_stands() -> None:
    assert laid_out("at {{ url }}") == (Paragraph(spans=(Text(text="at "), Text(text=LINK, href=LINK))),)


def test_what_programs_get_of_an_entry_is_known_by_the_same_names() -> None:
    assert laid_out("at {{ link }}") == laid_out("at {{ url }}")
    assert lines("{{ published }}") == lines("{{ date }}")
    assert lines("{% if link %}{{ link | upper }}{% endif %}") == [LINK.upper()]


def test_the_body_keeps_its_lists_and_can_be_cut() -> None:
    listed = entry(summary_html="<p>Before the list.</p><ul><li>one<li>two</ul>")
    before, bullets, after = laid_out("Read:\n{{ body() }}\nthe end", listed)[1:]
    assert isinstance(bullets, Bullets)
    assert block_lines([before, after]) == ["Before the list.", "the end"]
    assert lines("{{ body(8) }}", listed) == ["Before…"]
    assert laid_out("{{ quote(summary) }}") == (Quote(spans=(Text(text="A short summary."),)),)


def test_a_label_that_names_another_host_shows_where_it_leads() -> None:
    shown = entry(title="Sign in at good.example", link="https://evil.example/x")
    assert lines("{{ link(title, url) }}", shown) == ["Sign in at good.example (evil.example)"]


@pytest.mark.parametrize("url", ["javascript:alert(1)", "", "/x", "https://good@evil.example"])
def test_only_web_addresses_become_links(url: str) -> None:
    assert laid_out(f"{{{{ link(title, '{url}') }}}}") == (Paragraph(spans=(Text(text="A title"),)),)


@pytest.mark.parametrize(
    "evil",
    [
        "{{ 7*7 }}",
        "{0.__class__} %s {{ self }}",
        "{% for x in range(9) %}x{% endfor %}",
        "<b>bold</b> <!channel> [a](https://evil.example)",
        "\ufdd0\ufdd2\ufdd1 held",
    ],
)
def test_feed_text_is_text_and_never_a_template(evil: str) -> None:
    shown = entry(title=evil, summary_html="", text="")
    for source in ("{{ title }}", "{{ bold(title) }}", "{{ title | trim }}"):
        (block,) = laid_out(source, shown)
        assert isinstance(block, Paragraph)
        assert block_lines([block]) == [evil.replace("\ufdd0\ufdd2\ufdd1 ", "")]
        assert all(isinstance(span, Text) and span.href is None for span in block.spans)


def test_a_place_holder_that_a_filter_cuts_leaves_nothing_behind() -> None:
    assert lines("x{{ (bold(title) ~ ' and more') | truncate(2, true, '', 0) }}") == ["x"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("a\n{{ nope }}", "short.j2:2:1: error: 'nope' is undefined"),
        ("a\n\n{{ title.upper() }}", "short.j2:3:1: error: only these can be called: body, bold, code, italic, link"),
        ("{% for x in tags %}", "short.j2:1:1: error: Unexpected end of template"),
        ("{{ title", "short.j2:1:1: error: "),
        ("a\n{{ entry.title }}", 'short.j2:2:1: error: there is no ".title"; known: title, url, host'),
        ("{{ titel }}", "'titel' is undefined; did you mean \"title\"?"),
        ("{{ xyz }}", "'xyz' is undefined; known: title, url, host, tags, date, feed, author, note, summary, "),
        ("{{ title | safe }}", "No filter named 'safe'; known: capitalize, default, "),
        ("{{ title | uper }}", "No filter named 'uper'; did you mean \"upper\"?"),
        ("{{ body('x') }}", "body() takes a number of characters, such as body(300)"),
        ("{{ link() }}", "link() missing 2 required positional arguments"),
        ("{{ tags }}", 'a list is written by joining it: {{ tags | join(", ") }}'),
        ("{% macro f() %}{% endmacro %}", 'a template knows no "macro"'),
        ("{% include 'x' %}", 'a template knows no "include"'),
        ("{{ 'x' * 9 }}", "a template knows no *"),
        ("{{ '%s' % title }}", "a template knows no %"),
        ("{{ _step() }}", "short.j2:1:1: error: "),
        ("{% set _x = 1 %}", 'a name can\'t begin with "_"'),
        ("{% for t in tags recursive %}{{ t }}{% endfor %}", "a loop can't be recursive"),
        ("{{ title[0]['__class__'] }}", "short.j2:1:1: error: "),
        ("{{ link(title) }}", "missing 1 required positional argument"),
        ("a\n{{ body }}", "short.j2:2:1: error: body is a function: write body(…)"),
        ("{{ [bold] | join }}", "bold is a function: write bold(…)"),
        ("{{ -title }}", "short.j2:1:1: error: "),
        ("{{ title | truncate(-5) }}", "short.j2:1:1: error: expected length >= 3"),
        ("{{ title | default(boolean=true, boolean=false) }}", "keyword argument repeated"),
        ("{% for x in tags %}" * 25 + "{% endfor %}" * 25, "too many statically nested blocks"),
        ("{% if title %}" * 150 + "{% endif %}" * 150, "too many levels of indentation"),
    ],
)
def test_mistakes_are_told_with_their_line(source: str, words: str) -> None:
    assert words in refusal(source)


def doubled(operator: str) -> str:
    steps = "".join(f"{{% set a{n + 1} = a{n} {operator} a{n} %}}" for n in range(60))
    return f"{{% set a0 = 'xxxxxxxx' %}}{steps}{{{{ a60 }}}}"


@pytest.mark.parametrize(
    "source",
    [
        doubled("~"),
        doubled("+"),
        "{% set a0 = 'x' %}" + "".join(f"{{% set a{n + 1} = [a{n}, a{n}] | join %}}" for n in range(60)) + "{{ a60 }}",
        "{% set a0 = 'x' %}"
        + "".join(f"{{% set a{n + 1} = a{n} | replace('x', 'xxxxxxxxxx') %}}" for n in range(60))
        + "{{ a60 }}",
        "{% for a in summary %}{% for b in summary %}{% for c in summary %}x{% endfor %}{% endfor %}{% endfor %}",
    ],
)
def test_no_template_runs_or_writes_without_end(source: str) -> None:
    found = refusal(source)
    assert "longer than 20000 characters" in found or "more than 1000 rounds" in found


def test_what_fails_for_one_entry_alone_leaves_that_its_own_look(caplog: pytest.LogCaptureFixture) -> None:
    long = entry(title="a" * 900, summary_html="word " * 700)
    assert laid_out("{% for c in summary %}{{ c }}{% endfor %}", long) == ()
    assert "template failed" in caplog.text


def test_a_length_that_only_a_short_title_makes_impossible_costs_no_message() -> None:
    source = "{{ title | truncate(title | length - 4) }}"
    assert lines(source) == ["A title"]
    assert laid_out(source, entry(title="Hi")) == ()


@pytest.mark.parametrize("name", sorted(READY_TEMPLATES))
def test_the_ready_templates_show_any_entry(name: str) -> None:
    source = (READY / f"{name}.j2").read_text(encoding="utf-8")
    shown = lines(source)
    assert shown[0].startswith("A title")
    assert ("A short summary." in shown) == (name == "card")
    bare = lines(source, entry(link=None, tags=(), published=None, summary_html="", text="", feed_title=""))
    assert bare[0] == "A title"


CONFIG = """
[[feeds]]
id = "news"
url = "https://www.example.org/feed.xml"
[[routes]]
to = "console"
template = "one.j2"
[[routes]]
to = "console"
template = "compact"
[[routes]]
to = "console"
template = "two.j2"
"""


def test_every_template_of_the_routes_is_tried_at_once(tmp_path: Path) -> None:
    (tmp_path / "one.j2").write_text("{{ title }}", encoding="utf-8")
    (tmp_path / "two.j2").write_text("{{ url }}", encoding="utf-8")
    settings = parse(CONFIG, {}, path=tmp_path / "config.toml", secret_dirs=())
    assert set(load_templates(settings)) == {str(tmp_path / "one.j2"), "compact", str(tmp_path / "two.j2")}
    (tmp_path / "one.j2").write_text("{{ nope }}", encoding="utf-8")
    (tmp_path / "two.j2").write_text("x" * (MAX_SOURCE + 1), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_templates(settings)
    assert [Path(problem.path).name for problem in caught.value.problems] == ["one.j2", "two.j2"]


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_template_that_can_not_be_read_is_told(tmp_path: Path, content: bytes | None) -> None:
    for name in ("one.j2", "two.j2"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    settings = parse(CONFIG, {}, path=tmp_path / "config.toml", secret_dirs=())
    (tmp_path / "one.j2").unlink()
    if content is not None:
        (tmp_path / "one.j2").write_bytes(content)
    with pytest.raises(ConfigError, match="can't be read"):
        load_templates(settings)


LAYOUTS = [layout_of((READY / f"{name}.j2").read_text(encoding="utf-8"), path=name) for name in sorted(READY_TEMPLATES)]
EVERYTHING = layout_of(
    "{{ link(title, url) }}{{ code(summary) }}{{ strike(feed) }}\n{{ quote(summary) }}{{ body(50) }}{{ url }}\n"
    "{% for tag in tags %}{{ bold(tag | upper) }} {% endfor %}{{ author ~ note }}",
    path="everything",
)


@pytest.mark.parametrize("layout", [*LAYOUTS, EVERYTHING])
def test_an_address_that_has_no_room_leaves_the_entry_its_own_look(layout: Template) -> None:
    shown = entry(title="", summary_html="", text="", feed_title="", link=f"https://e.example/{'1<' * 450}")
    payload_faults(render_owed(Owed(delivery=delivery(), entries=(shown,)), timezone=BERLIN, template=layout))


@given(entries, st.sampled_from([*LAYOUTS, EVERYTHING]))
@settings(max_examples=200)
def test_whatever_a_feed_says_a_template_stays_within_limits_and_pings_nobody(shown: Entry, layout: Template) -> None:
    payload_faults(render_owed(Owed(delivery=delivery(), entries=(shown,)), timezone=BERLIN, template=layout))
