"""The identity of a delivery, from content alone, so that a restored backup finds what it already sent (R-11)."""

import hashlib


def idem(feed_id: str, entry_key: str, destination: str, kind: str) -> str:
    """32 hex digits. `entry_key` is an entry's key in hex, or stands for it: a digest's members, a notice's event."""
    name = f"v1|{feed_id}|{entry_key}|{destination}|{kind}"
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
