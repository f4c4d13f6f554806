"""The identity of a delivery: from content alone, so that a restored backup finds what it already sent (R-11)."""

import hashlib


def idem(feed_id: str, entry_key_hex: str, destination: str, kind: str) -> str:
    """Return 32 hex digits that name one message to one destination.

    A digest's `entry_key_hex` is what its members' idems make; a notice's says what happened, to whom, since when.
    Neither has a feed. `kind` is a DeliveryKind's value; an edit's carries its number, "edit:2".
    """
    identity = f"v1|{feed_id}|{entry_key_hex}|{destination}|{kind}"
    return hashlib.sha256(identity.encode()).hexdigest()[:32]
