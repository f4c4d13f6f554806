"""The mail notifier against a strict local mail server, and mails as a parser sees them."""

import email
import email.policy
from collections.abc import AsyncIterator
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path

import pytest

from bot.core.errors import (
    Deferred,
    DestinationDown,
    MessageRejected,
    NotifyError,
    OutcomeUnknown,
    Scope,
)
from bot.core.model.delivery import DeliveryKind, Options, Owed
from bot.core.model.entry import Entry
from bot.core.model.message import Message
from bot.core.model.route import OnEdit
from bot.core.render import render_owed
from bot.notifiers.email import EmailNotifier, by_code, is_loopback
from bot.notifiers.email_layout import domain_of, to_payload
from bot.notifiers.email_wire import message_id_of, to_bytes
from tests.core.messages import BERLIN, delivery, digest, entry, message
from tests.edge.notifying import HandClock, to
from tests.servers.certificates import Certificates
from tests.servers.faults import Fault
from tests.servers.journal import SettableClock
from tests.servers.smtp import SmtpServer

TEAM = to("email:team@example.org")
KEY = delivery().idem
SENDER = "news@example.org"


@pytest.fixture
async def server() -> AsyncIterator[SmtpServer]:
    async with SmtpServer() as running:
        yield running
        assert running.violations == []


def notifier(server: SmtpServer, **changes: object) -> EmailNotifier:
    settings: dict[str, object] = {"host": server.host, "port": server.port, "sender": SENDER, "security": "none"}
    waits = {"command_wait": timedelta(seconds=5), "final_wait": timedelta(seconds=5)}
    return EmailNotifier(clock=HandClock(), **{**settings, **waits, **changes})  # type: ignore[arg-type]  # as named


def parsed(said: Message, **more: str) -> EmailMessage:
    payload = to_payload(said, sender=more.get("sender", SENDER))
    raw = to_bytes(payload, recipient="team@example.org", message_id=message_id_of(said.key, TEAM.uid, "example.org"))
    assert raw.isascii()
    assert all(len(line) < 998 for line in raw.split(b"\r\n"))
    return email.message_from_bytes(raw, policy=email.policy.default)


