"""One stored mail, and what a careful server would find wrong with it.

Sources: RFC 5321 (lines, bare CR and LF), RFC 5322 (header fields and how often), RFC 6152 and 6531 (8 bit).
"""

from __future__ import annotations

import email
import email.policy
import re
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from functools import cached_property

from tests.servers.faults import Json

MAX_LINE = 998
ONCE = ("Date", "From", "Message-ID")  # the RFC asks only for Date and From; without an id no copy can be recognised
AT_MOST_ONCE: tuple[str, ...] = (
    "Sender",
    "Reply-To",
    "To",
    "Cc",
    "Subject",
    "In-Reply-To",
    "References",
    "MIME-Version",
)
AT_MOST_ONCE += ("Content-Type", "Content-Transfer-Encoding", "List-Unsubscribe", "List-Unsubscribe-Post", "List-Id")


@dataclass(frozen=True, kw_only=True)
class Mail:
    """A mail as it came: `raw` without the dots of transparency."""

    at: float
    sender: str
    recipients: tuple[str, ...]
    raw: bytes
    options: tuple[str, ...] = ()
    tls: bool = False

    @cached_property
    def message(self) -> EmailMessage:
        return email.message_from_bytes(self.raw, policy=email.policy.default)

    @property
    def message_id(self) -> str:
        return str(self.message["Message-ID"] or "")

    @property
    def subject(self) -> str:
        return str(self.message["Subject"] or "")

    def body(self, kind: str) -> str:
        """Return the decoded part of a kind, `plain` or `html`; empty if there is none."""
        part = self.message.get_body((kind,))
        return str(part.get_content()) if part is not None else ""

    def to_json(self) -> Json:
        return {
            "at": self.at,
            "sender": self.sender,
            "recipients": list(self.recipients),
            "message_id": self.message_id,
            "subject": self.subject,
            "headers": [[key, str(value)] for key, value in self.message.items()],
            "text": self.body("plain"),
            "html": self.body("html"),
            "raw": self.raw.decode("utf-8", "replace"),
            "tls": self.tls,
        }


def mail_faults(mail: Mail) -> list[str]:
    """Return everything that is wrong with a mail; each line could be a reply's text."""
    return [*_bytes_faults(mail), *_header_faults(mail)]


def _bytes_faults(mail: Mail) -> list[str]:
    faults = []
    if re.search(rb"(?<!\r)\n|\r(?!\n)", mail.raw):
        faults.append("bare CR or LF")
    if b"\0" in mail.raw:
        faults.append("NUL byte")
    if any(len(line) > MAX_LINE for line in mail.raw.split(b"\r\n")):
        faults.append("line longer than 998 bytes")
    head = mail.raw.partition(b"\r\n\r\n")[0]
    if not head.isascii() and "SMTPUTF8" not in mail.options:
        faults.append("8-bit header without SMTPUTF8")
    if not mail.raw.isascii() and not {"SMTPUTF8", "BODY=8BITMIME"} & set(mail.options):
        faults.append("8-bit body without BODY=8BITMIME")
    return faults


def _header_faults(mail: Mail) -> list[str]:
    message = mail.message
    faults = [f"{name} must stand once" for name in ONCE if len(message.get_all(name, [])) != 1]
    faults += [f"{name} stands more than once" for name in AT_MOST_ONCE if len(message.get_all(name, [])) > 1]
    if not re.fullmatch(r"<[^<>@\s]+@[^<>@\s]+>", mail.message_id):
        faults.append("Message-ID is not <left@right>")
    try:
        parsedate_to_datetime(str(message["Date"]))
    except ValueError:
        faults.append("Date cannot be read")
    faults += [f"{type(defect).__name__}: {defect}" for defect in message.defects]
    for name, value in message.items():
        faults += [f"{name}: {defect}" for defect in getattr(value, "defects", ())]
    return faults
