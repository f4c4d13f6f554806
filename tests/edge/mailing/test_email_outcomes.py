"""What each reply of a mail server means."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.errors import (
    Deferred,
    DestinationDown,
    MessageRejected,
    NotifyError,
    OutcomeUnknown,
)
from bot.notifiers.email import EmailNotifier, by_code
from tests.core.messages import message
from tests.edge.mailing.mailbox import KEY, SENDER, TEAM, notifier
from tests.edge.notifying import HandClock, to
from tests.servers.faults import Fault
from tests.servers.journal import SettableClock
from tests.servers.smtp import SmtpServer


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(kind="status", match="CONNECT", status=421), Deferred),
        (Fault(kind="fin", match="CONNECT"), Deferred),
        (Fault(kind="fin", match="EHLO"), Deferred),
        (Fault(kind="status", match="MAIL", status=421), Deferred),
        (Fault(kind="status", match="RCPT", status=451), Deferred),
        (Fault(kind="status", match="RCPT", status=550), DestinationDown),
        (Fault(kind="status", match="RCPT", status=554), DestinationDown),
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


@pytest.mark.parametrize("host", ["smtp..example.org", f"{'x' * 70}.example.org"])
async def test_a_server_name_that_is_none_costs_no_message(host: str) -> None:
    mistyped = EmailNotifier(host=host, port=9, sender=SENDER, clock=HandClock(), security="none")
    with pytest.raises(Deferred, match="name"):
        await mistyped.send(TEAM, mistyped.to_payload(message()), KEY)
    with pytest.raises(Deferred, match="name"):
        await mistyped.probe(TEAM)


@pytest.mark.parametrize("held", [None, "no certificate"])
async def test_certificates_that_cannot_be_read_cost_no_message(tmp_path: Path, held: str | None) -> None:
    ca_file = tmp_path / "ca.pem"
    if held is not None:
        ca_file.write_text(held)
    mailer = EmailNotifier(
        host="127.0.0.1", port=9, sender=SENDER, clock=HandClock(), security="tls", ca_file=str(ca_file)
    )
    for _ in range(2):  # what failed once is not taken for good the next time
        with pytest.raises(Deferred, match="ca_file"):
            await mailer.send(TEAM, mailer.to_payload(message()), KEY)
    with pytest.raises(Deferred, match="ca_file"):
        await mailer.probe(TEAM)


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
        ("rcpt", 554, DestinationDown),
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
