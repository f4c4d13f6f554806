"""What is read of a document, and where feedparser is helped."""

import json
from datetime import UTC, datetime

import pytest

from bot.core.errors import NotAFeed
from tests.core.documents import FEEDS, atom, entries, first, read, rss

SEED = FEEDS / "seed" / "ai-networking.xml"


def test_the_seed_feed_is_read_as_its_index_says() -> None:
    feed = read(SEED.read_bytes(), content_type="application/xml; charset=utf-8")
    index = json.loads((FEEDS / "seed" / "index.json").read_text(encoding="utf-8"))["feed"]
    assert feed.title == "AI Networking · Darren Qu"
    assert feed.site_url == "https://darrenqu.net/ai-networking/"
    assert feed.self_url == index["self"]
    assert feed.trim_ok
    for entry, right in zip(entries(feed), index["items"], strict=True):
        assert entry.guid == right["id"]
        assert entry.link == right["link"]
        assert entry.title == right["title"]
        assert entry.text == right["text"]
        assert list(entry.categories) == right["tags"]
        assert entry.published == datetime.fromisoformat(right["published"])
        assert not entry.has_time
        assert entry.author == "Darren Qu"


@pytest.mark.parametrize(
    "body",
    [b"", b" \n\t", b"<!DOCTYPE html><html><body>Sign in</body></html>", b"<note><to>you</to></note>", b"{}", b"[1]",
     b'{"items": 7}', b"/etc/passwd", b"http://127.0.0.1:1/", b"file:///etc/passwd", b"\x1f\x8bnot gzip",
     b"<html><head></head><rss></rss></html>", b"[" * 100_000],
)  # fmt: skip
def test_what_is_no_feed_says_so(body: bytes) -> None:
    with pytest.raises(NotAFeed):
        read(body)


def test_ids_are_kept_as_written() -> None:
    assert first(rss("<guid> T3_x </guid>")).guid == "T3_x"
    assert first(rss('<guid isPermaLink="true">/post/1</guid>')).guid == "/post/1"
    assert first(rss("<guid>0</guid>")).guid == "0"
    assert first(rss("<guid>  </guid><title>t</title>")).guid is None
    assert first(rss("<guid>a</guid><guid>b</guid>")).guid == "a"
    assert first(atom("<id>t3_42tizy</id>")).guid == "t3_42tizy"


def test_a_bare_ampersand_stays_one() -> None:
    entry = first(rss("<guid>https://e.org/?a=1&utm_medium=x</guid><link>https://e.org/?a=1&copy=2</link>"))
    assert entry.guid == "https://e.org/?a=1&utm_medium=x"
    assert entry.link == "https://e.org/?a=1&copy=2"


def test_an_id_that_is_no_url_is_no_link() -> None:
    assert first(rss("<guid>urn:uuid:1</guid>")).link is None
    assert first(rss("<guid>https://e.org/1</guid>")).link == "https://e.org/1"
    assert first(rss('<guid isPermaLink="false">https://e.org/1</guid>')).link is None
    assert first(atom("<id>https://e.org/1</id>")).link is None
    assert first(rss('<guid isPermaLink="true">/1</guid>')).link == "https://blog.example/1"


@pytest.mark.parametrize(
    ("links", "link"),
    [
        ('<link href="/a"/>', "https://blog.example/a"),
        ('<link rel="self" href="/s"/><link rel="alternate" href="/a"/>', "https://blog.example/a"),
        ('<link type="application/json" href="/j"/><link type="text/html" href="/h"/>', "https://blog.example/h"),
        ('<link rel="enclosure">https://e.org/x.mp3</link><link href="/a"/>', "https://blog.example/a"),
        ("<link>https://e.org/b</link>", "https://e.org/b"),
        ('<link rel="enclosure" href="/x.mp3"/>', None),
        ('<link href="javascript:alert(1)"/>', None),
    ],
)
def test_the_alternate_link_is_the_link(links: str, link: str | None) -> None:
    assert first(atom(f"<id>1</id>{links}")).link == link


