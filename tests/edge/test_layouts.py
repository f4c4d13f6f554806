"""Every platform's payload, for any text: within limits, saying what the source says, pinging nobody."""

import email
import email.policy
import html as html_module
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.model.entry import Entry
from bot.core.model.message import Message, Payload
from bot.core.render import block_lines, render_list
from bot.core.text.characters import clean, one_line
from bot.notifiers import discord_layout, email_layout, slack_layout
from bot.notifiers.console import ConsoleNotifier
from bot.notifiers.email_wire import to_bytes
from bot.notifiers.webhook import to_payload as webhook_payload
from tests.core.messages import BERLIN, SEEN, digest, entry, message, read_entries
from tests.servers.discord_limits import message_errors
from tests.servers.discord_messages import judge
from tests.servers.discord_state import message_pings as discord_pings
from tests.servers.mail import Mail, mail_faults
from tests.servers.slack_args import judge_message
from tests.servers.slack_blocks import blocks_text_size
from tests.servers.slack_pings import message_pings as slack_pings

HOSTILE = sorted((Path(__file__).parent.parent / "feeds" / "hostile" / "text").glob("*.xml"))
MARKS = "*_~`|>#-[]()<@:&\\/!$^+=. \n\tab1é漢🎉👩‍👩‍👧\u202e\u200b\ud800\0"
words = st.one_of(
    st.text(max_size=300), st.text(alphabet=MARKS, max_size=300), st.text(alphabet=MARKS).map(lambda t: t * 40)
)
entries = st.builds(
    entry,
    title=words,
    summary_html=st.one_of(
        words, words.map(html_module.escape), words.map(lambda t: f"<ul><li>{t}<li><b>{t}</b></ul>")
    ),
    text=words,
    feed_title=words,
    tags=st.lists(words, max_size=12).map(tuple),
    link=st.one_of(st.none(), words, words.map(lambda t: f"https://e.example/{t}")),
    image=st.one_of(st.none(), words.map(lambda t: f"https://e.example/{t}")),
    published=st.one_of(st.none(), st.just(SEEN)),
)
messages = st.one_of(
    st.builds(message, entries),
    st.builds(digest, st.lists(entries, min_size=1, max_size=8).map(tuple)),
    st.builds(
        lambda found, w: render_list(found, timezone=BERLIN, now=SEEN, heading=w, words=w or ""),
        st.lists(entries, max_size=11),
        st.one_of(st.none(), words),
    ),
)


def payload_faults(said: Message, *, plain: bool = False) -> None:
    """Fail where a service would refuse the message, or somebody would be pinged."""
    slack = dict(slack_layout.to_payload(said, plain=plain))
    judge_message(slack)
    assert len(str(slack["text"])) <= 4_000
    assert blocks_text_size(slack.get("blocks")) <= 10_000
    assert len(json.dumps(slack.get("metadata"))) <= 512
    assert slack_pings(slack) == []
    for webhook in (False, True):
        discord = dict(discord_layout.to_payload(said, plain=plain, webhook=webhook))
        assert message_errors(discord) == {}
        judge(discord)
        assert utf16_total(discord) <= 6_000
        allowed = discord["allowed_mentions"]
        assert allowed == {"parse": []}
        assert discord_pings(str(discord["content"]), {"parse": []}, via="api", everyone=True) == ()
    assert mail_faults(mail_of(said, plain=plain)) == []


