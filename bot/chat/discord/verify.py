"""Whether a request is Discord's. Everything malformed is a forgery, never a fault of ours.

Timestamp and body are signed without anything between them, so that a byte could wander from one to the other: the
timestamp must be a plain number, and the body an object. Discord asks for no time window; we keep one all the same.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from bot.core.errors import Forged

WINDOW = 300  # seconds that clocks may differ
_STAMP = re.compile(r"\d{9,11}", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-fA-F]{128}")


def verify(public_key: str, headers: Mapping[str, str], body: bytes, *, now: datetime) -> Mapping[str, object]:
    """Return the interaction in `body`. Raises Forged."""
    stamp = headers.get("X-Signature-Timestamp", "")
    signature = headers.get("X-Signature-Ed25519", "")
    if not _STAMP.fullmatch(stamp) or not _SIGNATURE.fullmatch(signature):
        raise Forged("no timestamp or signature in Discord's form")
    if abs(now.timestamp() - int(stamp)) > WINDOW:
        raise Forged("too old, or from the future")
    try:
        VerifyKey(bytes.fromhex(public_key)).verify(stamp.encode() + body, bytes.fromhex(signature))
    except (BadSignatureError, ValueError) as error:
        raise Forged("the signature does not fit") from error
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Forged("the body is no JSON") from error
    if not isinstance(found, dict):
        raise Forged("the body is no object")
    return found
