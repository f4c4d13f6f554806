"""Cut a document into its items by byte search, before anything is decoded or parsed (performance.md, designs 2 and 3)."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import blake2b

MAX_ITEMS = 20_000  # more are not looked at by their bytes

_FIRST = re.compile(rb"<(item|entry)[\s>]")
# What a build moves although no entry did.
_DATES = re.compile(
    rb"<((?:\w+:)?(?:lastBuildDate|pubDate|updated|modified|date))\b[^<>]*>[^<]{0,200}</\1\s*>|<items>.*?</items>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A document by its bytes: hashes of its parts, and where its items are."""

    items_hash: str
    head_hash: str
    hashes: tuple[bytes, ...]  # of the items, 16 bytes each, document order
    spans: tuple[tuple[int, int], ...]


def outline(body: bytes) -> Outline | None:
    """Return the outline of `body`; None where no item can be found by its bytes (JSON, UTF-16, no items)."""
    first = _FIRST.search(body)
    if first is None:
        return None
    name = first.group(1)
    spans = _spans(body, first.start(), name)
    return Outline(
        items_hash=_hash(body[first.start() :]).hex(),
        head_hash=_hash(_DATES.sub(b"", body[: first.start()])).hex(),
        hashes=tuple(_hash(body[start:end]) for start, end in spans),
        spans=spans,
    )


def without(body: bytes, shape: Outline, known: Collection[bytes]) -> bytes:
    """Return `body` without the items whose hashes are `known`; all else stays as it is."""
    pieces: list[bytes] = []
    at = 0
    for (start, end), item in zip(shape.spans, shape.hashes, strict=True):
        if item in known:
            pieces.append(body[at:start])
            at = end
    pieces.append(body[at:])
    return b"".join(pieces)


def _spans(body: bytes, at: int, name: bytes) -> tuple[tuple[int, int], ...]:
    opening, closing = b"<" + name, b"</" + name + b">"
    spans: list[tuple[int, int]] = []
    while at >= 0 and len(spans) < MAX_ITEMS:
        end = body.find(closing, at)
        if end < 0:
            break
        spans.append((at, end + len(closing)))
        at = _next(body, opening, end + len(closing))
    return tuple(spans)


def _next(body: bytes, opening: bytes, at: int) -> int:
    while (at := body.find(opening, at)) >= 0:
        if body[at + len(opening) : at + len(opening) + 1] in (b">", b" ", b"\n", b"\t", b"\r"):
            return at
        at += len(opening)
    return -1


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
