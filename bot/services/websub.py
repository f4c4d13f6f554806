"""WebSub: a hub pushes what polling would find later (W3C WebSub). Polling goes on, slowly."""

import hashlib
import hmac
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from bot.core.errors import FetchError, Forged
from bot.core.model.feed import FeedId, FeedState, Fetched
from bot.ports import Clock, WakeUp

log = logging.getLogger(__name__)

LEASE = timedelta(days=10)  # what we ask for; hubs may give less
RENEW_AT = 0.8  # of a lease (P20)
ASK_AGAIN = timedelta(hours=1)  # when a hub did not confirm
CLAIM = timedelta(minutes=2)
DIGESTS = ("sha512", "sha384", "sha256")
WEAK_DIGEST = "sha1"  # what it signs is not read, but large hubs know no other: it is worth a poll


class Hub(Protocol):
    async def post_form(self, url: str, fields: Mapping[str, str], *, allow_private: tuple[str, ...] = ()) -> int:
        """Post to a hub through the address guard. Raises FetchError."""


class HubStore(Protocol):
    """The part of the store that remembers what was asked of hubs, and hands out feeds for their pushes."""

    async def feeds(self) -> Sequence[FeedState]: ...

    async def claim_feed(self, feed_id: FeedId, *, now: datetime, lease: timedelta) -> FeedState | None: ...

    async def poke(self, feed_id: FeedId, *, now: datetime) -> bool: ...

    async def meta(self, name: str) -> str | None: ...

    async def put_meta(self, name: str, value: str) -> None: ...

    async def key(self) -> bytes:
        """The secret of this state, made once."""


class Ingest(Protocol):
    async def __call__(self, state: FeedState, document: Fetched) -> None:
        """Take a document as if it had been polled, and free the lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What was asked of a hub, and until when it holds; times as ISO 8601."""

    hub: str
    topic: str
    asked_at: str
    until: str | None = None
    callback: str | None = None  # where the hub pushes to

    @property
    def ends_at(self) -> datetime | None:
        return None if self.until is None else datetime.fromisoformat(self.until)

    def is_due(self, now: datetime) -> bool:
        """Whether to ask the hub (again)."""
        asked = datetime.fromisoformat(self.asked_at)
        if asked > now:  # by a clock that has been set back since
            return True
        if self.ends_at is None or not asked < self.ends_at <= asked + LEASE:
            return now - asked >= ASK_AGAIN
        return now >= asked + (self.ends_at - asked) * RENEW_AT and now - asked >= ASK_AGAIN


