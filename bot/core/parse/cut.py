"""Cut a document into its items by byte search, before anything is decoded or parsed."""

import html
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import sha256

from bot.core.model.entry import ParsedEntry

MAX_ITEMS = 20_000  # more are not looked at by their bytes
MIN_NEEDLE = 8  # bytes of a name that is looked for without its tags around it
MAX_HEAD = 16_384  # bytes before the first item; a glance at a longer head might take too long

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
        items_hash=_hash(memoryview(body)[first.start() :]).hex(),
        head_hash=_hash(_DATES.sub(b"", body[: first.start()])).hex(),
        hashes=tuple(_hash(body[start:end]) for start, end in spans),
        spans=spans,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """A body's hash and, where it can be told without a parse, that of its items; one pass makes both."""

    body_hash: str
    items_hash: str | None
    head: bytes

    @property
    def head_hash(self) -> str | None:
        return None if self.items_hash is None else _hash(_DATES.sub(b"", self.head)).hex()


def glance(body: bytes) -> Glance:
    """Return the hashes that say whether anything but the head's dates has moved.

    Safe outside the guarded worker: a head that could be slow to search is not looked at.
    """
    first = _FIRST.search(body, 0, MAX_HEAD)
    if first is None or body.count(b"<items>", 0, first.start()) > 1:
        return Glance(body_hash=_hash(body).hex(), items_hash=None, head=b"")
    head, items = body[: first.start()], _hash(memoryview(body)[first.start() :])
    return Glance(body_hash=_hash(items + head).hex(), items_hash=items.hex(), head=head)


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


def kept(body: bytes, shape: Outline, known: Collection[bytes]) -> bytes:
    """The bytes of the items whose hashes are `known`."""
    return b"\n".join(
        body[start:end] for (start, end), item in zip(shape.spans, shape.hashes, strict=True) if item in known
    )


def stands_elsewhere(entries: Iterable[ParsedEntry], others: bytes) -> bool:
    """Whether an id or link of `entries` may also be one of the items in `others`.

    Shared ids are a fact about the whole document (N6, N7); an item known by its bytes does
    not tell its own. A false alarm costs a whole parse and nothing else.
    """
    return any(_occurs(name, others) for entry in entries for name in (entry.guid, entry.link) if name)


def _occurs(name: str, others: bytes) -> bool:
    bare = re.sub(r"^https?://(?:www\.)?", "", name, flags=re.IGNORECASE).rstrip("/")
    for written in {bare, html.escape(bare, quote=False)}:
        needle = written.encode("utf-8", "replace")
        if bare != name or len(needle) >= MIN_NEEDLE:
            if needle in others:
                return True
        elif b">" + needle + b"<" in others or b"[" + needle + b"]" in others:
            return True
    return False


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


def _hash(data: bytes | memoryview) -> bytes:
    # Processors have instructions for this one: a third of the time of Python's BLAKE2.
    return sha256(data, usedforsecurity=False).digest()[:16]
