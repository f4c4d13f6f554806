"""The identity of a delivery: from content alone, so that a restored backup finds what it already sent (R-11)."""

import hashlib
import json

from bot.core.model.message import Payload


def idem(feed_id: str, entry_key_hex: str, destination: str, kind: str) -> str:
    """Return 32 hex digits that name one message to one destination.

    A digest's `entry_key_hex` is what its members' idems make; a notice's says what happened, to whom, since when.
    Neither has a feed. `kind` is a DeliveryKind's value; an edit's carries its number, "edit:2".
    """
    identity = f"v1|{feed_id}|{entry_key_hex}|{destination}|{kind}"
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def payload_hash(payload: Payload) -> str:
    """Of what a reader would see; decides whether an edit changes anything."""
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()[:32]