def test_xml_base_counts_before_the_address_of_the_feed() -> None:
    entry = atom('<id>1</id><link xml:base="https://e.org/a/" href="b"/>')
    assert first(entry).link == "https://e.org/a/b"
    assert first(
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/sub/"><entry><link href="b"/></entry></feed>'
    ).link == ("https://blog.example/sub/b")
    assert first('<feed xml:base="https://e.org/"><entry xml:base="http://["><link href="b"/></entry></feed>').link == (
        "https://e.org/b"
    )
    assert first('<feed xml:base="http://["><entry><link href="b"/></entry></feed>').link == "https://blog.example/b"


def test_an_rss_item_may_carry_its_link_as_atom() -> None:
    attributes = ' xmlns:atom="http://www.w3.org/2005/Atom"'
    assert first(rss('<atom:link href="https://e.org/1"/>', attributes=attributes)).link == "https://e.org/1"
    assert first(rss('<link href="https://e.org/2"/>')).link == "https://e.org/2"


def test_elements_of_a_foreign_namespace_are_not_taken_for_its_own() -> None:
    entry = first(
        rss('<link xmlns="urn:other">https://evil.example/</link><title>t</title><x:title xmlns:x="u:x">no</x:title>')
    )
    assert entry.link is None
    assert entry.title == "t"


def test_a_prefix_that_nobody_declared_means_the_usual_one() -> None:
    assert first(rss("<dc:date>2026-09-16T08:00:00Z</dc:date>")).published == datetime(2026, 9, 16, 8, tzinfo=UTC)


def test_elements_under_a_prefix_of_the_core_namespace_are_read() -> None:
    body = (
        '<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:id>1</a:id><a:title>t</a:title></a:entry></a:feed>'
    )
    assert (first(body).guid, first(body).title) == ("1", "t")


def test_rdf_items_are_known_by_their_about() -> None:
    body = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
        '<channel rdf:about="https://e.org/"><title>F</title><link>https://e.org/</link><items><rdf:Seq/></items></channel>'
        '<item rdf:about="https://e.org/1"><title>t</title><link>https://e.org/1</link></item></rdf:RDF>'
    )
    feed = read(body)
    assert feed.title == "F"
    assert first(body).guid == "https://e.org/1"


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("List&lt;String&gt; vs Vec&lt;u8&gt;", "List<String> vs Vec<u8>"),
        ("&lt;b&gt;bold&lt;/b&gt; words", "bold words"),
        ("R&amp;amp;D", "R&D"),
        ("<![CDATA[a &#8211; b]]>", "a – b"),
        ("one\n  two", "one two"),
        ("plain <b>real</b> element", "plain real element"),
        ("&eacute;t&eacute; &unknown;", "été &unknown;"),
        ("one<!-- no -->two", "onetwo"),
        ("&#xD800;&#1;x", "\ufffdx"),
    ],
)
def test_rss_titles_are_text_unless_they_surely_are_markup(source: str, title: str) -> None:
    assert first(rss(f"<title>{source}</title>")).title == title


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<title>a &amp;amp; b</title>", "a &amp; b"),
        ('<title type="text">&lt;b&gt;</title>', "<b>"),
        ('<title type="html">&lt;b&gt;x&lt;/b&gt; &amp;amp; y</title>', "x & y"),
        ('<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a <b>b</b></div></title>', "a b"),
        ('<title mode="escaped">&lt;i&gt;x&lt;/i&gt;</title>', "x"),
        ("<title></title>", ""),
        ("<source><title>other</title><id>other</id></source>", ""),
    ],
)
def test_atom_titles_are_what_their_type_says(source: str, title: str) -> None:
    assert first(atom(f"<id>1</id>{source}")).title == title


