"""A mail as a program shows it: its headers, and its HTML as a document of its own behind a frame without scripts."""

import hashlib
import html
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parseaddr

from bot.core.model.message import Payload

LINE = 40  # characters of body text in a line of the frame, about
LINE_HEIGHT = 24
BLANK_HEIGHT = 10
MARGINS = 70
LEAST, MOST = 200, 460  # the frame's height in pixels; longer mails scroll
# What follows needs no script: links leave the frame by a new tab.
SANDBOX = "allow-popups allow-popups-to-escape-sandbox"
POLICY = f"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox {SANDBOX}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    sender: str
    address: str
    subject: str
    text: str
    html: str | None
    name: str  # of the document in the frame
    height: int


def read(payload: Payload) -> Mail:
    headers = payload.get("headers")
    known = headers if isinstance(headers, Mapping) else {}
    sender, address = parseaddr(str(known.get("From", "")))
    text, markup = str(payload.get("text", "")), payload.get("html")
    body = None if markup is None else str(markup)
    return Mail(
        sender=sender or address,
        address=address,
        subject=str(known.get("Subject", "")),
        text=text,
        html=body,
        name=hashlib.sha256((body or text).encode("utf-8", "replace")).hexdigest()[:20],
        height=min(MOST, max(LEAST, _height(text))),
    )


def document(mail: Mail) -> str:
    """Return the frame's document: the mail's own HTML, its links opening elsewhere."""
    if mail.html is None:
        return f"<!DOCTYPE html><title>Mail</title><pre>{html.escape(mail.text)}</pre>"
    return mail.html.replace("<head>", '<head><base target="_blank">', 1)


def _height(text: str) -> int:
    """Guess how high a mail stands whose text this is: without a script, a frame can't ask its document."""
    lines = text.splitlines()
    return MARGINS + sum(LINE_HEIGHT * (1 + len(line) // LINE) if line else BLANK_HEIGHT for line in lines)
