"""The proxy breaks a connection at exactly the byte that was asked for."""

from __future__ import annotations

import aiohttp
import pytest

from tests.servers.feeds import Document, FeedServer
from tests.servers.proxy import Cut, Proxy


async def ask(url: str, *, seconds: float = 20) -> bytes:
    timeout = aiohttp.ClientTimeout(total=seconds)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as answer:
        return await answer.read()


async def test_without_a_cut_all_passes_and_is_counted() -> None:
    async with FeedServer() as feeds, Proxy(feeds.port) as proxy:
        feeds.serve("/f", Document(body=b"x" * 200_000))
        assert await ask(f"{proxy.url}/f") == b"x" * 200_000
        (passed,) = proxy.connections
        assert passed.down > 200_000
        assert passed.up > 0


@pytest.mark.parametrize("how", ["rst", "fin"])
@pytest.mark.parametrize(("side", "at", "arrives"), [("request", 20, 0), ("response", 0, 1), ("response", 100, 1)])
async def test_a_cut_fails_the_client_and_the_server_saw_what_passed(
    how: str, side: str, at: int, arrives: int
) -> None:
    async with FeedServer() as feeds, Proxy(feeds.port) as proxy:
        feeds.serve("/f", Document(body=b"x" * 1000))
        proxy.cut(Cut(side=side, at=at, how=how, times=None))
        with pytest.raises(aiohttp.ClientError):
            await ask(f"{proxy.url}/f")
        assert (proxy.connections[0].up if side == "request" else proxy.connections[0].down) == at
        assert min(len(feeds.requests), 1) == arrives
        proxy.cut()
        assert len(await ask(f"{proxy.url}/f")) == 1000


@pytest.mark.parametrize("how", ["stall", "drip"])
async def test_a_stall_or_a_drip_runs_into_the_clients_timeout(how: str) -> None:
    async with FeedServer() as feeds, Proxy(feeds.port) as proxy:
        feeds.serve("/f", Document(body=b"x" * 1000))
        proxy.cut(Cut(side="response", at=10, how=how, seconds=1 if how == "drip" else 0))
        with pytest.raises(TimeoutError):
            await ask(f"{proxy.url}/f", seconds=0.5)
        assert proxy.connections[0].down < 20