def body(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body((kind,))
    return str(part.get_content()).replace("\r\n", "\n") if part is not None else ""


async def test_a_mail_arrives_with_one_recipient_and_stable_names(server: SmtpServer) -> None:
    mailer = notifier(server)
    receipt = await mailer.send(TEAM, mailer.to_payload(message()), KEY)
    await mailer.send(TEAM, mailer.to_payload(message()), KEY)
    first, second = server.to("team@example.org")
    assert first.raw == second.raw
    assert first.recipients == ("team@example.org",)
    assert first.message_id == receipt.remote_ref
    assert first.message_id == message_id_of(KEY, "email:team@example.org", "example.org")
    assert first.subject == "A title"
    assert str(first.message["From"]) == "Example News <news@example.org>"
    assert str(first.message["Date"]) == "Wed, 16 Sep 2026 09:30:00 +0000"
    assert str(first.message["List-Id"]) == "<news.example.org>"
    assert str(first.message["Auto-Submitted"]) == "auto-generated"
    assert str(first.message["Precedence"]) == "bulk"
    assert "List-Unsubscribe" not in first.message
    assert (
        first.body("plain")
        .replace("\r\n", "\n")
        .startswith("A title\nbgp · 16 Sep 2026 10:05 CEST\nhttps://www.example.org/posts/1\n\nA short summary.\n")
    )
    assert [part.get_content_type() for part in first.message.iter_parts()] == ["text/plain", "text/html"]


async def test_a_line_that_is_a_dot_does_not_end_the_mail(server: SmtpServer) -> None:
    mailer = notifier(server)
    dotted = message(entry(summary_html="<pre>one\n.\n..two\nthree</pre>"))
    await mailer.send(TEAM, {**mailer.to_payload(dotted), "text": "one\n.\n..two\nthree\n"}, KEY)
    assert server.messages[0].body("plain").replace("\r\n", "\n") == "one\n.\n..two\nthree\n"


async def test_look_ups_find_nothing_so_that_the_same_mail_is_sent_again(server: SmtpServer) -> None:
    mailer = notifier(server)
    assert await mailer.find(TEAM, {}, KEY, HandClock().now()) is None
    with pytest.raises(MessageRejected):
        await mailer.edit(TEAM, {}, "<x@y>")
    probe = await mailer.probe(TEAM)
    assert probe.can_look_up is False
    assert server.messages == []


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_tls_is_verified_against_the_configured_authority(tmp_path: Path, security: str) -> None:
    made = Certificates()
    ca_file = str(made.write_ca(tmp_path / "ca.pem"))
    async with SmtpServer(security=security, tls=made.server_context(), username="news", password="p" * 20) as server:
        good = notifier(server, security=security, ca_file=ca_file, username="news", password="p" * 20)
        await good.send(TEAM, good.to_payload(message()), KEY)
        assert server.messages[0].tls
        stranger = notifier(server, security=security, username="news", password="p" * 20)
        with pytest.raises(Deferred, match="certificate"):
            await stranger.send(TEAM, stranger.to_payload(message()), KEY)
        wrong = notifier(server, security=security, ca_file=ca_file, username="news", password="canary")
        with pytest.raises(DestinationDown) as caught:
            await wrong.send(TEAM, wrong.to_payload(message()), KEY)
        assert caught.value.scope is Scope.ACCOUNT
        assert "canary" not in str(caught.value)
        assert len(server.messages) == 1


async def test_a_server_without_starttls_gets_no_mail(server: SmtpServer) -> None:
    mailer = notifier(server, security="starttls")
    with pytest.raises(DestinationDown):
        await mailer.send(TEAM, mailer.to_payload(message()), KEY)
    assert server.messages == []


async def test_a_password_is_sent_in_clear_to_this_machine_alone(server: SmtpServer) -> None:
    far = EmailNotifier(
        host="mail.example.org", port=25, sender=SENDER, clock=HandClock(), security="none", username="u", password="p"
    )
    with pytest.raises(DestinationDown, match="without TLS"):
        await far.send(TEAM, far.to_payload(message()), KEY)
    async with SmtpServer(username="news", password="p") as near:
        mailer = notifier(near, username="news", password="p")
        await mailer.send(TEAM, mailer.to_payload(message()), KEY)
        assert len(near.messages) == 1


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("[::1]", True),
        ("a.localhost", True),
        ("localhost.example.org", False),
        ("10.0.0.1", False),
        ("mail.example.org", False),
    ],
)
def test_loopback_is_told_by_name(host: str, near: bool) -> None:
    assert is_loopback(host) is near


# --- what became of it --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(kind="status", match="CONNECT", status=421), Deferred),
        (Fault(kind="fin", match="CONNECT"), Deferred),
        (Fault(kind="fin", match="EHLO"), Deferred),
        (Fault(kind="status", match="MAIL", status=421), Deferred),
        (Fault(kind="status", match="RCPT", status=451), Deferred),
        (Fault(kind="status", match="RCPT", status=550), DestinationDown),
        (Fault(kind="status", match="RCPT", status=554), MessageRejected),
        (Fault(kind="rst", match="RCPT"), Deferred),
        (Fault(kind="status", match="END", status=451), Deferred),
        (Fault(kind="status", match="END", status=554), MessageRejected),
        (Fault(kind="fin", match="END"), OutcomeUnknown),
        (Fault(kind="rst", match="END", store=True), OutcomeUnknown),
    ],
)
async def test_the_final_dot_divides_not_sent_from_unknown(
    server: SmtpServer, fault: Fault, kind: type[NotifyError]
) -> None:
    mailer = notifier(server)
    server.faults.add(fault)
    with pytest.raises(kind) as caught:
        await mailer.send(TEAM, mailer.to_payload(message()), KEY)
    assert type(caught.value) is kind
    assert len(server.messages) == int(fault.store)
    await mailer.send(TEAM, mailer.to_payload(message()), KEY)
    assert len({mail.message_id for mail in server.messages}) == 1


async def test_a_connection_lost_before_the_dot_means_not_sent(server: SmtpServer) -> None:
    mailer = notifier(server)
    server.faults.add(Fault(kind="rst", match="BODY", at=10))
    payload = {**mailer.to_payload(message()), "text": "word " * 2_000_000}
    with pytest.raises(Deferred, match="data"):
        await mailer.send(TEAM, payload, KEY)
    assert server.messages == []


