"""The local mail server takes good mail, refuses bad mail, and breaks only when told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime

import aiosmtplib
import pytest

from tests.servers.certificates import Certificates
from tests.servers.faults import Fault
from tests.servers.smtp import SmtpServer


def mail(subject: str = "Hi", **headers: str) -> EmailMessage:
    message = EmailMessage(policy=SMTP_POLICY)
    message["From"], message["To"], message["Subject"] = "news@example.org", "a@example.org", subject
    message["Date"] = format_datetime(datetime(2026, 9, 16, tzinfo=UTC))
    message["Message-ID"] = "<1@example.org>"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content("Text")
    return message


@pytest.fixture
async def server() -> AsyncIterator[SmtpServer]:
    async with SmtpServer() as smtp:
        yield smtp


async def send(server: SmtpServer, message: EmailMessage | None = None, to: str = "a@example.org") -> None:
    message = message or mail()
    async with aiosmtplib.SMTP(hostname=server.host, port=server.port, timeout=5, start_tls=False) as client:
        await client.send_message(message, sender="news@example.org", recipients=[to])


async def test_a_good_mail_is_stored_whole(server: SmtpServer) -> None:
    await send(server, mail("Grüße"))
    (stored,) = server.messages
    assert (stored.subject, stored.body("plain").strip(), stored.recipients) == ("Grüße", "Text", ("a@example.org",))


async def test_a_mail_without_an_id_or_with_two_subjects_is_refused(server: SmtpServer) -> None:
    bad = mail()
    del bad["Message-ID"]
    for message in (bad, mail(List_Id="<x.example.org>")):
        if message is not bad:
            message._headers.append(("Subject", "Again"))  # type: ignore[attr-defined]  # the policy forbids it
        with pytest.raises(aiosmtplib.SMTPDataError):
            await send(server, message)
    assert not server.messages
    assert "Subject stands more than once" in server.violations


async def test_a_bare_line_feed_is_refused(server: SmtpServer) -> None:
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(b"EHLO me\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<b@example.org>\r\nDATA\r\n")
    writer.write(mail().as_bytes() + b"one\ntwo\r\n.\r\nQUIT\r\n")
    answers = (await reader.read()).decode()
    writer.close()
    assert "554 5.6.0 bare CR or LF" in answers
    assert not server.messages


@pytest.mark.parametrize(("kind", "stored"), [("rst", True), ("fin", True), ("fin", False)])
async def test_a_drop_after_the_last_dot_may_have_stored(server: SmtpServer, kind: str, stored: bool) -> None:
    server.faults.add(Fault(kind=kind, match="END", store=stored))
    with pytest.raises((aiosmtplib.SMTPException, OSError)):
        await send(server)
    assert len(server.messages) == stored
    await send(server)


@pytest.mark.parametrize("stage", ["CONNECT", "EHLO", "MAIL", "RCPT", "BODY"])
async def test_a_drop_before_the_last_dot_stores_nothing(server: SmtpServer, stage: str) -> None:
    server.faults.add(Fault(kind="rst", match=stage))
    with pytest.raises((aiosmtplib.SMTPException, OSError)):
        await send(server)
    assert not server.messages
    await send(server)
    assert len(server.messages) == 1


async def test_replies_can_be_ordered_for_one_recipient(server: SmtpServer) -> None:
    server.set(refused={"b@example.org": "550 5.1.1 no such user"})
    with pytest.raises(aiosmtplib.SMTPRecipientsRefused):
        await send(server, to="b@example.org")
    server.faults.add(Fault(kind="status", match="RCPT a@", status=451, body="4.3.0 later"))
    with pytest.raises(aiosmtplib.SMTPRecipientsRefused):
        await send(server)
    await send(server)
    assert len(server.messages) == 1


async def test_421_closes(server: SmtpServer) -> None:
    server.faults.add(Fault(kind="status", match="MAIL", status=421))
    with pytest.raises(aiosmtplib.SMTPException):
        await send(server)


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_tls_and_login_are_required_when_asked_for(security: str) -> None:
    made = Certificates()
    async with SmtpServer(security=security, tls=made.server_context(), username="news", password="secret") as server:
        client = aiosmtplib.SMTP(
            hostname="localhost",
            port=server.port,
            timeout=5,
            use_tls=security == "tls",
            start_tls=security == "starttls",
            tls_context=made.client_context(),
        )
        async with client:
            with pytest.raises(aiosmtplib.SMTPException):
                await client.send_message(mail())
            with pytest.raises(aiosmtplib.SMTPAuthenticationError):
                await client.login("news", "wrong")
            await client.login("news", "secret")
            await client.send_message(mail())
        assert server.messages[0].tls


async def test_a_wrong_certificate_is_not_trusted() -> None:
    made = Certificates()
    async with SmtpServer(security="tls", tls=made.server_context("expired")) as server:
        client = aiosmtplib.SMTP(
            hostname="localhost", port=server.port, timeout=5, use_tls=True, tls_context=made.client_context()
        )
        with pytest.raises(aiosmtplib.SMTPException):
            await client.connect()
