"""A mail as bytes: headers that can't be forged, folded so that every reader decodes them, and MIME bodies.

Python's default policy folds and encodes addresses and URLs it should not touch (RFC 8058 needs List-Unsubscribe in
the clear), so our few headers are written here; the bodies are EmailMessage's.
"""

import hashlib
import re
from collections.abc import Mapping
from email import policy
from email.header import Header
from email.message import EmailMessage
from email.utils import parseaddr, quote

from bot.core.text.characters import one_line

_LINE = 76  # of encoded words; RFC 2047 allows 76
_SAFE = re.compile(r"[\x20-\x7e]*")
_POLICY = policy.SMTP
_BAD_BODY = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")  # a NUL passes EmailMessage, a surrogate breaks it


def to_bytes(payload: Mapping[str, object], *, recipient: str, message_id: str) -> bytes:
    """Return the mail, lines ending in CRLF; the same arguments give the same bytes."""
    headers = payload.get("headers")
    named = {str(name): str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}
    lines = [_header(name, value) for name, value in named.items()]
    lines += [f"To: {_ascii(ascii_address(recipient))}", f"Message-ID: {_ascii(message_id)}"]
    return ("\r\n".join(lines) + "\r\n").encode("ascii") + _body(payload, boundary=message_id)


def ascii_address(address: str) -> str:
    """Return an address with its domain as mail servers know it (RFC 5890); one without a domain as it is."""
    local, at, domain = address.rpartition("@")
    try:
        return f"{local}{at}{domain.encode('idna').decode('ascii')}" if at else address
    except UnicodeError:
        return address


def message_id_of(key: str, uid: str, domain: str) -> str:
    """Return the id of a delivery's mail: the same on every try, so that receivers may know it again (R-10)."""
    return f"<{key[:32]}.{hashlib.sha256(uid.encode()).hexdigest()[:8]}@{domain}>"


def _body(payload: Mapping[str, object], *, boundary: str) -> bytes:
    mail = EmailMessage(policy=_POLICY)
    mail.set_content(_clean(payload.get("text")), cte="quoted-printable")
    html = payload.get("html")
    if html is not None:
        mail.add_alternative(_clean(html), subtype="html", cte="quoted-printable")
        mail.set_boundary("=_" + hashlib.sha256(boundary.encode()).hexdigest()[:32])
    return mail.as_bytes(policy=_POLICY)


def _clean(text: object) -> str:
    return _BAD_BODY.sub("", str(text or "").replace("\r\n", "\n").replace("\r", "\n"))


def _header(name: str, value: str) -> str:
    value = one_line(value)
    if name == "From":
        return f"{name}: {_sender(value)}"
    if name == "Subject":
        return f"{name}: {_words(value, name)}"
    return f"{name}: {_ascii(value)}"


def _sender(value: str) -> str:
    name, address = parseaddr(value)
    address = ascii_address(address)
    if not name:
        return _ascii(address)
    if _is_plain(name, 200):
        return f'"{quote(name)}" <{_ascii(address)}>'
    return f"{_encoded(name, 'From')}\r\n <{_ascii(address)}>"


def _words(text: str, name: str) -> str:
    """Return unstructured text for a header: as it is where it is short ASCII, else as encoded words."""
    return text if _is_plain(text, 900) else _encoded(text, name)


def _is_plain(text: str, longest: int) -> bool:
    # "=?" would be read as the beginning of an encoded word: shown as typed, it must be encoded itself.
    return _SAFE.fullmatch(text) is not None and len(text) <= longest and "=?" not in text


def _encoded(text: str, name: str) -> str:
    return Header(text, "utf-8", maxlinelen=_LINE, header_name=name).encode(linesep="\r\n")


def _ascii(value: str) -> str:
    return re.sub(r"[^\x20-\x7e]", "", value)