async def test_a_silent_server_after_the_dot_is_unknown_and_before_it_too_slow(server: SmtpServer) -> None:
    hasty = notifier(server, command_wait=timedelta(seconds=0.2), final_wait=timedelta(seconds=0.2))
    server.faults.add(Fault(kind="hang", match="END", seconds=2, store=True))
    with pytest.raises(OutcomeUnknown):
        await hasty.send(TEAM, hasty.to_payload(message()), KEY)
    server.faults.add(Fault(kind="hang", match="RCPT", seconds=2))
    with pytest.raises(Deferred, match="slow"):
        await hasty.send(TEAM, hasty.to_payload(message()), KEY)


async def test_what_happens_after_250_changes_nothing(server: SmtpServer) -> None:
    mailer = notifier(server)
    server.faults.add(Fault(kind="rst", match="QUIT"))
    await mailer.send(TEAM, mailer.to_payload(message()), KEY)
    assert len(server.messages) == 1


async def test_a_greylisting_server_is_given_its_five_minutes() -> None:
    clock = SettableClock()
    async with SmtpServer(clock=clock) as server:
        server.greylist = 300
        mailer = notifier(server)
        with pytest.raises(Deferred) as caught:
            await mailer.send(TEAM, mailer.to_payload(message()), KEY)
        clock.move(300)
        await mailer.send(TEAM, mailer.to_payload(message()), KEY)
        assert (len(server.messages), server.violations) == (1, [])
    assert caught.value.retry_after == timedelta(minutes=5)


async def test_nobody_there_means_surely_not_sent() -> None:
    gone = EmailNotifier(host="127.0.0.1", port=9, sender=SENDER, clock=HandClock(), security="none")
    with pytest.raises(Deferred, match="connect"):
        await gone.send(TEAM, gone.to_payload(message()), KEY)
    with pytest.raises(Deferred):
        await gone.probe(TEAM)


async def test_an_address_that_is_none_harms_nobody(server: SmtpServer) -> None:
    mailer = notifier(server)
    with pytest.raises(NotifyError):
        await mailer.send(to("email:a@b\r\nRCPT TO:<x@y>"), mailer.to_payload(message()), KEY)
    assert server.messages == []


@pytest.mark.parametrize(
    ("stage", "code", "kind"),
    [
        ("connect", 554, Deferred),
        ("login", 535, DestinationDown),
        ("login", 454, Deferred),
        ("mail", 530, DestinationDown),
        ("mail", 550, DestinationDown),
        ("mail", 552, MessageRejected),
        ("rcpt", 452, Deferred),
        ("rcpt", 552, Deferred),
        ("rcpt", 553, DestinationDown),
        ("data", 503, MessageRejected),
        ("data", 250, Deferred),
        ("dot", 552, MessageRejected),
        ("dot", 354, OutcomeUnknown),
    ],
)
def test_each_reply_means_one_thing_at_its_stage(stage: str, code: int, kind: type[NotifyError]) -> None:
    meant = by_code(stage, code, "5.1.1 <reader@example.org>: no\nsuch user")
    assert type(meant) is kind
    assert "reader@" not in str(meant)
    assert "\n" not in str(meant)


# --- how it looks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "title",
    [
        "První zpráva Čeká",
        "Новости дня 📰 — «итоги»",
        "Очень длинный заголовок про всё на свете " * 9 + "конец",
        "Plain ASCII subject, with comma",
        "=?utf-8?q?Not_an_encoded_word?= is shown as typed",
        "x" * 990,
        "ä" * 900,
        'Quotes "inside" (and) <brackets> @ everywhere; a\\b',
        "Family 👨‍👩‍👧‍👦 and flags 🏴󠁧󠁢󠁥󠁮󠁧󠁿🇩🇪",
        "مرحبا بالعالم",
        "word " * 150 + "end",
    ],
)
def test_any_title_is_the_subject_that_a_parser_reads(title: str) -> None:
    mail = parsed(message(entry(title=title)))
    assert str(mail["Subject"]) == title
    assert mail.defects == []


@pytest.mark.parametrize(
    ("sender", "feed_title", "shown"),
    [
        (SENDER, 'Café, "Planète": News; Straße', 'Café, "Planète": News; Straße'),
        (SENDER, 'News, "quoted" \\ & more', 'News, "quoted" \\ & more'),
        (SENDER, "AI Networking · Darren Qu", "AI Networking · Darren Qu"),
        (SENDER, "=?utf-8?q?x?=", "=?utf-8?q?x?="),
        (SENDER, "", "feedbell"),
        ("Our News <news@example.org>", "Feed", "Our News"),
    ],
)
def test_the_display_name_is_the_feeds_unless_one_is_configured(sender: str, feed_title: str, shown: str) -> None:
    mail = parsed(message(entry(feed_title=feed_title)), sender=sender)
    (address,) = mail["From"].addresses
    assert (address.display_name, address.addr_spec) == (shown, "news@example.org")
    assert mail["From"].defects == ()


