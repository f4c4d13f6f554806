"""T5, T6: a body that swells, or never ends, fails its own fetch and takes little memory and no patience."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.errors import FetchError
from bot.core.model.feed import Fetched
from bot.fetch.limits import FetchLimits
from tests.edge.raw_http import IMPATIENT, NOTHING, RSS, Play, RawServer, Request, answer, feed_at, fetching

MEGABYTE = 1024 * 1024


def deflate_bomb(megabytes: int, *, wbits: int) -> bytes:
    """A stream that inflates to so many megabytes: blocks after a full flush can be repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    start = packer.compress(b" " * MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * 16 * MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + block * (megabytes // 16)


def packed(body: bytes, encoding: str) -> bytes:
    return answer("200 OK", f"Content-Encoding: {encoding}", body=body)


async def endless(_: asyncio.StreamWriter, __: Request) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"10000\r\n" + b"x" * 65536 + b"\r\n"


async def header_drip(_: asyncio.StreamWriter, __: Request) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nX-Slow: "
    while True:
        yield b"x"
        await asyncio.sleep(0.02)


async def stand_still(_: asyncio.StreamWriter, __: Request) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<rss"
    await asyncio.sleep(60)


async def drip(_: asyncio.StreamWriter, __: Request) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield b"x"
        await asyncio.sleep(0.02)


async def steady(_: asyncio.StreamWriter, __: Request) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"400\r\n" + b"x" * 1024 + b"\r\n"
        await asyncio.sleep(0.02)


BOMBS: dict[str, bytes | Play] = {
    "1 GB of gzip": packed(deflate_bomb(1024, wbits=31), "gzip"),
    "1 GB of zlib": packed(deflate_bomb(1024, wbits=15), "deflate"),
    "1 GB of raw deflate": packed(deflate_bomb(1024, wbits=-15), "deflate"),
    "10 GB of gzip": packed(deflate_bomb(9 * 1024, wbits=31), "x-gzip"),
    "the second member swells": packed(gzip.compress(RSS) + deflate_bomb(1024, wbits=31), "gzip"),
    "a million members": packed(gzip.compress(b"") * 200_000, "gzip"),
    "gzip in gzip": packed(gzip.compress(gzip.compress(RSS)), "gzip, gzip"),
    "gzip in gzip by two headers": answer(
        "200 OK", "Content-Encoding: gzip", "Content-Encoding: gzip", body=gzip.compress(gzip.compress(RSS))
    ),
    "brotli": packed(b"\x0b\x02\x80", "br"),
    "zstandard": packed(b"\x28\xb5\x2f\xfd", "zstd"),
    "50 MB as announced": answer("200 OK", f"Content-Length: {50 * MEGABYTE}", body=RSS),
}


def peak_memory() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


@pytest.mark.parametrize("name", BOMBS)
async def test_a_bomb_fails_in_little_memory(name: str) -> None:
    async with RawServer({"/feed": BOMBS[name]}) as server, fetching() as fetcher:
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
        before = peak_memory()
        with pytest.raises(FetchError, match=r"larger than|compressed"):
            await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
        assert peak_memory() - before < 64 * MEGABYTE


async def test_a_body_without_an_end_is_left_at_the_limit_of_the_wire() -> None:
    async with RawServer({"/feed": endless}) as server, fetching() as fetcher:
        with pytest.raises(FetchError, match="larger than 10 MB"):
            await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)


@pytest.mark.parametrize(
    ("page", "reason"),
    [(header_drip, "in time"), (stand_still, "stood still"), (drip, "too slowly"), (steady, "longer than")],
)
async def test_a_tar_pit_is_left_while_others_are_served(page: Play, reason: str) -> None:
    limits = replace(IMPATIENT, total=timedelta(seconds=0.6)) if page is steady else IMPATIENT
    async with RawServer({"/pit": page, "/feed": answer(body=RSS)}) as server, fetching(limits=limits) as fetcher:
        pit = asyncio.create_task(fetcher.fetch(feed_at(server.url("/pit")), server.url("/pit"), NOTHING))
        for _ in range(3):
            await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
        assert not pit.done()
        with pytest.raises(FetchError, match=reason):
            await pit


async def test_the_limits_are_those_of_the_design() -> None:
    limits = FetchLimits()
    times = (limits.connect, limits.headers, limits.idle, limits.total, limits.slow_window)
    assert [time.total_seconds() for time in times] == [10, 20, 15, 60, 20]
    assert (limits.slow_rate, limits.wire, limits.decoded) == (1024, 10 * MEGABYTE, 20 * MEGABYTE)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(RSS)),
        ("x-gzip", gzip.compress(RSS)),
        ("identity, gzip", gzip.compress(RSS)),
        ("GZIP", gzip.compress(RSS[:20]) + gzip.compress(RSS[20:])),
        ("gzip", gzip.compress(RSS) + b"\0\0\0\0"),
        ("deflate", zlib.compress(RSS)),
        ("deflate", zlib.compress(RSS, wbits=-15)),
        ("identity", RSS),
    ],
    ids=["gzip", "x-gzip", "identity, gzip", "two members", "zeros behind it", "zlib", "raw deflate", "identity"],
)
async def test_an_honest_encoding_is_read(encoding: str, body: bytes) -> None:
    async with RawServer({"/feed": packed(body, encoding)}) as server, fetching() as fetcher:
        result = await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
    assert isinstance(result, Fetched)
    assert result.body == RSS


async def test_a_body_of_just_under_the_limits_is_read() -> None:
    large = b"<rss>" + b" " * (20 * MEGABYTE - 5)
    async with RawServer({"/feed": packed(gzip.compress(large), "gzip")}) as server, fetching() as fetcher:
        result = await fetcher.fetch(feed_at(server.url("/feed")), server.url("/feed"), NOTHING)
    assert isinstance(result, Fetched)
    assert result.body == large