def test_keywords_and_media_fields_are_no_tags_titles_or_summaries() -> None:
    attributes = (
        ' xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/"'
    )
    entry = first(
        rss(
            "<category>a</category><category>a</category><category/><category>b c</category>"
            "<itunes:keywords>x,y</itunes:keywords><media:category>z</media:category><media:title>m</media:title>"
            '<media:thumbnail url="https://e.org/p.png"/><enclosure url="https://e.org/a.mp3" type="audio/mpeg"/>',
            attributes=attributes,
        )
    )
    assert entry.categories == ("a", "b c")
    assert entry.title == ""
    assert entry.image == "https://e.org/p.png"
    assert entry.enclosure == "https://e.org/a.mp3"


def test_the_summary_comes_before_the_content() -> None:
    entry = first(
        rss(
            "<description>short &lt;user@host&gt;</description>"
            "<content:encoded><![CDATA[<p>long</p>]]></content:encoded>",
            attributes=' xmlns:content="http://purl.org/rss/1.0/modules/content/"',
        )
    )
    assert entry.text == "short <user@host>"
    assert "long" in entry.content_html
    assert first(atom("<content type='html'>&lt;p&gt;only&lt;/p&gt;</content>")).text == "only"


def test_plain_text_comes_escaped() -> None:
    entry = first(atom("<summary>a &lt;b&gt; c</summary>"))
    assert entry.summary_html == "a &lt;b&gt; c"
    assert entry.text == "a <b> c"


def test_markup_that_nobody_escaped_is_read_as_markup() -> None:
    assert first(rss("<description>one <b>two</b></description>")).text == "one two"


def test_authors_are_names_and_the_feeds_own_stands_in() -> None:
    head = "<title>F</title><managingEditor>me@e.org (Mia)</managingEditor>"
    assert first(rss("<title>t</title>", head=head)).author == "Mia"
    assert first(rss("<title>t</title><author>x@e.org (Otto)</author>", head=head)).author == "Otto"
    assert first(atom("<id>1</id>", head="<author><name>Ann</name><email>a@e.org</email></author>")).author == "Ann"
    assert first(atom("<id>1</id>", head="<author><email>a@e.org</email></author>")).author is None
    assert first(rss("<title>t</title>", head="<managingEditor>me@e.org</managingEditor>")).author is None


def test_a_cut_off_document_loses_its_half_entry_and_says_so() -> None:
    whole = rss("<guid>1</guid><title>one</title>", "<guid>2</guid><title>two</title>")
    feed = read(whole[: whole.index("o</title>")])
    assert feed.truncated
    assert [entry.guid for entry in entries(feed)] == ["1"]
    assert not feed.trim_ok
    assert not read(whole + "<!-- after -->").truncated
    assert not read(whole.removesuffix(">")).truncated
    assert read('{"version": "https://jsonfeed.org/version/1", "items": [{"id": "1"').truncated


def test_an_item_without_its_end_tag_is_no_entry() -> None:
    feed = read("<rss><channel><item><guid>1</guid></channel></rss>")
    assert not feed.truncated
    assert entries(feed)[0].guid == "1"


def test_items_in_items_are_no_entries_of_their_own() -> None:
    feed = read(rss("<guid>1</guid><item><guid>2</guid></item><title>t</title>", "<guid>3</guid>"))
    assert [(entry.guid, entry.title) for entry in entries(feed)] == [("1", "t"), ("3", "")]
    assert len(read(rss("<title>t<item><guid>2</guid></item></title><author>A</author>")).items) == 1


def test_text_around_the_document_is_passed_over() -> None:
    body = rss("<guid>1</guid>")
    assert first("<br />\n<b>Warning</b>: x in y\n" + body).guid == "1"
    assert first("\n\n" + body + body).guid == "1"
    assert first("\ufeff\ufeff" + body).guid == "1"
    assert first("junk " + body.removeprefix('<?xml version="1.0"?>')).guid == "1"


