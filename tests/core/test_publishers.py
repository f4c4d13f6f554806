"""Documents as publishers really write them: families that a reader of the standards alone gets wrong."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from bot.core.errors import NotAFeed
from bot.core.model.entry import Key, ParsedEntry
from bot.core.model.feed import Feed, FeedId
from bot.core.model.message import Card
from bot.core.parse.names import module_of
from bot.core.recording import entry_of
from bot.core.render import block_lines, card_of
from tests.core.documents import URL, atom, entries, first, read, rss
from tests.core.polling import START, Reader

MEDIA = ' xmlns:media="http://search.yahoo.com/mrss/" xmlns:content="http://purl.org/rss/1.0/modules/content/"'
ATOM_MEDIA = '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"><entry>'
CAPTION = '<media:content url="/a.jpg" medium="image"><media:description>Photo: Jo</media:description></media:content>'
FULL = "<content:encoded><![CDATA[<p>Article</p>]]></content:encoded>"
AT_TEN = datetime(2026, 5, 1, 10, tzinfo=UTC)


def card(entry: ParsedEntry) -> Card:
    """The entry as a reader sees it."""
    feed = Feed(id=FeedId("feed"), url=URL)
    stored = entry_of(
        entry, feed=feed, feed_title="F", key=Key(b"k" * 16), sections=(), date_only=False, first_seen_at=START
    )
    return card_of(stored, timezone=UTC)


def shown(body: str) -> list[str]:
    return lines(first(body))


def lines(entry: ParsedEntry) -> list[str]:
    return block_lines(card(entry).body)


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (rss(f"<title>t</title>{FULL}{CAPTION}", attributes=MEDIA), ["Article"]),
        (rss(f"<title>t</title>{CAPTION}{FULL}", attributes=MEDIA), ["Article"]),
        (rss(f"<title>t</title><description/>{CAPTION}{FULL}", attributes=MEDIA), ["Article"]),
        (rss(f"<title>t</title>{CAPTION}<description>a <b>b</b></description>", attributes=MEDIA), ["a b"]),
        (rss(f"<title>t</title><media:group>{CAPTION}</media:group>{FULL}", attributes=MEDIA), ["Article"]),
        (f"{ATOM_MEDIA}<title>t</title>{CAPTION}<summary>Teaser</summary></entry></feed>", ["Teaser"]),
        (f"{ATOM_MEDIA}<title>t</title><content>Article</content>{CAPTION}</entry></feed>", ["Article"]),
        (f"{ATOM_MEDIA}<title>t</title><media:group>{CAPTION}</media:group></entry></feed>", ["Photo: Jo"]),
    ],
)
def test_words_below_a_picture_stand_in_only_where_there_are_no_others(body: str, words: list[str]) -> None:
    assert shown(body) == words


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('<content type="html">&lt;p&gt;Long&lt;/p&gt;</content><summary>Teaser</summary>', ["Teaser"]),
        ('<content src="https://e.org/v.mp4" type="video/mp4"/><summary>S</summary>', ["S"]),
        ('<content type="image/svg+xml"><svg xmlns="http://www.w3.org/2000/svg"><text>hi</text></svg></content>', []),
        ('<summary type="html"><![CDATA[<p>a &lt;b&gt; &amp;amp; c</p>]]></summary>', ["a <b> &amp; c"]),
        ('<summary type="text">use &lt;div&gt; here</summary>', ["use <div> here"]),
        ('<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a<br/>b<br />c</div></content>',
         ["a", "b", "c"]),
        ('<summary type="xhtml"><h:div xmlns:h="http://www.w3.org/1999/xhtml"><h:p>a</h:p><h:ul><h:li>b</h:li></h:ul>'
         "</h:div></summary>", ["a", "- b"]),
    ],
)  # fmt: skip
def test_atom_texts_of_each_type_are_shown_as_meant(entry: str, words: list[str]) -> None:
    assert shown(atom(f"<id>1</id><title>t</title>{entry}")) == words


def test_a_break_in_real_markup_is_one_break() -> None:
    assert shown(rss("<title>t</title><description><p>One<br/>two</p></description>")) == ["One", "two"]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<title><![CDATA[<b>All bold</b>]]></title>", "All bold"),
        ("<title>&lt;img src=x onerror=alert(1)&gt;</title>", "words"),
        ("<title> &nbsp; </title>", "words"),
        ("", "words"),
        ("<title>\n Line\n\tbreak &#10; here </title>", "Line break here"),
        ("<title>&amp;#8220;Hi&amp;#8221;</title>", "“Hi”"),
        ("<title>5 &lt; 6 &amp;&amp; 7 &gt; 3</title>", "5 < 6 && 7 > 3"),
        ("<title><![CDATA[A]]> &amp; <![CDATA[B & C]]></title>", "A & B & C"),
        ("<title>H<sub>2</sub>O</title>", "H2O"),
        ("<title>x</title><title>y</title>", "x"),
        ("<title>אב &#x202e;gd&#x202c;</title>", "אב gd"),
    ],
)
def test_titles_as_templates_write_them(source: str, title: str) -> None:
    assert card(first(rss(f"<guid>1</guid>{source}<description>words</description>"))).title == title


@pytest.mark.parametrize(
    ("opening", "closing"), [("&lt;![CDATA[", "]]&gt;"), ("<![CDATA[<![CDATA[", "]]]]><![CDATA[>]]>")]
)
def test_a_cdata_section_that_was_escaped_itself_is_none(opening: str, closing: str) -> None:
    names = {"title": "A", "link": "https://e.org/1", "category": "bgp", "pubDate": "2026-05-01T10:00:00Z"}
    names |= {"description": "words", "content:encoded": "long", "guid": "g"}
    source = "".join(f"<{name}>{opening}{text}{closing}</{name}>" for name, text in names.items())
    entry = first(rss(source, attributes=MEDIA))
    assert (entry.title, entry.link, entry.categories, entry.published) == ("A", "https://e.org/1", ("bgp",), AT_TEN)
    assert (entry.text, entry.content_html, entry.guid) == ("words", "long", "<![CDATA[g]]>")
    title, summary = (f"<{name} type='html'>{opening}x{closing}</{name}>" for name in ("title", "summary"))
    wrapped = first(atom(f"<id>1</id>{title}{summary}"))
    assert (wrapped.title, wrapped.text) == ("x", "x")


# --- links -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "link"),
    [
        ("<link>javascript:void(0)</link><guid>https://e.org/1</guid>", "https://e.org/1"),
        ("<link>mailto:jo@e.org</link><guid>https://e.org/1</guid>", "https://e.org/1"),
        ("<link>n/a</link><guid>https://e.org/1</guid>", "https://e.org/1"),
        ("<link>mailto:jo@e.org</link><guid>1</guid>", None),
        ('<link rel="enclosure" href="https://e.org/a.mp3"/><link>https://e.org/1</link>', "https://e.org/1"),
        ('<link rel="enclosure" href="https://e.org/a.mp3"/>', None),
        ("<link>&#160;https://e.org/1&#8203;</link>", "https://e.org/1"),
        ("<link>//cdn.e.org/1</link>", "https://cdn.e.org/1"),
        ("<link>HTTPS://E.org/A b</link>", "HTTPS://E.org/A%20b"),
        ('<guid isPermaLink="0">https://e.org/1</guid>', "https://e.org/1"),
    ],
)
def test_of_what_may_be_the_link_the_best_that_leads_anywhere_counts(item: str, link: str | None) -> None:
    assert first(rss(f"{item}<title>t</title>")).link == link


def test_atom_links_in_a_feed_whose_default_namespace_is_atom_keep_their_meaning() -> None:
    item = '<a:link rel="replies" href="https://e.org/r"/><link>https://e.org/1</link>'
    body = rss(item, attributes=' xmlns="http://www.w3.org/2005/Atom" xmlns:a="http://www.w3.org/2005/Atom"')
    assert first(body).link == "https://e.org/1"


def test_an_atom_link_that_leads_nowhere_makes_room_for_the_next() -> None:
    assert first(atom('<id>1</id><link href="javascript:x"/><link href="/ok"/>')).link == "https://blog.example/ok"


def test_relative_links_are_joined_level_by_level() -> None:
    body = '<rss><channel xml:base="https://b.example/d/"><item xml:base="sub/"><link>p/1</link></item></channel></rss>'
    assert first(body).link == "https://b.example/d/sub/p/1"


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "module"),
    [
        ("http://purl.org/dc/elements/1.1/", "dc"),
        ("http://purl.org/dc/elements/1.1", "dc"),
        ("https://purl.org/dc/elements/1.1/", "dc"),
        ("https://www.w3.org/2005/Atom/", "atom"),
        ("http://purl.org/atom/ns#", "atom"),
        ("http://purl.org/rss/1.0/modules/syndication/", "sy"),
        ("http://purl.org/rss/1.0/modules/content/", "content"),
        ("http://purl.org/rss/1.0/modules/link/", "?"),
        ("http://purl.org/rss/1.0/", ""),
        ("http://backend.userland.com/rss2", ""),
        ("", ""),
        ("urn:other", "?"),
    ],
)
def test_namespaces_are_known_in_each_spelling(uri: str, module: str) -> None:
    assert module_of(uri) == module


@pytest.mark.parametrize("prefix", ["dc", "d"])
def test_dates_and_tags_are_read_under_a_namespace_that_is_nearly_right(prefix: str) -> None:
    item = f"<{prefix}:date>2026-05-01T10:00:00Z</{prefix}:date><{prefix}:subject>bgp</{prefix}:subject>"
    entry = first(rss(item, attributes=f' xmlns:{prefix}="https://purl.org/dc/elements/1.1"'))
    assert (entry.published, entry.categories) == (AT_TEN, ("bgp",))


def test_a_declared_update_period_is_heard() -> None:
    head = "<title>F</title><sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency>"
    declared = ' xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"'
    assert read(rss("<guid>1</guid>", head=head, attributes=declared)).ttl == timedelta(hours=12)


@pytest.mark.parametrize(
    "uri", ["http://channel.netscape.com/rdf/simple/0.9/", "http://my.netscape.com/rdf/simple/0.9/", "http://e.org/rss"]
)
def test_rdf_is_read_whatever_the_namespace_of_its_elements(uri: str) -> None:
    inner = "<channel><title>T</title></channel><item><title>A</title><link>https://e.org/1</link></item>"
    feed = read(f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="{uri}">{inner}</rdf:RDF>')
    assert (feed.title, [entry.link for entry in entries(feed)]) == ("T", ["https://e.org/1"])


def test_an_element_of_another_module_is_not_the_items_own() -> None:
    item = '<l:link l:rel="permalink">https://no.example/</l:link><link>https://e.org/1</link>'
    assert first(rss(item, attributes=' xmlns:l="http://purl.org/rss/1.0/modules/link/"')).link == "https://e.org/1"


def test_a_category_is_called_by_its_label_only_where_its_term_is_no_word() -> None:
    categories = (
        '<category label="News"/><category term=" " label="Net"/><category term="x" label="Ex"/>'
        '<category term="https://e.org/tag/7" label="BGP"/><category term="https://e.org/tag/8"/>'
    )
    assert first(atom(f"<id>1</id>{categories}")).categories == ("News", "Net", "x", "BGP", "https://e.org/tag/8")


@pytest.mark.parametrize(
    ("author", "name"),
    [
        ("<author>jo@e.org</author>", None),
        ("<author>jo@e.org (Jo Doe)</author>", "Jo Doe"),
        ('<author>"Jo Doe" &lt;jo@e.org&gt;</author>', "Jo Doe"),
        ("<author><name>Jo</name><email>jo@e.org</email></author>", "Jo"),
        ("<author>Jo Doe</author><dc:creator></dc:creator>", "Jo Doe"),
        ("<author></author><dc:creator>Jo Doe</dc:creator><dc:creator>Mo Roe</dc:creator>", "Jo Doe"),
        ("<dc:creator><![CDATA[ Jo\n<jo@e.org> ]]></dc:creator>", "Jo"),
    ],
)
def test_an_author_has_a_name_and_no_address(author: str, name: str | None) -> None:
    assert first(rss(f"<title>t</title>{author}")).author == name


# --- dates -----------------------------------------------------------------------------------------------------------


def test_a_date_that_can_be_read_comes_before_one_that_cannot() -> None:
    assert first(rss("<pubDate>last week</pubDate><dc:date>2026-05-01T10:00:00Z</dc:date>")).published == AT_TEN
    assert first(rss("<pubDate>last week</pubDate><dc:date>soon</dc:date>")).raw_date == "last week"


@pytest.mark.parametrize("date", ["Mon, 06 Jan 2025 00:00:00 +0000", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_posts_of_a_feed_that_gives_all_one_date_are_told_wherever_they_stand(date: str) -> None:
    items = [f"<guid>{n}</guid><title>post {n}</title><pubDate>{date}</pubDate>" for n in range(6)]
    reader = Reader()
    reader.poll(*entries(read(rss(*items[:3]))))
    assert sorted(reader.poll(*entries(read(rss(*items[:5]))))) == ["post 3", "post 4"]
    assert reader.poll(*entries(read(rss(*items)))) == ["post 5"]


# --- bytes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["<!-- cached -->\n", "\n", "<br />\n<b>Warning</b>: x() in <b>/a.php</b><br />\n"])
def test_a_declaration_behind_other_things_still_names_the_encoding(before: str) -> None:
    declared = rss("<title>Привет</title>").replace('"1.0"?', '"1.0" encoding="windows-1251"?')
    assert first((before + declared).encode("cp1251")).title == "Привет"


def test_a_declaration_that_an_entry_quotes_names_nothing() -> None:
    quoted = '<![CDATA[<?xml version="1.0" encoding="Shift_JIS"?>]]>'
    body = rss(f"<title>Grüße €</title><description>{quoted}</description>").removeprefix('<?xml version="1.0"?>')
    assert first(body).title == "Grüße €"


def test_labels_of_old_browsers_are_encodings() -> None:
    body = rss("<title>日本語テスト</title>").replace('"1.0"?', '"1.0" encoding="x-sjis"?')
    assert first(body.encode("shift_jis")).title == "日本語テスト"


def test_a_comment_before_the_root_may_speak_of_html() -> None:
    comment = "<!-- Not an <html> page: subscribe to this address in a feed reader. -->"
    body = rss("<guid>1</guid>").replace("?>", f"?>{comment}")
    assert first(body).guid == "1"


@pytest.mark.parametrize(
    "body",
    [
        '<!-- x --><!DOCTYPE html><html><head><title>503</title></head><body>busy <rss version="2.0"></body></html>',
        "<h1>Service unavailable</h1><p>try later</p>",
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head/><body><rss/></body></html>',
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://e.org/</loc></url></urlset>',
        '<opml version="2.0"><body><outline text="feed" xmlUrl="https://e.org/"/></body></opml>',
        "<Error><Code>AccessDenied</Code></Error>",
        '{"error": "rate limited"}',
        "Error establishing a database connection",
    ],
)
def test_what_servers_send_instead_of_a_feed_is_none(body: str) -> None:
    with pytest.raises(NotAFeed):
        read(body)


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_a_json_feed_made_by_a_template_is_read() -> None:
    head = '{"version": "https://jsonfeed.org/version/1.1", "title": "J", "items": '
    entry = first(head + '[{"id": 7, "title": 2026, "content_text": "one\n\ttwo"}]}', content_type="application/json")
    assert (entry.guid, entry.title) == ("7", "2026")
    assert lines(entry) == ["one", "two"]


_JSON = '{"version": "https://jsonfeed.org/version/1.1", "title": "J", "items": [{"id": "1"}, {"id": "2"}'


@pytest.mark.parametrize(
    "body", [_JSON + "]}", _JSON + ",]}", _JSON + "]}\n<!-- cached -->", _JSON + ',], "language": "en"} <!-- x -->']
)
def test_what_templates_and_caches_add_to_json_is_passed_over(body: str) -> None:
    feed = read(body)
    assert ([entry.guid for entry in entries(feed)], feed.title, feed.truncated) == (["1", "2"], "J", False)


@pytest.mark.parametrize(
    "body",
    [_JSON, _JSON + ",", _JSON + ', {"id": "3", "title": "ha', _JSON.replace("version", "x"), _JSON + ', {"id"'],
)
def test_a_cut_off_json_feed_has_its_complete_items(body: str) -> None:
    feed = read(body)
    assert ([entry.guid for entry in entries(feed)], feed.title, feed.truncated) == (["1", "2"], "J", True)


@pytest.mark.parametrize("rest", [', {"id" 3}, {"id": "4"}]}', '], "language" "en"}', ", }]}"])
def test_json_that_is_broken_in_its_middle_is_no_feed(rest: str) -> None:
    with pytest.raises(NotAFeed):
        read(_JSON + rest)


def test_json_of_wrong_types_loses_only_what_is_wrong() -> None:
    items = [
        {"id": 1.5, "url": 5, "content_text": "words", "tags": "x, y", "authors": {"name": "D"}},
        {"id": None, "url": "https://e.org/2", "title": ["x"]},
        {"id": "3", "external_url": "https://x.org/1", "title": "linkblog", "date_published": 1777600000},
    ]
    body = json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [*items, "junk", None]})
    found = entries(read(body, content_type="application/feed+json"))
    assert [(entry.guid, entry.link) for entry in found] == [
        ("1.5", None),
        (None, "https://e.org/2"),
        ("3", "https://x.org/1"),
    ]
    assert [entry.published for entry in found] == [None] * 3
