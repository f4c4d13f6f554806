"""T8, T9: what a hostile document may do to the parser, and that its bytes are never taken for a path or an address."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bot.core.errors import NotAFeed, ParseError
from tests.edge.raw_http import RSS, RawServer, answer
from tests.edge.test_parser import HEAD, SMALL, TAIL, document, parsing, read

HOSTILE = {
    "100,000 nestings": HEAD + b"<a>" * 100_000 + b"</a>" * 100_000 + TAIL,
    "100,000 nestings of nothing": b"<a>" * 100_000,
    "1,000,000 attributes": HEAD + b"<item " + b" ".join(b"a%d='1'" % n for n in range(1_000_000)) + b"/>" + TAIL,
    "a CDATA that is a declaration": HEAD + b"<item><title><![CDATA[<!h<!h<]]></title></item>" + TAIL,
    "a declaration in a title": HEAD + b"<item><title>&lt;!h&lt;!h&lt;</title><description><!h<!h<" + TAIL,
    "a title of 19 MB": HEAD + b"<item><guid>1</guid><title>" + b"x" * 19_000_000 + b"</title></item>" + TAIL,
    "20,000 items": document(20_000),
    "a surrogate": HEAD + b"<item><title>&#xD800;</title><guid>1</guid></item>" + TAIL.replace(b"<", b"<<"),
    "NULs": b"\0" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_document_hurts_nobody_but_itself(name: str) -> None:
    async with parsing() as parser:
        hostile = asyncio.create_task(read(parser, HOSTILE[name]))
        after = asyncio.create_task(read(parser, SMALL))
        try:
            feed = await hostile
        except ParseError:
            pass
        else:
            assert len(feed.items) <= 5000
            assert all(len(getattr(entry, "title", "")) <= 19_000_000 for entry in feed.items)
        assert len((await after).items) == 3


@pytest.mark.parametrize("name", ["title", "description", "category", "author", "dc:creator", "managingEditor"])
async def test_a_word_of_any_length_costs_no_feed_its_entries(name: str) -> None:
    head = HEAD.replace(b"<rss ", b"<rss xmlns:dc='http://purl.org/dc/elements/1.1/' ")
    word = f"<{name}>{'w' * 300_000}</{name}>".encode()
    async with parsing() as parser:
        feed = await read(parser, head + word + b"<item><guid>1</guid>" + word + b"</item>" + TAIL)
    assert len(feed.items) == 1


@pytest.mark.parametrize(
    "body", ["/etc/passwd", "/dev/zero", "/proc/self/environ", "file:///etc/passwd", "FIFO", "HONEYPOT", "passwd\n"]
)
async def test_a_body_is_never_taken_for_a_path_or_an_address(body: str, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    async with RawServer({"/": answer(body=RSS)}) as honeypot, parsing() as parser:
        text = body.replace("FIFO", str(fifo)).replace("HONEYPOT", honeypot.url())
        with pytest.raises(NotAFeed):
            await read(parser, text.encode())
        assert honeypot.connections == 0
