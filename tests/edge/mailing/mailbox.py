"""A notifier in front of the local mail server, and what its mails read like."""

import email
import email.policy
from datetime import timedelta
from email.message import EmailMessage

from bot.core.model.message import Message
from bot.notifiers.email import EmailNotifier
from bot.notifiers.email_layout import to_payload
from bot.notifiers.email_wire import message_id_of, to_bytes
from tests.core.messages import delivery
from tests.edge.notifying import HandClock, to
from tests.servers.smtp import SmtpServer

TEAM = to("email:team@example.org")
KEY = delivery().idem
SENDER = "news@example.org"


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
