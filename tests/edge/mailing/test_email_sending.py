"""Mail given to a strict local server."""

from pathlib import Path

import pytest

from bot.core.errors import (
    Deferred,
    DestinationDown,
    MessageRejected,
    Scope,
)
from bot.notifiers.email import EmailNotifier, is_loopback
from bot.notifiers.email_wire import message_id_of
from tests.core.messages import entry, message
from tests.edge.mailing.mailbox import KEY, SENDER, TEAM, notifier
from tests.edge.notifying import HandClock, to
from tests.servers.certificates import Certificates
from tests.servers.smtp import SmtpServer


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


async def test_a_domain_beyond_ascii_is_written_as_mail_servers_know_it(server: SmtpServer) -> None:
    mailer = notifier(server, sender="Bücher <news@bücher.example>")
    await mailer.send(to("email:team@müller.example"), mailer.to_payload(message()), KEY)
    (mail,) = server.messages
    assert (mail.sender, mail.recipients) == ("news@xn--bcher-kva.example", ("team@xn--mller-kva.example",))
    assert str(mail.message["From"]) == "Bücher <news@xn--bcher-kva.example>"
    assert str(mail.message["To"]) == "team@xn--mller-kva.example"


async def test_a_mailbox_beyond_ascii_is_named_as_the_fault(server: SmtpServer) -> None:
    mailer = notifier(server)
    with pytest.raises(DestinationDown, match="no mail address"):
        await mailer.send(to("email:jörg@example.net"), mailer.to_payload(message()), KEY)


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
