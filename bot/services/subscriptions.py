"""Mail that its reader can end with one click: what a link says, and what a click does (RFC 8058, T24)."""

import base64
import binascii
import hashlib
import hmac
from datetime import datetime
from typing import Protocol

from bot.core.model.delivery import DeliveryKind, Owed
from bot.core.model.feed import FeedId
from bot.core.model.route import DestinationUid
from bot.ports import Clock

PROOF = 16  # bytes; guessing one of them takes longer than the mail will be read
MAX_TOKEN = 900  # characters; no link that we make is longer
EVERY_FEED = FeedId("")


class SubscriptionStore(Protocol):
    """The part of the store that remembers who wants no more."""

    async def unsubscribe(self, uid: DestinationUid, feed: FeedId | None, *, now: datetime) -> bool:
        """False: no such destination. `feed` None: of no feed any more."""


class Subscriptions:
    """Ends those that a link names; `key` signs the links, as in `unsubscribe_url`."""

    def __init__(self, store: SubscriptionStore, clock: Clock, *, key: bytes) -> None:
        self._store = store
        self._clock = clock
        self._key = key

    async def end(self, token: str) -> bool:
        """Do what a link says; False: it is none of ours, or its mailbox is none of ours any more."""
        found = read_token(token, key=self._key)
        if found is None:
            return False
        uid, feed = found
        return await self._store.unsubscribe(uid, feed if feed != EVERY_FEED else None, now=self._clock.now())


def unsubscribe_url(owed: Owed, *, public_url: str, key: bytes) -> str | None:
    """Return the link that ends what a mail tells of: its feed, or for a digest all feeds; None but for mail."""
    delivery = owed.delivery
    if not delivery.destination.startswith("email:") or delivery.kind is DeliveryKind.NOTICE or not owed.entries:
        return None
    feed = EVERY_FEED if delivery.kind is DeliveryKind.DIGEST else owed.entries[0].feed_id
    return f"{public_url.rstrip('/')}/unsubscribe/{token_of(delivery.destination, feed, key=key)}"


def token_of(uid: DestinationUid, feed: FeedId, *, key: bytes) -> str:
    """Return what proves that a link is ours: what it is about, and a keyed digest of that."""
    said = f"{uid}\n{feed}".encode()
    return base64.urlsafe_b64encode(_proof(said, key) + said).decode().rstrip("=")


def read_token(token: str, *, key: bytes) -> tuple[DestinationUid, FeedId] | None:
    """Return what a link is about; None where it is not one that we made."""
    if len(token) > MAX_TOKEN or not token.isascii():
        return None
    try:
        whole = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    proof, said = whole[:PROOF], whole[PROOF:]
    if not hmac.compare_digest(proof, _proof(said, key)):
        return None
    uid, _, feed = said.decode().partition("\n")
    return DestinationUid(uid), FeedId(feed)


def _proof(said: bytes, key: bytes) -> bytes:
    return hmac.digest(key, b"unsubscribe\n" + said, hashlib.sha256)[:PROOF]
