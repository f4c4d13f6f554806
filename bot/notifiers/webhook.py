"""Generic webhooks after the Standard Webhooks specification: JSON by POST, signed where a key is set."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime

import aiohttp

from bot.core.errors import Deferred, DestinationDown, LookupImpossible, MessageRejected, NotifyError, OutcomeUnknown
from bot.core.model.delivery import WITHOUT_HISTORY, Destination, Probe, Receipt
from bot.core.model.message import JsonValue, Message, Payload
from bot.core.render import block_lines
from bot.notifiers.http import Answer, ask, to_bytes
from bot.ports import Clock

_PREFIX = "whsec_"


class WebhookNotifier:
    """Implements ports.Notifier for `webhook:NAME`. `urls` and `keys` are secrets, by NAME; a key is optional."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        urls: Mapping[str, str],
        clock: Clock,
        keys: Mapping[str, str] | None = None,
        agent: str = "feedbell",
    ) -> None:
        self._session = session
        self._urls = dict(urls)
        self._keys = dict(keys or {})
        self._clock = clock
        self._agent = agent

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        return to_payload(message)

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        name = destination.uid.partition(":")[2]
        url = self._urls.get(name)
        if url is None:
            raise DestinationDown(f"no URL is set for {destination.uid}")
        body = to_bytes(payload)
        headers = sign(body, id=key, at=self._clock.now(), key=self._keys.get(name))
        answer = await ask(
            self._session,
            "POST",
            url,
            service="the webhook",
            payload=body,
            headers={**headers, "User-Agent": self._agent},
        )
        if not 200 <= answer.status < 300:
            raise to_error(answer, now=self._clock.now())
        return Receipt()

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        raise MessageRejected("a webhook's message can't be changed")

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        raise LookupImpossible(WITHOUT_HISTORY["webhook"])

    async def probe(self, destination: Destination) -> Probe:
        return Probe(why_not=WITHOUT_HISTORY["webhook"])


def to_payload(message: Message) -> Payload:
    """Return the body: the kind, and what programs get of each entry; a notice has words instead."""
    entries: list[JsonValue] = [
        {"id": id, **record} for id, record in zip(message.entry_ids, message.records, strict=False)
    ]
    body: dict[str, JsonValue] = {"type": message.kind.value, "entries": entries}
    if message.heading:
        body["heading"] = message.heading
    if message.blocks:
        body["text"] = "\n".join(block_lines(message.blocks))
    return body


def sign(body: bytes, *, id: str, at: datetime, key: str | None) -> dict[str, str]:
    """Return the headers of one try: the id is the same over all of them, the time is now's."""
    stamp = str(int(at.timestamp()))
    headers = {"webhook-id": id, "webhook-timestamp": stamp}
    if key:
        signed = f"{id}.{stamp}.".encode() + body
        digest = hmac.new(key_bytes(key), signed, hashlib.sha256).digest()
        headers["webhook-signature"] = "v1," + base64.b64encode(digest).decode()
    return headers


def key_bytes(key: str) -> bytes:
    """Return what signs: behind "whsec_" it is base64, as the settings saw to; anything else counts as typed."""
    return base64.b64decode(key.removeprefix(_PREFIX)) if key.startswith(_PREFIX) else key.encode()


def to_error(answer: Answer, *, now: datetime) -> NotifyError:
    """Say what an answer outside 2xx means; the receiver knows our id, so that a second try hurts nobody."""
    status, asked = answer.status, answer.retry_after(now=now)
    words = f"the webhook answered {status}"
    if status == 429:
        return Deferred(words, retry_after=asked, throttled=True)
    if status == 503 and asked is not None:
        return Deferred(words, retry_after=asked)
    if status >= 500 or status < 300:
        return OutcomeUnknown(words)
    if status < 400:
        return DestinationDown(f"{words}: it has moved, and redirects are not followed")
    if status in (401, 403, 404, 405, 410):
        return DestinationDown(words)
    if status in (400, 413, 415, 422):
        return MessageRejected(words)
    return Deferred(words, retry_after=asked)
