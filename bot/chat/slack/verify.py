"""Whether a request is Slack's (R-3). Everything malformed is a forgery, never a fault of ours."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import datetime

from bot.core.errors import Forged

WINDOW = 300  # seconds that clocks may differ
_STAMP = re.compile(r"\d{9,11}", re.ASCII)
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")


def verify(secret: str, headers: Mapping[str, str], body: bytes, *, now: datetime) -> str:
    """Return what makes this request one of a kind. Raises Forged.

    The signature is over the raw bytes, so nothing is read from the body before.
    """
    stamp = headers.get("X-Slack-Request-Timestamp", "")
    signature = headers.get("X-Slack-Signature", "")
    if not _STAMP.fullmatch(stamp) or not _SIGNATURE.fullmatch(signature):
        raise Forged("no timestamp or signature in Slack's form")
    if abs(now.timestamp() - int(stamp)) > WINDOW:
        raise Forged("too old, or from the future")
    digest = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(signature.encode(), f"v0={digest}".encode()):
        raise Forged("the signature does not fit")
    return f"slack {stamp} {signature}"
