"""Bytes that look almost like what a reader expects: seeds, damaged in every way that has broken a reader before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

LONGEST = 60_000  # bytes of one input
NASTY = [
    b"", b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\xff\xfe", "\u202e".encode(),
    "\u200d".encode(), "\u2028".encode(), "\u0345".encode(), "ß".encode(), "İ".encode(), "１".encode(), "²".encode(),
    b"\r", b"\n", b"\t", b"\x1b[2J", b"\x85", b"\xc2\x9b", b"9" * 20, b"9" * 5000, b"-1", b"1e400", b"NaN", b"%00",
    b"%", b"&#0;", b"&#xD800;", b"&#x110000;", b"&#" + b"9" * 40, b"&amp;lt;", b"]]>", b"<![CDATA[", b"<!--", b"-->",
    b"<!", b"<?", b"<", b">", b'"', b"'", b"\\", b"/", b"://", b"@", b":", b"[", b"]", b"{", b"}", b"(", b")", b",",
    b"<!channel>", b"@everyone", b"|", b"`", b"*", b"{{7*7}}", b"{0.__class__}", b"javascript:", b"=?utf-8?q?x?=",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One door. `check` raises for a fault: anything but the answer or the error that the door promises."""

    name: str
    seeds: Sequence[bytes]
    tokens: Sequence[bytes]
    check: Callable[[bytes], None]


@st.composite
def inputs(draw: st.DrawFn, target: Target) -> bytes:
    """Draw a seed with up to a dozen injuries, or plain noise."""
    if draw(st.integers(0, 19)) == 0:
        return draw(st.binary(max_size=400))
    data = draw(st.sampled_from(target.seeds))
    pieces = st.sampled_from([*target.tokens, *NASTY]) | st.binary(max_size=6)
    for _ in range(draw(st.integers(0, 12))):
        data = _injured(draw, data, pieces, target)
    return data[:LONGEST]


def _injured(draw: st.DrawFn, data: bytes, pieces: st.SearchStrategy[bytes], target: Target) -> bytes:
    start = draw(st.integers(0, len(data)))
    end = min(len(data), start + draw(st.integers(0, 60)))
    match draw(st.integers(0, 6)):
        case 0:
            return data[:start] + data[end:]
        case 1:
            return data[:start]
        case 2:
            return data[:end] + data[start:end] * draw(st.sampled_from([1, 2, 50, 2000])) + data[end:]
        case 3:
            other = draw(st.sampled_from(target.seeds))
            return data[:start] + other[draw(st.integers(0, len(other))) :]
        case 4:
            return data[:start] + draw(pieces) * draw(st.sampled_from([1, 1, 1, 3, 300])) + data[start:]
        case _:
            return data[:start] + draw(pieces) + data[end:]
