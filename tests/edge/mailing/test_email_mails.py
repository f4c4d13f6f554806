"""Mails as a parser sees them."""

import email
import email.policy

import pytest

from bot.core.model.delivery import DeliveryKind, Options, Owed
from bot.core.model.entry import Entry
from bot.core.model.route import OnEdit
from bot.core.render import render_owed
from bot.notifiers.email_layout import domain_of, to_payload
from bot.notifiers.email_wire import to_bytes
from tests.core.messages import BERLIN, delivery, digest, entry, message
from tests.edge.mailing.mailbox import SENDER, body, parsed


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
