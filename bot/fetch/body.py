"""Reads a body within the limits of size and patience."""

import asyncio
from datetime import timedelta
from typing import Final

from aiohttp import StreamReader

from bot.core.errors import FetchError
from bot.fetch.decode import decoder
from bot.fetch.limits import FetchLimits
from bot.fetch.patience import Patience
from bot.ports import Clock

PIECE: Final = 1 << 16  # bytes read at a time; more at once are joined before they are handed out
LARGE: Final = 1 << 20  # bytes; whoever asks meanwhile must not wait for more than that
BREATH: Final = timedelta(milliseconds=1)  # between two pieces of a large body, for all else that waits
_MEGABYTE: Final = 1024 * 1024


class BodyReader:
    """Reads one body (T5, T6)."""

    def __init__(self, content: StreamReader, *, patience: Patience, limits: FetchLimits, clock: Clock) -> None:
        self._content = content
        self._patience = patience
        self._limits = limits
        self._clock = clock
        self._wire = 0
        self._window_at = clock.monotonic()
        self._window_bytes = 0

    async def read(self, *, encodings: list[str], length: int | None) -> bytes:
        """Return the whole body, decoded. Raises FetchError, and whatever the connection raises."""
        if length is not None and length > self._limits.wire:
            raise too_large(self._limits.wire)
        decode = decoder(encodings)
        pieces: list[bytes] = []
        size = 0
        while chunk := await self._next():
            for piece in decode.feed(chunk):
                size += len(piece)
                if size > self._limits.decoded:
                    raise too_large(self._limits.decoded)
                pieces.append(piece)
                if size >= LARGE:
                    await self._clock.sleep(BREATH)
        decode.finish()
        if size < LARGE:
            return b"".join(pieces)
        return await asyncio.to_thread(b"".join, pieces)

    async def _next(self) -> bytes:
        self._patience.allow(self._limits.idle, "the answer stood still for too long")
        chunk = await self._content.read(PIECE)
        self._wire += len(chunk)
        if self._wire > self._limits.wire:
            raise too_large(self._limits.wire)
        self._watch_pace(len(chunk))
        return chunk

    def _watch_pace(self, count: int) -> None:
        self._window_bytes += count
        passed = self._clock.monotonic() - self._window_at
        if passed < self._limits.slow_window.total_seconds():
            return
        if self._window_bytes < self._limits.slow_rate * passed:
            raise FetchError("the answer comes too slowly")
        self._window_at += passed
        self._window_bytes = 0


def too_large(limit: int) -> FetchError:
    return FetchError(f"the answer is larger than {limit / _MEGABYTE:g} MB")
