"""Takes one Content-Encoding off a body, piece by piece and never past a limit (T5)."""

import zlib
from collections.abc import Iterator
from typing import Final

from bot.core.errors import FetchError

PIECE: Final = 1 << 20  # bytes inflated at a time, some 2 ms of CPU
MAX_MEMBERS: Final = 16  # of one gzip body; honest servers send one

# What servers write there that compresses nothing; the last ones belong into other headers.
_NO_ENCODING: Final = frozenset({"", "identity", "none", "utf-8", "utf8", "8bit", "binary"})

_GZIP: Final = 31
_ZLIB: Final = 15
_RAW: Final = -15


class Plain:
    """The decoder of a body that has no encoding."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        yield chunk

    def finish(self) -> None:
        """Raise FetchError if the body ended too early."""


class Inflater:
    """The decoder of gzip and deflate."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._zip = zlib.decompressobj(_GZIP) if name == "gzip" else None
        self._head = b""  # of a deflate body, until it shows which of its two kinds it is
        self._members = 1
        self._fed = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what `chunk` holds, at most PIECE bytes at a time. Raises FetchError if it is not `name`."""
        self._fed = self._fed or bool(chunk)
        try:
            yield from self._inflate(chunk)
        except zlib.error as error:
            raise FetchError(f"the answer says it is {self._name}, but it is not") from error

    def finish(self) -> None:
        if self._fed and (self._zip is None or not self._zip.eof):
            raise FetchError("the compressed answer broke off before its end")

    def _inflate(self, chunk: bytes) -> Iterator[bytes]:
        if self._zip is None:
            self._head += chunk
            if len(self._head) < 2:
                return
            chunk, self._head = self._head, b""
            self._zip = zlib.decompressobj(_ZLIB if _has_zlib_head(chunk) else _RAW)
        while chunk:
            if self._zip.eof and not self._next_member(chunk):
                return
            piece = self._zip.decompress(chunk, PIECE)
            if piece:
                yield piece
            chunk = self._zip.unused_data if self._zip.eof else self._zip.unconsumed_tail

    def _next_member(self, chunk: bytes) -> bool:
        """Start the next member of a gzip body; anything else behind the end is padding, and ignored."""
        if self._name != "gzip" or not chunk.startswith(b"\x1f"):
            return False
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise FetchError("the answer is compressed in too many parts")
        self._zip = zlib.decompressobj(_GZIP)
        return True


def _has_zlib_head(start: bytes) -> bool:
    """RFC 1950: deflate means zlib's format, but some servers send the bare stream."""
    return start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0


def decoder(encodings: list[str]) -> Plain | Inflater:
    """Choose by the values of all Content-Encoding headers. Raises FetchError for more than one layer, or another."""
    names = [name.strip().lower() for value in encodings for name in value.split(",")]
    layers = [name.removeprefix("x-") for name in names if name not in _NO_ENCODING]
    if not layers:
        return Plain()
    if len(layers) > 1:
        raise FetchError("the answer is compressed more than once")
    if layers[0] not in ("gzip", "deflate"):
        raise FetchError("the answer is compressed in a way that was not asked for")
    return Inflater(layers[0])
