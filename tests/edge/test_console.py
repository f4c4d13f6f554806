"""Messages on a terminal."""

import io

import pytest

from bot.core.errors import Deferred, LookupImpossible, MessageRejected
from bot.notifiers.console import ConsoleNotifier
from tests.core.messages import delivery, digest, entry, message
from tests.edge.notifying import HandClock, to

THERE = to("console")
KEY = delivery().idem


async def test_a_message_reads_well() -> None:
    stream = io.StringIO()
    console = ConsoleNotifier(stream)
    await console.send(THERE, console.to_payload(message()), KEY)
    assert stream.getvalue() == (
        "A title\nbgp · 16 Sep 2026 10:05 CEST · Example News\nhttps://www.example.org/posts/1\nA short summary.\n\n"
    )


async def test_no_text_of_a_feed_reaches_the_terminal_as_a_command() -> None:
    stream = io.StringIO()
    console = ConsoleNotifier(stream)
    evil = "\x1b]0;owned\x07 \x1b[31mred\x9b2J\r over\b"
    shown = entry(title=evil, feed_title=evil, tags=(evil,), summary_html=f"<pre>{evil}</pre>", text=evil)
    for plain in (False, True):
        await console.send(THERE, console.to_payload(message(shown), plain=plain), KEY)
    assert not set(stream.getvalue()) & {"\x1b", "\x07", "\x9b", "\b", "\r"}


async def test_a_digest_stands_under_its_heading() -> None:
    console = ConsoleNotifier(io.StringIO())
    text = str(console.to_payload(digest((entry(), entry(title="Two", tags=("roce",)))))["text"])
    assert text.startswith("New · 2 entries\n\n[bgp]\nA title\n")


async def test_a_terminal_that_knows_only_ascii_gets_something() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = ConsoleNotifier(stream)
    await console.send(THERE, console.to_payload(message(entry(title="Čeká"))), KEY)
    stream.seek(0)
    assert stream.read().startswith("?ek?\n")


async def test_a_closed_stream_is_tried_again_later() -> None:
    stream = io.StringIO()
    stream.close()
    console = ConsoleNotifier(stream)
    with pytest.raises(Deferred):
        await console.send(THERE, {"text": "x"}, KEY)
    with pytest.raises(LookupImpossible):
        await console.find(THERE, {}, KEY, HandClock().now())
    with pytest.raises(MessageRejected):
        await console.edit(THERE, {}, "1")
    assert (await console.probe(THERE)).can_look_up is False


def test_a_digest_has_a_blank_line_before_each_entry_and_a_heading_with_its_first() -> None:
    said = digest((entry(title="One", tags=("a",)), entry(title="Two", tags=("a",)), entry(title="Three", tags=("b",))))
    text = str(ConsoleNotifier(io.StringIO()).to_payload(said)["text"])
    paragraphs = [paragraph.split("\n")[:2] for paragraph in text.split("\n\n")]
    assert paragraphs[0] == ["New · 3 entries"]
    assert [lines[0] for lines in paragraphs[1:]] == ["[a]", "Two", "[b]"]
    assert [lines[1] for lines in paragraphs[1::2]] == ["One", "Three"]
