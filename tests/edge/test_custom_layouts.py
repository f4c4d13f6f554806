"""What an operator's template makes of a card, and rich feed text, in each platform's own form."""

import pytest

from bot.core.model.delivery import Owed
from bot.core.model.entry import Entry
from bot.core.model.message import Block, Bullets, Card, Mention, Message, Paragraph, Preformatted, Quote, Text
from bot.core.render import render_owed
from bot.notifiers import discord_layout, email_layout, slack_layout
from bot.notifiers.console import ConsoleNotifier
from bot.notifiers.discord_layout import markdown, masked_link
from tests.core.messages import BERLIN, delivery, digest, entry
from tests.servers.discord_limits import message_errors
from tests.servers.slack_blocks import block_errors

LINK = "https://www.example.org/posts/1_(x)"


def layout(entry: Entry, card: Card) -> tuple[Block, ...]:
    head = (Text(text=card.title, href=LINK, bold=True), Text(text=" by "), Text(text="someone", italic=True))
    listed = Bullets(items=((Text(text="x < y"),), (Text(text="z", code=True),)), ordered=True)
    return (Paragraph(spans=head), Quote(spans=(Text(text="a\nb", strike=True),)), Preformatted(text="c * d"), listed)


def templated() -> Message:
    return render_owed(Owed(delivery=delivery(), entries=(entry(),)), timezone=BERLIN, template=layout)


def test_slack_shows_a_template_as_rich_text() -> None:
    payload = slack_layout.to_payload(templated())
    (block,) = payload["blocks"]  # type: ignore[misc]  # one block
    assert block_errors([block]) == []
    kinds = [part["type"] for part in block["elements"]]  # type: ignore[index,call-overload]  # a rich_text block
    assert kinds == ["rich_text_section", "rich_text_quote", "rich_text_preformatted", "rich_text_list"]
    assert {"type": "link", "url": LINK, "text": "A title", "style": {"bold": True}} == block["elements"][0][
        "elements"
    ][0]  # type: ignore[index,call-overload]


def test_discord_shows_a_template_as_markdown() -> None:
    payload = dict(discord_layout.to_payload(templated()))
    assert message_errors(payload) == {}
    (embed,) = payload["embeds"]  # type: ignore[misc]  # one embed
    assert embed == {
        "description": "**[A title](https://www.example.org/posts/1_%28x%29)** by *someone*\n"
        "> a\n> b\n```\nc * d\n```\n1. x \\< y\n2. `z`"
    }


def test_mail_and_console_show_a_template() -> None:
    payload = email_layout.to_payload(templated(), sender="news@example.org")
    assert f'<a href="{LINK}"><strong>A title</strong></a> by <em>someone</em>' in str(payload["html"])
    assert "<ol><li" in str(payload["html"])
    assert "x &lt; y" in str(payload["html"])
    text = f"A title <{LINK}> by someone\n> a\n> b\n    c * d\n1. x < y\n2. z"
    assert text in str(payload["text"])
    assert ConsoleNotifier.to_payload(None, templated())["text"] == text  # type: ignore[arg-type]  # it needs no stream


def test_a_template_that_says_too_much_is_cut() -> None:
    def endless(entry: Entry, card: Card) -> tuple[Block, ...]:
        return tuple(Paragraph(spans=(Text(text="word " * 300),)) for _ in range(100))

    said = render_owed(Owed(delivery=delivery(), entries=(entry(),)), timezone=BERLIN, template=endless)
    assert block_errors(slack_layout.to_payload(said)["blocks"]) == []
    assert message_errors(dict(discord_layout.to_payload(said))) == {}


def test_a_template_can_not_ping() -> None:
    blocks = [Paragraph(spans=(Mention(literal="<@500>"), Text(text=" @everyone")))]
    assert markdown(blocks) == "\\<\\@500\\> \\@everyone"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "[plain](https://e.example/)"),
        ("a [b] c", "a \\[b\\] c <https://e.example/>"),
        ("https://good.example", "https\\://good.example <https://e.example/>"),
    ],
)
def test_a_label_that_discord_would_not_take_stands_beside_its_link(text: str, shown: str) -> None:
    assert masked_link(text, "https://e.example/") == shown


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (Preformatted(text="a ``` b"), "a \\`\\`\\` b"),
        (Paragraph(spans=(Text(text=" x ", bold=True),)), " **x** "),
        (Paragraph(spans=(Text(text="a`b", code=True),)), "a\\`b"),
        (Paragraph(spans=(Text(text=" ", bold=True), Text(text="y"))), " y"),
        (Paragraph(spans=(Text(text="|"), Text(text="|z||"))), "\\|\\|z\\|\\|"),
        (Paragraph(spans=(Text(text="https:"), Text(text="//e.example"))), "https\\://e.example"),
        (Bullets(items=((Text(text="- # x"),),)), "- \\- \\# x"),
        (Quote(spans=(Text(text="> x"),)), "> \\> x"),
    ],
)
def test_markdown_of_feed_text_is_only_ours(block: Block, shown: str) -> None:
    assert markdown([block]) == shown


def test_a_digest_across_feeds_names_each_entrys_feed() -> None:
    said = digest((entry(), entry(feed_id="two", feed_title="Second Feed")))
    for payload in (slack_layout.to_payload(said), discord_layout.to_payload(said)):
        assert "Second Feed" in str(payload)
        assert "Example News" in str(payload)


def test_a_host_that_the_title_could_hide_is_shown_everywhere() -> None:
    shown = entry(title="Sign in at good.example", link="https://evil.example/x")
    said = render_owed(Owed(delivery=delivery(), entries=(shown,)), timezone=BERLIN)
    for payload in (
        slack_layout.to_payload(said),
        slack_layout.to_payload(said, plain=True),
        discord_layout.to_payload(said),
        discord_layout.to_payload(said, plain=True),
        email_layout.to_payload(said, sender="news@example.org"),
    ):
        assert "(evil.example)" in str(payload)
