"""Requests as they come in: too large, or twice, repeated by the service or replayed by somebody else (T18)."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Protocol

from aiohttp import web

from bot.core.errors import Forged, StoreError
from bot.ports import Clock

MAX_BODY = 65_536  # bytes; what the platforms send is far smaller
MOST = 10_000  # requests that are remembered
KEPT_BYTES = 4_000_000  # of their answers; older ones are repeated as empty
SHARED_PATIENCE = 0.3  # seconds for the store's word; a platform waits three for ours


class SeenStore(Protocol):
    """What replicas share. A single process needs none: it remembers by itself."""

    async def inbound_seen(self, request_id: str, *, now: datetime, until: datetime) -> bool:
        """True: this request comes for the first time, to any replica."""


async def body_of(request: web.Request) -> bytes:
    """Read the whole body. Raises HTTPRequestEntityTooLarge."""
    if (request.content_length or 0) > MAX_BODY:
        raise web.HTTPRequestEntityTooLarge(MAX_BODY, request.content_length or 0)
    body = await request.read()
    if len(body) > MAX_BODY:
        raise web.HTTPRequestEntityTooLarge(MAX_BODY, len(body))
    return body


class Once:
    """Remembers requests for a while: `is_first` of an envelope or interaction, `answer` of an HTTP request."""

    def __init__(self, clock: Clock, *, keep: timedelta, store: SeenStore | None = None, most: int = MOST) -> None:
        self._clock = clock
        self._keep = keep
        self._store = store
        self._most = most
        self._seen: OrderedDict[str, tuple[float, asyncio.Future[bytes]]] = OrderedDict()
        self._bytes = 0

    async def is_first(self, key: str) -> bool:
        """Whether `key` is taken for the first time, by this process and, where a store is shared, by any."""
        return self._take(key) is None and await self._is_first_anywhere(key)

    async def answer(self, key: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return what `make` answers; for a request that was taken before the same answer, without a second effect."""
        before = self._take(key)
        if before is not None:
            return await asyncio.shield(before)
        future = self._seen[key][1]
        answer = b""
        try:
            if await self._is_first_anywhere(key):
                answer = await make()
        except Forged:
            self._seen.pop(key, None)  # it was no request at all, and will not be one the next time
            raise
        finally:
            self._keep_answer(key, future, answer)
        return answer

    def _take(self, key: str) -> "asyncio.Future[bytes] | None":
        now = self._clock.monotonic()
        while self._seen and (len(self._seen) >= self._most or next(iter(self._seen.values()))[0] <= now):
            _, (_, old) = self._seen.popitem(last=False)
            self._bytes -= len(old.result()) if old.done() else 0
        known = self._seen.get(key)
        if known is not None:
            return known[1]
        self._seen[key] = (now + self._keep.total_seconds(), asyncio.get_running_loop().create_future())
        return None

    def _keep_answer(self, key: str, future: "asyncio.Future[bytes]", answer: bytes) -> None:
        if key not in self._seen or self._bytes + len(answer) > KEPT_BYTES:
            answer = b""
        self._bytes += len(answer)
        if not future.done():
            future.set_result(answer)

    async def _is_first_anywhere(self, key: str) -> bool:
        """A store that is slow or away must not cost the answer: then this process's own memory decides."""
        if self._store is None:
            return True
        now = self._clock.now()
        try:
            async with asyncio.timeout(SHARED_PATIENCE):
                return await self._store.inbound_seen(key, now=now, until=now + self._keep)
        except (TimeoutError, StoreError):
            return True