def test_one_broken_item_spoils_no_other() -> None:
    feed = read(rss("<guid>1</guid><description>a<b></description>", "<guid>2</guid><description>fine</description>"))
    assert [entry.guid for entry in entries(feed)] == ["1", "2"]
    assert entries(feed)[0].text == "a"
    assert entries(feed)[1].text == "fine"


def test_references_in_a_body_are_read_once_and_never_break_it() -> None:
    attributes = ' xmlns:content="http://purl.org/rss/1.0/modules/content/"'
    body = "a &LT;b&gt; &eacute; &#233; &#xE9; &#xD800; &nope; & <![CDATA[&amp; &x; <i>c</i>]]>"
    entry = first(rss(f"<guid>1</guid><content:encoded>{body}</content:encoded>", attributes=attributes))
    assert entry.content_html == "a <b> é é é \ufffd &nope; & &amp; &x; <i>c</i>"


def test_bodies_that_are_no_text_are_left_out() -> None:
    picture = '<content type="image/png">aGk=</content>'
    assert first(atom(f"<id>1</id>{picture}")).content_html == ""
    assert first(atom("<id>1</id><content type='application/xhtml+xml'><b>x</b></content>")).text == "x"


def test_a_mark_of_our_own_in_a_feed_changes_nothing() -> None:
    feed = read(rss("<author>a@e.org (A)</author><feedbellno>1</feedbellno>", "<author>b@e.org (B)</author>"))
    assert [entry.author for entry in entries(feed)] == ["A", "B"]


def test_an_item_that_the_library_chokes_on_spoils_no_other() -> None:
    chapter = "<psc:chapters><psc:chapter/></psc:chapters><description>words</description><author>A</author>"
    attributes = ' xmlns:psc="http://podlove.org/simple-chapters"'
    feed = read(rss(chapter, "<guid>2</guid><author>B</author>", attributes=attributes))
    assert [(entry.text, entry.author) for entry in entries(feed)] == [("words", None), ("", "B")]
    assert first(rss(chapter, attributes=attributes)).text == "words"


def test_much_that_is_broken_is_not_read_loosely() -> None:
    broken = "<content:encoded>x<b>" + "y " * 300_000 + "</content:encoded>"
    attributes = ' xmlns:content="http://purl.org/rss/1.0/modules/content/"'
    feed = read(rss(*([f"<title>t</title>{broken}"] * 3), attributes=attributes))
    assert [entry.title for entry in entries(feed)] == ["t"] * 3
    assert [bool(entry.content_html) for entry in entries(feed)].count(True) == 1


def test_stray_and_odd_tags_are_passed_over() -> None:
    body = rss("</nothing><guid>1</guid></channel-like>< b><a 'odd><title>t</title>")
    assert first(body).guid == "1"
    assert first(rss("<guid>1</guid><x y=' >z</x><title>t</title>")).guid == "1"
    assert entries(read("<rss><channel><item/></channel></rss>"))[0].guid is None
    assert read("<rss/>").items == ()
    assert first(rss("<guid>1</guid></ >")).guid == "1"
    assert read("<rss><channel><item><guid>1</guid></item><item").truncated


def test_items_within_items_within_an_item_are_no_part_of_it() -> None:
    inner = "<item><title>inner</title><guid>2</guid><item><title>innermost</title><guid>3</guid></item></item>"
    (outer,) = entries(
        read(rss(f"<title>outer</title><guid>1</guid>{inner}<description>a &lt;b&gt;c&lt;/b&gt;</description>"))
    )
    assert (outer.title, outer.guid, outer.text) == ("outer", "1", "a c")
    tagged = f"<title>outer</title><guid>1</guid><category>x{inner}</category>"
    assert [entry.title for entry in entries(read(rss(tagged)))] == ["outer"]


def test_a_long_title_is_cut_clean() -> None:
    for end in (" and more", "\u200d\u200d"):
        title = "x" * 999 + end
        assert first(rss(f"<guid>1</guid><title>{title}</title>")).title == "x" * 999
        assert first(rss(f"<guid>1</guid><title><b>{title}</b></title>")).title == "x" * 999
