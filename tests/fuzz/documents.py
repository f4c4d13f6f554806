"""Doors for what feed servers send: encodings, documents, names of entries, text, pages, subscriptions, headers."""

from __future__ import annotations

import gzip
import json
import zlib
from datetime import UTC, datetime

from multidict import CIMultiDict

from bot.core.autodiscovery import find_feeds, usual_places
from bot.core.errors import FetchError, NotAFeed, UsageError
from bot.core.identity import bare_url, canonical_url, identify, identify_document
from bot.core.lint import config_block, feed_block, lint, propose_id
from bot.core.model.entry import ParsedEntry, ParsedFeed
from bot.core.model.feed import Fetched, Validators
from bot.core.opml import parse_opml
from bot.core.otherbots import READERS
from bot.core.parse.document import parse
from bot.core.tags import decide_section, fold
from bot.core.text.blocks import cut_blocks, html_to_blocks
from bot.core.text.characters import clean, one_line
from bot.core.text.graphemes import cut
from bot.core.text.links import http_url
from bot.core.text.markup import plain_text, title_text
from bot.fetch.decode import decoder
from bot.fetch.errand import to_url
from bot.fetch.headers import links, max_age, retry_after, validators
from tests.config.reading import read
from tests.core.documents import FEEDS
from tests.fuzz.mutations import Target

NOW = datetime(2026, 9, 16, 12, tzinfo=UTC)
URL = "https://www.example.org/feed.xml"
LIMIT = 1 << 20


def small(*rooms: str, most: int = 20_000) -> list[bytes]:
    files = [path for room in rooms for path in sorted((FEEDS / room).rglob("*")) if path.is_file()]
    return [path.read_bytes() for path in files if path.suffix != ".jsonl" and path.stat().st_size < most]


def decode(data: bytes) -> None:
    name, _, body = data.partition(b"|")
    try:
        inflate = decoder([name.decode("latin-1")])
        size = 0
        for piece in inflate.feed(body):
            size += len(piece)
            if size > LIMIT:
                return
        inflate.finish()
    except FetchError:
        return


def document(data: bytes) -> None:
    kind, _, body = data.partition(b"|") if data[:1] == b"|" else (b"", b"", data)
    try:
        feed = parse(body, url=URL, content_type=kind.decode("latin-1") or None)
    except NotAFeed:
        return
    assert len(feed.items) <= 5000
    items = [item for item in feed.items if isinstance(item, ParsedEntry)]
    for entry in items:
        sound(entry)
    identify_document(feed.items, links_shared=False, guids_shared=False)
    linted(feed, body)
    known = {entry.bytes_hash: bytes(16) for entry in items if entry.bytes_hash}
    parse(body, url=URL, content_type=None, listed=known)  # type: ignore[arg-type]  # any key will do


def sound(entry: ParsedEntry) -> None:
    words = (entry.title, entry.text, entry.summary_html, entry.content_html, entry.guid or "", entry.author or "")
    "\n".join((*words, *entry.categories)).encode("utf-8")
    assert one_line(entry.title) == entry.title
    assert clean(entry.text) == entry.text
    assert entry.link is None or http_url(entry.link, base=None) is not None
    assert not set(entry.link or "") & set('|<>"\\ \r\n\t')
    names = identify(entry)
    assert names is None or all(len(key) == 16 for key in names.hashes)


def linted(feed: ParsedFeed, body: bytes) -> None:
    """What `inspect` prints to be pasted is a configuration."""
    fetched = Fetched(url=URL, body=body, content_type=None, validators=Validators())
    lint(feed, fetched)
    read(config_block(feed, fetched, url=URL, taken=(), allow_private=()))
    decide_section([item.categories for item in feed.items if isinstance(item, ParsedEntry)], title=feed.title)


