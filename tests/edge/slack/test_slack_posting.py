"""Messages posted to a strict local Slack."""

from collections.abc import Iterator

from slack_sdk.models.blocks import Block as SlackBlock

from bot.core.model.delivery import Options
from bot.core.model.message import JsonValue
from bot.core.render import render_list
from bot.notifiers.slack import SlackNotifier
from bot.notifiers.slack_layout import to_payload
from tests.core.messages import BERLIN, SEEN, delivery, digest, entry, message
from tests.edge.notifying import to
from tests.servers.slack import SlackServer

CHANNEL = "C0AINETWORKING"
NAMED, KNOWN = to("slack:#ai-networking"), to("slack:#ai-networking", CHANNEL)
KEY = delivery().idem


async def test_a_message_is_posted_by_name_and_its_channels_id_is_told(
    server: SlackServer, slack: SlackNotifier
) -> None:
    receipt = await slack.send(NAMED, slack.to_payload(message()), KEY)
    (stored,) = server.in_channel("#ai-networking")
    assert (receipt.remote_ref, receipt.remote_id) == (stored.ts, CHANNEL)
    assert stored.unfurl_links is stored.unfurl_media is stored.mrkdwn is False
    assert stored.text == "A title — https://www.example.org/posts/1"


async def test_a_person_gets_a_direct_message(server: SlackServer, slack: SlackNotifier) -> None:
    receipt = await slack.send(to("slack:U0READER"), slack.to_payload(message()), KEY)
    assert receipt.remote_id == "D0READER"
    assert len(server.in_channel("D0READER")) == 1


async def test_only_configured_mentions_ping(server: SlackServer, slack: SlackNotifier) -> None:
    options = Options(mentions=("<@U0READER>", "<!subteam^S012345>", "<!here>"))
    said = message(entry(title="<!channel> <@U0ADMIN> @everyone", summary_html="&lt;!here&gt;"), options=options)
    for plain in (False, True):
        await slack.send(KNOWN, slack.to_payload(said, plain=plain), KEY)
    rich, plain_one = server.in_channel(CHANNEL)
    assert rich.pings == ("U0READER", "S012345", "!here")
    assert len(plain_one.pings) == 3
    assert "&lt;!channel&gt; &lt;@U0ADMIN&gt; @everyone" in rich.text


async def test_a_digest_has_a_line_for_each_entry_though_not_every_link_finds_room(
    server: SlackServer, slack: SlackNotifier
) -> None:
    link = "https://www.example.org/" + "x" * 500
    said = digest(tuple(entry(title=f"Post {n}", link=link, tags=(f"tag {n}",)) for n in range(50)))
    payload = slack.to_payload(said)
    await slack.send(KNOWN, payload, KEY)
    titles = [part for part in parts_of(payload["blocks"]) if str(part.get("text")).startswith("Post ")]
    assert [part["text"] for part in titles] == [f"Post {n}" for n in range(50)]
    kinds = [str(part["type"]) for part in titles]
    assert kinds == sorted(kinds)
    assert 10 < kinds.count("link") < 50


def test_a_name_between_colons_is_no_picture_in_titles_of_feeds_and_digests() -> None:
    named = tuple(entry(title=f"Post {n}", feed_title=":boom: News") for n in range(2))
    heading = render_list(named, timezone=BERLIN, now=SEEN, heading="Newest posts tagged :boom:")
    for said in (message(named[0]), digest(named), heading):
        shown = [part for part in parts_of(to_payload(said)["blocks"]) if part.get("type") == "plain_text"]
        assert [part["emoji"] for part in shown] == [False] * len(shown)
        assert any(":boom:" in str(part["text"]) for part in shown)


async def test_an_answer_shows_each_of_ten_entries_however_long_they_are(
    server: SlackServer, slack: SlackNotifier
) -> None:
    text, tags = "word " * 200, tuple(f"a tag of some words {n}" for n in range(10))
    found = [
        entry(
            title=f"Post {n} {text}", link=f"https://e.example/{'x' * 200}/{n}", summary_html=text, text=text, tags=tags
        )
        for n in range(10)
    ]
    payload = slack.to_payload(render_list(found, timezone=BERLIN, now=SEEN, heading="Latest"))
    await slack.send(KNOWN, payload, KEY)
    assert [n for n in range(10) if f"Post {n} " in str(payload["blocks"])] == [*range(10)]
    assert "more" not in str(payload["blocks"])


async def test_every_block_is_one_that_slacks_own_models_know(slack: SlackNotifier) -> None:
    html = "<p>a <b>b</b> <code>c</code></p><ul><li>x</ul><ol><li>y</ol><pre>z</pre><blockquote>q</blockquote>"
    options = Options(image=True, mentions=("<!here>", "<@U0READER>", "<!subteam^S1>"))
    said = message(entry(summary_html=html, image="https://e.example/p.png"), options=options)
    for payload in (slack.to_payload(said), slack.to_payload(digest((entry(), entry(tags=("roce",)))))):
        blocks = payload["blocks"]
        assert isinstance(blocks, list)
        for block in blocks:
            assert isinstance(block, dict)
            known = SlackBlock.parse(block)
            assert known is not None
            assert known.to_dict() == block


def parts_of(value: JsonValue) -> Iterator[dict[str, JsonValue]]:
    """Yield every object in a payload."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts_of(part)