def utf16_total(payload: Payload) -> int:
    """Count a message's embeds as strictly as anybody could: in UTF-16 units."""
    embeds = payload.get("embeds")
    texts = []
    for embed in embeds if isinstance(embeds, list) else []:
        assert isinstance(embed, dict)
        texts += [embed.get("title"), embed.get("description")]
        footer = embed.get("footer")
        texts.append(footer["text"] if isinstance(footer, dict) else None)
    return sum(len(text.encode("utf-16-le")) // 2 for text in texts if isinstance(text, str))


def mail_of(said: Message, *, plain: bool = False) -> Mail:
    payload = email_layout.to_payload(said, sender="news@example.org", plain=plain)
    raw = to_bytes(payload, recipient="team@example.org", message_id="<a.b@example.org>")
    return Mail(at=0.0, sender="news@example.org", recipients=("team@example.org",), raw=raw)


@given(messages)
@settings(max_examples=300)
def test_any_message_is_within_every_services_limits(said: Message) -> None:
    payload_faults(said)
    payload_faults(said, plain=True)


# --- what a reader sees -------------------------------------------------------------------------------------------


def slack_text(value: object) -> str:
    """Return what Slack shows of blocks: text elements as they are."""
    if isinstance(value, list):
        return "".join(map(slack_text, value))
    if isinstance(value, dict):
        own = value.get("text")
        return own if isinstance(own, str) else slack_text(own) + slack_text(value.get("elements"))
    return ""


def discord_text(markdown: str) -> str:
    """Return what Discord shows: escapes resolved, and every mark that is not escaped taken away."""
    return re.sub(r"\\([^A-Za-z0-9\s])|\*\*|\*|~~|`|_", lambda m: m[1] or "", markdown)


@given(title=words, body=words)
@settings(max_examples=300)
def test_a_reader_sees_the_words_as_they_were_typed(title: str, body: str) -> None:
    shown = entry(title=title, summary_html=html_module.escape(body), text=clean(body), tags=(), published=None)
    said = message(shown)
    (card,) = said.cards
    host = f" ({card.host})" if card.host else ""
    expected = "\n".join([card.title + host, *block_lines(card.body)])
    if len(expected) > 140:
        return  # what is cut is the business of other tests
    blocks = slack_layout.to_payload(said)["blocks"]
    assert isinstance(blocks, list)
    assert slack_text(blocks[0]) == expected
    embeds = discord_layout.to_payload(said)["embeds"]
    assert isinstance(embeds, list)
    assert isinstance(embeds[0], dict)
    parts = [embeds[0].get("title"), embeds[0].get("description")]
    assert "\n".join(discord_text(part) for part in parts if isinstance(part, str)) == expected
    printed = str(ConsoleNotifier(io.StringIO()).to_payload(said)["text"])
    address = [str(card.link)] if card.link != card.title else []
    assert printed == "\n".join([card.title + host, "Example News", *address, *block_lines(card.body)])
    assert webhook_payload(said)["entries"][0]["title"] == card.title  # type: ignore[index,call-overload]  # one entry
    mail = email.message_from_bytes(mail_of(said).raw, policy=email.policy.default)
    assert str(mail["Subject"]) == card.title
    html = mail.get_body(("html",))
    assert html is not None
    main = re.sub(r"<br>", "\n", html.get_content().partition("<main>")[2].partition("<footer>")[0])
    assert html_module.unescape(re.sub(r"<[^>]*>", "", main)).replace("\r\n", "\n").strip() == expected.strip()


@given(st.text(alphabet=MARKS, max_size=80))
def test_unescaped_marks_of_discord_are_never_a_feeds(text: str) -> None:
    escaped = discord_layout.escape(one_line(text))
    assert discord_text(escaped) == one_line(text)
    bare = re.sub(r"\\.", "", escaped)
    assert not set(bare) & set("*_~`|>#[]<@")
    assert "://" not in bare
    assert not re.search(r"(?:^|\s)- ", bare)


# --- pings --------------------------------------------------------------------------------------------------------

FORMS = """
<!channel> <!here> <!everyone> <!channel|x> <@U0READER> <@W1|bob> <#C024BE7LR|general> <!subteam^S012345|team>
<!date^1392734382^{date}|x> @everyone @here @channel <@500> <@!500> <@&700> <#200> </deploy:500> <t:1757000000:R>
<:a:500> <id:customize> ＠everyone @EVERYONE
""".split()


def decorated(form: str) -> Iterator[str]:
    """Yield the disguises of one form: escaped once and twice, split, wrapped, doubled."""
    yield form
    yield html_module.escape(form)
    yield html_module.escape(html_module.escape(form))
    yield form[0] + "\u200b" + form[1:]
    yield f"`{form}`"
    yield f"||{form}||"
    yield f"[{form}](https://evil.example)"
    yield f"\\{form}"
    yield f"<<{form}>>"
    yield form * 2


CORPUS = [one for form in FORMS for one in decorated(form)]


def test_there_are_two_hundred_ways_to_try() -> None:
    assert len(CORPUS) >= 200


@pytest.mark.parametrize("evil", CORPUS)
def test_nobody_is_pinged_by_a_feed(evil: str) -> None:
    shown = entry(
        title=evil,
        feed_title=evil,
        author=evil,
        tags=(evil,),
        summary_html=f"<p>{evil}</p><code>{evil}</code>",
        text=evil,
    )
    said = [message(shown), digest((shown, shown)), render_list([shown], timezone=BERLIN, now=SEEN, heading=evil)]
    for one in said:
        payload_faults(one)
        payload_faults(one, plain=True)


# --- the hostile files --------------------------------------------------------------------------------------------


def hostile_entries() -> list[tuple[str, Entry]]:
    return [(path.name, found) for path in HOSTILE for found in read_entries(path, feed_id="hostile")]


def test_every_hostile_text_arrives_on_every_platform() -> None:
    found = hostile_entries()
    assert len(found) > 200
    for _, shown in found:
        said = message(shown)
        payload_faults(said)
        payload_faults(said, plain=True)


def test_no_hostile_text_makes_a_link_of_its_own() -> None:
    for name, shown in hostile_entries():
        said = message(shown)
        own = said.cards[0].link
        assert links_of(slack_layout.to_payload(said)) <= {own}, name
        payload = discord_layout.to_payload(said)
        assert set(live_links(json.dumps(payload["embeds"]))) <= {own}, name
        html = mail_of(said).body("html")
        assert {html_module.unescape(one) for one in re.findall(r'href="([^"]*)"', html)} <= {own}, name


def links_of(value: object) -> set[object]:
    if isinstance(value, list):
        return set().union(*map(links_of, value)) if value else set()
    if isinstance(value, dict):
        mine = {value["url"]} if value.get("type") == "link" else set()
        return mine.union(*map(links_of, value.values()))
    return set()


def live_links(text: str) -> list[str]:
    """Return what Discord would make clickable in descriptions: masked links and bare addresses."""
    descriptions = re.findall(r'"description": "((?:[^"\\]|\\.)*)"', text)
    unescaped = [json.loads(f'"{one}"') for one in descriptions]
    return [hit for one in unescaped for hit in re.findall(r"(?<!\\)\]\([^)]*\)|https?://\S+", one)]


@pytest.mark.parametrize("count", [1, 5, 50, 300])
def test_a_digest_leaves_out_none_of_fifty_and_counts_what_it_does_leave_out(count: int) -> None:
    found = tuple(entry(title=f"Post number {n}", link=f"https://www.example.org/{'x' * 60}/{n}") for n in range(count))
    said = digest(found, more_url="https://bell.example.org/")
    for text in (
        slack_text(slack_layout.to_payload(said)["blocks"]),
        "\n".join(
            re.findall(
                r"Post number \d+|… and \d+ more", json.dumps(discord_layout.to_payload(said), ensure_ascii=False)
            )
        ),
        str(email_layout.to_payload(said, sender="a@b.example")["text"]),
        str(slack_layout.to_payload(said, plain=True)["text"]),
        str(discord_layout.to_payload(said, plain=True)["content"]),
    ):
        shown = len(set(re.findall(r"Post number (\d+)", text)))
        left = re.search(r"… and (\d+) more", text)
        assert shown + (int(left[1]) if left else 0) == count
        assert left is None or count > 50


def test_an_entry_whose_link_has_no_room_keeps_its_title_in_plain_text() -> None:
    link = f"https://www.example.org/{'x' * 1_963}"
    kept, cut = (message(entry(title="A title", link=one)) for one in (link, f"{link}x"))
    assert discord_layout.to_payload(kept, plain=True)["content"] == f"A title — <{link}>"
    assert discord_layout.to_payload(cut, plain=True)["content"] == "A title"
    late = message(entry(title="A title", link=f"{link}x"), late=True)
    assert discord_layout.to_payload(late, plain=True)["content"] == "delayed: A title"


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<b>a</b><i>b</i>", "**a**b"),
        ("<i>a<b>b</b>c</i>", "*a*b*c*"),
        ("<b>a</b> <i>b</i>", "**a** *b*"),
        ("<b>a</b><code>c</code><i>d</i>", "**a**`c`*d*"),
    ],
)
def test_no_two_marks_of_discord_touch(html: str, shown: str) -> None:
    payload = discord_layout.to_payload(message(entry(summary_html=html)))
    assert payload["embeds"][0]["description"].endswith(f"\n{shown}")  # type: ignore[index, call-overload, union-attr]