def identity(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    guid, _, link = text.partition("|")
    bare_url(guid)
    once = canonical_url(link)
    assert canonical_url(once) == once
    entry = ParsedEntry(guid=guid, link=link, title=guid)
    assert identify(entry) == identify(entry)


def text(data: bytes) -> None:
    source = data.decode("utf-8", "replace")
    assert clean(clean(source)) == clean(source)
    assert one_line(one_line(source)) == one_line(source)
    fold(source)
    plain_text(source)
    title = title_text(source)
    assert title == one_line(title)
    assert len(cut(title, 40)) <= max(40, len(title))
    blocks = html_to_blocks(source, base_url=URL)
    for budget in (0, 1, 50, 4000):
        cut_blocks(blocks, budget)
    assert "javascript:" not in repr(blocks).partition("href='")[2][:20]


def page(data: bytes) -> None:
    for link in find_feeds(data, URL):
        assert link.url.startswith(("http://", "https://"))
    try:
        asked = str(to_url(f"https://{data.decode('latin-1')}"))
    except FetchError:  # no page comes from there
        return
    for place in usual_places(asked):
        assert place.startswith("http")


def opml(data: bytes) -> None:
    try:
        found = parse_opml(data)
    except UsageError:
        return
    taken: list[str] = []
    for feed in found.feeds:
        taken.append(propose_id(feed.title, feed.url, taken=taken))
        read(feed_block(taken[-1], feed.url, title=feed.title, tags=feed.tags))


def otherbots(data: bytes) -> None:
    parts = data.decode("utf-8", "replace").split("\x1e")
    files = dict(zip(parts[::2], parts[1::2], strict=False))
    for reader in READERS.values():
        try:
            found = reader(files)
        except UsageError:
            continue
        for feed in found:
            if "@" in feed.url:  # credentials, which `check` refuses in words
                continue
            read(feed_block(propose_id(feed.title, feed.url), feed.url, title=feed.title))


def headers(data: bytes) -> None:
    lines = [line.partition(":") for line in data.decode("utf-8", "surrogateescape").split("\n")]
    given = CIMultiDict((name, value) for name, _, value in lines if name)
    wait, fresh = retry_after(given, now=NOW), max_age(given, now=NOW)
    assert all(one is None or 0 < one.total_seconds() <= 31 * 86400 for one in (wait, fresh))
    links(given)
    found = validators(given, url=URL)
    for value in (found.etag, found.last_modified):
        assert value is None or value.encode("utf-8")


TAGS = [
    *b"<item> </item> <entry> <title> <link/> <guid> <pubDate> <a/href=//e> <table><tr><td> <ul><li> <pre>".split(),
    *b'<script> <style> <svg> xml:base="x" <content:encoded> <rdf:RDF> &a;'.split(),
    b"<!DOCTYPE x [<!ENTITY a 'b'>]>",
    b'<?xml version="1.0" encoding="utf-7"?>',
]
OPML = b'<?xml version="1.0"?><opml version="2.0"><body><outline text="News"><outline text="A" type="rss" '
CFG = b"rss2email.cfg\x1e[feed.a]\nurl = https://a.example/\n\x1erss2email.json\x1e"
YML = b"config.yml\x1eschedulers:\n  - listener:\n      type: rss\n      params:\n        url: 'https://a.example/'\n"
SEEN = json.dumps({"version": 2, "feeds": [{"name": "a", "seen": {"g": {"id": "x"}}}]}).encode()
MONITO = json.dumps([{"_id": "1", "url": "https://a.example/", "title": "A", "data": {"seen": ["g"]}}]).encode()

TARGETS = (
    Target(
        name="decode",
        seeds=[b"gzip|" + gzip.compress(b"x" * 99), b"deflate|" + zlib.compress(b"x"), b"identity|x", b"gzip, br|x"],
        tokens=[b"gzip", b"deflate", b",", b"\x1f\x8b\x08", gzip.compress(b"y")],
        check=decode,
    ),
    Target(name="parse", seeds=small("hostile", "seed", "model"), tokens=TAGS, check=document),
    Target(
        name="identity",
        seeds=[
            b"urn:x|https://www.example.org:443/a/?utm_source=x&b=1#c",
            b"https://e.org/1|http://[::1]:80/",
            "tag:é|https://bücher.example/ü?ß".encode(),
            b"1|https://e.org/%7Ea/../b/./;x=1",
        ],
        tokens=b"http:// https:// www. utm_ %2e%2e xn-- ? # & ; [:: :80".split(),
        check=identity,
    ),
    Target(
        name="text",
        seeds=[
            b"<p>a <b>b</b> <a href='https://e.org'>c</a></p><ul><li>1<li>2</ul><pre>x</pre>",
            "👩‍👩‍👧 é".encode(),
            b"<blockquote><p>q</p></blockquote><table><tr><td>a<td>b</table>",
            b"a &lt;b&gt; &amp;amp; c",
        ],
        tokens=TAGS,
        check=text,
    ),
    Target(
        name="page",
        seeds=[
            b"<html><head><link rel=alternate type='application/rss+xml' href=/f title=x><base href=//b></head>",
            b"<a href='/feed.xml'>RSS</a><!-- <link> --><script>'<link>'</script>",
        ],
        tokens=[b"<link ", b"<base href=", *b"rel= href= type=application/atom+xml <script> <template>".split()],
        check=page,
    ),
    Target(
        name="opml",
        seeds=[OPML + b'xmlUrl="https://a.example/f" category="x,y"/></outline></body></opml>'],
        tokens=[b"<outline ", *b"xmlUrl= text= category= &b; />".split(), b"<!DOCTYPE a [<!ENTITY b 'c'>]>"],
        check=opml,
    ),
    Target(
        name="otherbots",
        seeds=[CFG + SEEN, YML, b"feeds.json\x1e" + MONITO],
        tokens=[b"\x1e", b"url", b"[feed.", b"- ", b"      "],
        check=otherbots,
    ),
    Target(
        name="headers",
        seeds=[
            b"Retry-After:120\nCache-Control:max-age=60, public\nAge:5",
            b'Link:<https://h.example/>; rel="hub self"',
            b"Expires:Wed, 16 Sep 2026 13:00:00 GMT\nDate:Wed, 16 Sep 2026 12:00:00 GMT",
            b'ETag:W/"x"',
        ],
        tokens=b"max-age= no-store Retry-After: Date: Expires: Age: Link:< rel= GMT".split(),
        check=headers,
    ),
)