class WebSub:
    """Subscribes to the hubs that feeds name, confirms, takes pushes, renews."""

    def __init__(
        self,
        *,
        store: HubStore,
        hub: Hub,
        clock: Clock,
        ingest: Ingest,
        wake: WakeUp,
        public_url: Callable[[], str | None],
    ) -> None:
        self._store = store
        self._hub = hub
        self._clock = clock
        self._ingest = ingest
        self._wake = wake
        self._public_url = public_url

    async def look(self) -> None:
        """Ask for subscriptions that are wanted and not held; nothing without a public address."""
        base = self._public_url()
        for state in await self._store.feeds() if base else ():
            if base and state.memory.hub is not None and state.paused_at is None:
                await self._subscribe(state, state.memory.hub, _callback(base, state.feed.id))

    async def is_pushed(self, feed_id: FeedId) -> bool:
        """Whether a hub has promised to tell us: then polls are a day apart."""
        found, now, base = await self._load(feed_id), self._clock.now(), self._public_url()
        if found is None or not base or found.callback != _callback(base, feed_id):
            return False  # it pushes to where nobody listens any more
        # No lease is longer: a later end was reckoned by a clock that has been set back since.
        return found.ends_at is not None and now < found.ends_at <= now + LEASE

    async def confirm(self, feed_id: FeedId, query: Mapping[str, str]) -> str | None:
        """Answer a hub's verification of intent; None: this was not asked for."""
        found = await self._load(feed_id)
        if found is None or query.get("hub.topic") != found.topic or "hub.challenge" not in query:
            return None
        if query.get("hub.mode") != "subscribe":
            return None
        seconds = query.get("hub.lease_seconds", "")
        # Nobody proves to be the hub here: whoever guesses the topic may slow polling down for a lease, no longer.
        given = timedelta(seconds=int(seconds)) if seconds.isdecimal() and len(seconds) < 10 else LEASE
        lease = min(given, LEASE)
        now = self._clock.now()
        await self._save(feed_id, replace(found, asked_at=now.isoformat(), until=(now + lease).isoformat()))
        log.info("hub confirmed", extra={"feed": feed_id})
        return query["hub.challenge"]

    async def receive(self, feed_id: FeedId, body: bytes, headers: Mapping[str, str]) -> bool:
        """Take a push. False: no such subscription. Raises Forged. Header names are in lower case."""
        found = await self._load(feed_id)
        if found is None:
            return False
        is_proof = self._check(headers.get("x-hub-signature", ""), await self._secret(feed_id), body)
        now = self._clock.now()
        state = await self._store.claim_feed(feed_id, now=now, lease=CLAIM) if is_proof and body else None
        if state is None:
            # Or somebody polls it this moment: what was pushed is found by the next poll, which comes at once.
            known = await self._store.poke(feed_id, now=now)
            self._wake()
            return known
        document = Fetched(
            url=state.validators.url or state.feed.url,
            body=body,
            content_type=headers.get("content-type"),
            validators=state.validators,
        )
        await self._ingest(state, document)
        return True

    async def _subscribe(self, state: FeedState, hub: str, callback: str) -> None:
        now, feed_id = self._clock.now(), state.feed.id
        topic = state.memory.self_url or state.feed.url
        found = await self._load(feed_id)
        if found is not None and (found.hub, found.topic, found.callback) != (hub, topic, callback):
            # What the old one no longer brings would else wait for a poll that is a day away.
            await self._store.poke(feed_id, now=now)
            found = None
        if found is not None and not found.is_due(now):
            return
        until = None if found is None else found.until
        asked = Subscription(hub=hub, topic=topic, asked_at=now.isoformat(), until=until, callback=callback)
        await self._save(feed_id, asked)
        fields = {
            "hub.mode": "subscribe",
            "hub.topic": topic,
            "hub.callback": callback,
            "hub.secret": await self._secret(feed_id),
            "hub.lease_seconds": str(int(LEASE.total_seconds())),
        }
        try:
            status = await self._hub.post_form(hub, fields, allow_private=state.feed.allow_private)
        except FetchError as error:
            log.warning("hub not reached", extra={"feed": feed_id, "error": str(error)})
            return
        if status >= 300:
            log.warning("hub refused", extra={"feed": feed_id, "status": status})

    async def _secret(self, feed_id: FeedId) -> str:
        return hmac.new(await self._store.key(), f"websub|{feed_id}".encode(), hashlib.sha256).hexdigest()

    def _check(self, signature: str, secret: str, body: bytes) -> bool:
        """Whether the body may be read, or only be taken as a hint. Raises Forged."""
        method, _, given = signature.partition("=")
        if method not in (*DIGESTS, WEAK_DIGEST):
            raise Forged("a push without a signature that proves anything")
        expected = hmac.new(secret.encode(), body, method).hexdigest()
        if not hmac.compare_digest(expected.encode(), given.strip().lower().encode("utf-8", "replace")):
            raise Forged("a push whose signature does not match")
        return method in DIGESTS

    async def _load(self, feed_id: FeedId) -> Subscription | None:
        text = await self._store.meta(f"websub|{feed_id}")
        return None if text is None else Subscription(**json.loads(text))

    async def _save(self, feed_id: FeedId, subscription: Subscription) -> None:
        await self._store.put_meta(f"websub|{feed_id}", json.dumps(asdict(subscription)))


def _callback(base: str, feed_id: FeedId) -> str:
    return f"{base.rstrip('/')}/websub/{feed_id}"