HOSTILE = "x\r\nBcc: victim@example.org\r\n\r\nbody\0\ud800\u2028\x85\x0b y"


def hostile_entry() -> Entry:
    return entry(title=HOSTILE, feed_title=HOSTILE, author=HOSTILE, tags=(HOSTILE,), summary_html=HOSTILE, text=HOSTILE)


def test_no_text_of_a_feed_makes_a_header() -> None:
    names = parsed(message()).keys()
    mail = parsed(message(hostile_entry()))
    assert mail.keys() == names
    assert str(mail["Subject"]) == "x Bcc: victim@example.org body y"


def test_no_markup_of_a_feed_gets_into_the_html() -> None:
    bad = '</b><script>alert(1)</script> <img src=x onerror=alert(1)> "><svg onload=alert(1)>'
    mail = parsed(
        message(entry(title=bad, feed_title=bad, tags=(bad,), summary_html="<img src='https://t.example/p'>hi"))
    )
    html = body(mail, "html")
    for tag in ("<script", "<img", "<svg", "</b>", "https://t.example"):
        assert tag not in html.replace("&lt;", "‹")
    assert "&lt;script&gt;alert(1)" in html


def test_nothing_in_the_html_is_loaded_from_anywhere() -> None:
    html = body(parsed(message(entry(image="https://e.example/p.png"), options=Options(image=True))), "html")
    assert "src=" not in html
    assert "url(" not in html
    assert html.count("https://") == 1


def test_one_click_unsubscribing_stands_there_only_with_a_url_and_unbroken() -> None:
    owed = Owed(delivery=delivery(), entries=(entry(),))
    url = "https://bell.example.org/unsubscribe/" + "t" * 200
    mail = parsed(render_owed(owed, timezone=BERLIN, unsubscribe_url=url))
    assert str(mail["List-Unsubscribe"]) == f"<{url}>"
    assert str(mail["List-Unsubscribe-Post"]) == "List-Unsubscribe=One-Click"
    assert url in body(mail, "plain")


def test_the_mails_of_a_feed_make_one_thread_and_a_correction_answers_its_mail() -> None:
    first, second = parsed(message()), parsed(message(entry(title="Other"), idem="f" * 32))
    assert first["References"] == second["References"]
    assert first["Message-ID"] != second["Message-ID"]
    edit = delivery(DeliveryKind.EDIT, options=Options(on_edit=OnEdit.THREAD))
    owed = Owed(delivery=edit, entries=(entry(),), original=delivery(remote_ref="<a.b@example.org>"))
    answer = parsed(render_owed(owed, timezone=BERLIN))
    assert str(answer["In-Reply-To"]) == str(answer["References"]) == "<a.b@example.org>"
    assert str(answer["Subject"]) == "Re: A title"


def test_a_digest_reads_well_in_text_and_html() -> None:
    entries = (entry(), entry(title="Two", tags=("roce",)), entry(title="Three", link=None))
    mail = parsed(digest(entries, options=Options(heading="daily digest")))
    assert str(mail["Subject"]) == "Daily digest · 3 entries"
    text = body(mail, "plain")
    assert text.index("== bgp ==") < text.index("Three") < text.index("== roce ==") < text.index("Two")
    assert "<h2" in body(mail, "html")


def test_a_notice_says_its_words() -> None:
    owed = Owed(delivery=delivery(DeliveryKind.NOTICE, notice="feed news is gone\nlook at it"), entries=())
    mail = parsed(render_owed(owed, timezone=BERLIN))
    assert str(mail["Subject"]) == "feedbell: feed news is gone"
    assert "look at it" in body(mail, "plain")


def test_the_plain_form_has_text_alone() -> None:
    payload = to_payload(message(), sender=SENDER, plain=True)
    assert "html" not in payload
    mail = email.message_from_bytes(
        to_bytes(payload, recipient="a@b.example", message_id="<a@b>"), policy=email.policy.default
    )
    assert mail.get_content_type() == "text/plain"


def test_the_domain_of_an_address_is_ascii() -> None:
    assert domain_of("News <news@bücher.example>") == "xn--bcher-kva.example"
