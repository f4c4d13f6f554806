"""Open pages are told, by server-sent events, that something has changed; what it was they read from the page anew."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Final

from aiohttp import web

from bot.ports import Clock

STREAMS: Final = 20  # at once; a page that finds no room shows what it has, like one without JavaScript
LASTS: Final = timedelta(seconds=25)  # then the browser asks again, and with that whether it may
GAP: Final = timedelta(seconds=2)  # between two events of a stream, however much happens
AGAIN: Final = 1000  # ms until a browser asks again


class Live:
    """Counts changes. A browser says which it has seen, so that between two streams none is lost."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._birth = f"{clock.now().timestamp():.6f}"  # so that nobody takes the counting of another process for ours
        self._count = 0
        self._bell = asyncio.Event()
        self._ended = asyncio.Event()
        self._streams: dict[int, web.Request] = {}  # a request is no key

    @property
    def mark(self) -> str:
        """The last change."""
        return f"{self._birth}-{self._count}"

    def changed(self, can_wait: bool = False) -> None:
        """What can wait, such as a poll without news, is told with the next change or the next stream."""
        self._count += 1
        if can_wait:
            return
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    async def end(self, _: web.Application) -> None:
        """Let no stream hold up a stop."""
        self._ended.set()
        self._bell.set()

    async def events(self, request: web.Request) -> web.StreamResponse:
        """One stream. Raises HTTPServiceUnavailable when there are too many."""
        if sum(one.transport is not None for one in self._streams.values()) >= STREAMS:
            raise web.HTTPServiceUnavailable(text="too many pages are open", headers={"Retry-After": "30"})
        answer = web.StreamResponse(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        answer.content_type = "text/event-stream"
        self._streams[id(request)] = request
        try:
            with suppress(ConnectionError):  # the page was closed
                await answer.prepare(request)
                await self._tell(answer, request.headers.get("Last-Event-ID") or request.query.get("since"))
        finally:
            del self._streams[id(request)]
        return answer

    async def _tell(self, answer: web.StreamResponse, seen: str | None) -> None:
        await answer.write(f"retry: {AGAIN}\n\n".encode())
        ends = self._clock.monotonic() + LASTS.total_seconds()
        while not self._ended.is_set() and (left := ends - self._clock.monotonic()) > 0:
            bell, mark = self._bell, self.mark
            if seen == mark:
                await self._clock.wait(bell, timedelta(seconds=left))
                continue
            await answer.write(f"id: {mark}\ndata: changed\n\n".encode())
            seen = mark
            await self._clock.wait(self._ended, GAP)
