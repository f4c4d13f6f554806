"""The inbox draws what our notifiers emit as their platforms would, whatever the feed says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.model.message import Card, Message, MessageKind, Paragraph, Payload, Section, Text
from bot.core.model.route import DestinationUid
from bot.notifiers import discord_layout, email_layout, slack_layout
from bot.web.inbox import collect
from bot.web.looks import discord, mail, slack
from tests.edge.web_bot import Bot, serve
from tests.edge.web_facts import HOSTILE, NOW, inbox_messages


def text_of(markup: str) -> str:
    """Return what a reader sees of HTML, white space aside."""
    return re.sub(r"\s+", "", unescape(re.sub(r"<[^>]*>", "", markup)))


def message(title: str, body: str, **styles: bool) -> Message:
    card = Card(title=title, link="https://x.example/1", body=(Paragraph(spans=(Text(text=body, **styles),)),))
    return Message(kind=MessageKind.ENTRY, key="k", created_at=NOW, cards=(card,))


WORDS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=60)


@given(WORDS, WORDS)
def test_any_text_is_drawn_as_typed_in_slack_and_discord(title: str, body: str) -> None:
    shown = message(f"t {title}", f"b {body}")
    wanted = re.sub(r"\s+", "", f"t{title}")
    for drawn in (
        str(slack.draw(slack_layout.to_payload(shown))),
        str(discord.draw(discord_layout.to_payload(shown))),
    ):
        assert wanted in text_of(drawn)
        assert re.sub(r"\s+", "", f"b{body}") in text_of(drawn)


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("plain", "<p>plain</p>"),
        (r"\*\*not bold\*\*", "<p>**not bold**</p>"),
        ("**bold** and *italic* and ~~gone~~", "<p><b>bold</b> and <i>italic</i> and <s>gone</s></p>"),
        ("***both***", "<p><b><i>both</i></b></p>"),
        (r"**a \*\* b**", "<p><b>a ** b</b></p>"),
        ("`a * b`", "<p><code>a * b</code></p>"),
        ("```\nx <b>\n  y\n```", "<pre>x &lt;b&gt;\n  y</pre>"),
        ("a\nb", "<p>a<br>b</p>"),
        ("> said\n> so\nend", "<blockquote>said<br>so</blockquote><p>end</p>"),
        ("- one\n- two", "<ul><li>one</li><li>two</li></ul>"),
        ("1. one\n2. two", "<ol><li>one</li><li>two</li></ol>"),
        (r"\- one", "<p>- one</p>"),
        (r"[a \[b\]](https://x.example/)", '<p><a href="https://x.example/" rel="noreferrer">a [b]</a></p>'),
        ("[a](javascript:alert)", "<p>[a](javascript:alert)</p>"),
        ("<https://x.example/>", '<p><a href="https://x.example/" rel="noreferrer">https://x.example/</a></p>'),
        ("<@&12> @here", '<p><span class="mention">@&amp;12</span> <span class="mention">@here</span></p>'),
        (r"\<\@&12\> \@here", "<p>&lt;@&amp;12&gt; @here</p>"),
        ("<script>", "<p>&lt;script&gt;</p>"),
        ("", ""),
    ],
)
def test_discords_markdown_is_drawn_and_escaped_marks_are_characters(markdown: str, shown: str) -> None:
    assert str(discord.markdown(markdown)) == shown


BLOCKS: list[object] = [
    {"type": "header", "text": {"type": "plain_text", "text": "New · 2 entries"}},
    {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_section",
                "elements": [
                    {"type": "broadcast", "range": "here"},
                    {"type": "user", "user_id": "U1"},
                    {"type": "usergroup", "usergroup_id": "S1"},
                    {"type": "link", "url": "https://x.example/", "text": "a", "style": {"bold": True}},
                    {"type": "link", "url": "javascript:x", "text": "b"},
                    {"type": "text", "text": "c<", "style": {"code": True, "italic": True, "strike": True}},
                    {"type": "emoji", "name": "wave"},
                ],
            },
            {"type": "rich_text_quote", "elements": [{"type": "text", "text": "q"}]},
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "p"}]},
            {
                "type": "rich_text_list",
                "style": "ordered",
                "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "i"}]}],
            },
        ],
    },
    {"type": "image", "image_url": "https://x.example/i.png", "alt_text": "i"},
    {"type": "context", "elements": [{"type": "plain_text", "text": "feed"}]},
    {"type": "divider"},
]


def test_slacks_blocks_are_drawn_and_unknown_ones_are_left_out() -> None:
    drawn = str(slack.draw({"text": "x", "blocks": BLOCKS}))  # type: ignore[dict-item]
    for part in (
        '<p class="header">New · 2 entries</p>',
        '<span class="mention">@here</span><span class="mention">@U1</span><span class="mention">@S1</span>',
        '<b><a href="https://x.example/" rel="noreferrer">a</a></b>b',
        "<s><i><code>c&lt;</code></i></s>",
        "<blockquote>q</blockquote><pre>p</pre><ol><li>i</li></ol>",
        '<p class="context">feed</p>',
    ):
        assert part in drawn
    assert "<img" not in drawn
    assert str(slack.draw({"text": "a &lt;b&gt; &amp;amp;"})) == "<p>a &lt;b&gt; &amp;amp;</p>"


def test_a_digest_is_drawn_on_both() -> None:
    cards = tuple(Card(title=f"Post {n}", link=f"https://x.example/{n}", tags=("bgp",)) for n in range(3))
    digest = Message(
        kind=MessageKind.DIGEST,
        key="k",
        created_at=NOW,
        heading="Daily digest · 3 entries",
        sections=(Section(heading="", cards=cards),),
    )
    for drawn in (slack.draw(slack_layout.to_payload(digest)), discord.draw(discord_layout.to_payload(digest))):
        assert "Dailydigest·3entries" in text_of(str(drawn))
        assert str(drawn).count("<li>") == 3


# --- the page --------------------------------------------------------------------------------------------------------


async def test_each_message_is_shown_as_slack_discord_and_mail_show_it() -> None:
    async with serve(Bot(messages=inbox_messages())) as (bot, client):
        text = await (await client.get(bot.url + "/inbox")).text()
        assert text.count('class="slack"') == text.count('class="discord"') == text.count('class="mail"') == 8
        frames = re.findall(r'<iframe src="([^"]+)"[^>]+sandbox="([^"]*)"', text)
        assert len(frames) == 8
        source, sandbox = frames[0]
        assert "allow-scripts" not in sandbox
        assert "allow-same-origin" not in sandbox
        answer = await client.get(bot.url + source)
        assert "script-src" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'unsafe-inline'")
        assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
        document = await answer.text()
        assert '<base target="_blank">' in document
        assert "withdraws" in document
        assert (await client.get(f"{bot.url}/inbox/mail/unknown")).status == 404


def test_a_plain_mail_is_shown_as_its_text() -> None:
    payload = email_layout.to_payload(message("t", HOSTILE), sender="Bell <b@x.example>", plain=True)
    found = mail.read(payload)
    assert (found.sender, found.address, found.subject) == ("Bell", "b@x.example", "t")
    assert "<script" not in mail.document(found)
    assert mail.LEAST <= found.height <= mail.MOST


@dataclass(frozen=True)
class Got:
    destination: DestinationUid
    key: str
    title: str
    payload: Payload
    at: datetime = datetime(2026, 9, 16, tzinfo=UTC)


def test_what_several_destinations_got_of_one_entry_is_one_message_newest_first() -> None:
    s, d, e = (DestinationUid(uid) for uid in ("slack:#x", "discord:1", "email:a@x.example"))
    later = NOW + timedelta(hours=1)
    found = collect(
        [
            Got(s, "1s", "One", {"text": "a"}),
            Got(d, "1d", "One", {"content": "a"}),
            Got(s, "2s", "Two", {"text": "b"}),
            Got(e, "1e", "One", {"text": "a"}),
            Got(s, "1s", "One, put right", {"text": "edited"}),
            Got(s, "3s", "One", {"text": "c"}, later),
        ]
    )
    assert [(one.title, one.at, dict(one.payloads)) for one in found] == [
        ("One", later, {"slack": {"text": "c"}}),
        ("Two", Got.at, {"slack": {"text": "b"}}),
        ("One", Got.at, {"slack": {"text": "edited"}, "discord": {"content": "a"}, "email": {"text": "a"}}),
    ]


def test_slacks_blocks_can_be_opened_where_slack_draws_them() -> None:
    blocks = [{"type": "header", "text": {"type": "plain_text", "text": "a & b #1 漢"}}]
    link = slack.builder({"text": "", "blocks": blocks})  # type: ignore[dict-item]  # JSON all through
    assert link is not None
    address, _, fragment = link.partition("#")
    assert address == "https://app.slack.com/block-kit-builder/"
    assert json.loads(unquote(fragment)) == {"blocks": blocks}
    assert slack.builder({"text": "plain"}) is None
