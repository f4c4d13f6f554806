"""The client sessions, one for each guard: a connection opened under one allowance is never lent to another."""

import ssl
from collections.abc import Awaitable
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver

from bot.fetch.guard import Guard

# Whether the request that runs in this task got a connection of its own; a kept one may be dead when we take it.
is_fresh: Final[ContextVar[bool]] = ContextVar("is_fresh", default=False)

# Bytes of one header: security policies of large sites go beyond the 8 kB that aiohttp takes by itself.
_MAX_FIELD: Final = 32 * 1024


class _Connector(aiohttp.TCPConnector):
    def _create_connection(self, *arguments: Any) -> Awaitable[Any]:  # type: ignore[override]
        is_fresh.set(True)
        return super()._create_connection(*arguments)


class Sessions:
    """All sessions of one fetcher, opened when first needed."""

    def __init__(self, *, tls: ssl.SSLContext | bool, resolver: AbstractResolver, keep_alive: timedelta) -> None:
        self._tls = tls
        self._resolver = resolver
        self._keep_alive = keep_alive.total_seconds()
        self._by_guard: dict[Guard, aiohttp.ClientSession] = {}

    def under(self, guard: Guard) -> aiohttp.ClientSession:
        session = self._by_guard.get(guard)
        if session is None:
            session = self._by_guard[guard] = self._open(guard)
        return session

    async def close(self) -> None:
        for session in self._by_guard.values():
            await session.close()
        self._by_guard.clear()
        await self._resolver.close()

    def _open(self, guard: Guard) -> aiohttp.ClientSession:
        connector = _Connector(
            ssl=self._tls,
            socket_factory=guard.open_socket,
            resolver=self._resolver,
            force_close=not self._keep_alive,
            keepalive_timeout=self._keep_alive or None,
            limit=0,  # whoever calls bounds how many polls are in flight
        )
        session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            max_field_size=_MAX_FIELD,
            trust_env=False,  # a proxy named in the environment would connect where our guard can't look (T3)
        )
        # aiohttp asks a second time by itself when a connection breaks, and has no public switch for that.
        session._retry_connection = False
        return session
