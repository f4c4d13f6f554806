"""Looks host names up without letting a server that never answers hold anything else up."""

import asyncio
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from aiohttp.abc import AbstractResolver, ResolveResult

T = TypeVar("T")

_Addresses = list[tuple[socket.AddressFamily, str]]


class ThreadResolver(AbstractResolver):
    """Looks names up in threads of their own."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await _aside(partial(_addresses, host, port, family))
        return [_to_result(host, port, kind, address) for kind, address in found]

    async def close(self) -> None:
        """Threads that still wait end by themselves."""


def look_up_aside(loop: asyncio.AbstractEventLoop) -> None:
    """Let everybody on this loop look names up in threads of their own, also libraries that have no setting for it."""

    async def getaddrinfo(
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[tuple[Any, ...]]:
        return await _aside(partial(socket.getaddrinfo, host, port, family, type, proto, flags))

    loop.getaddrinfo = getaddrinfo  # type: ignore[method-assign]


async def _aside(look_up: Callable[[], T]) -> T:
    """Run it in a daemon thread.

    A pool would fill with look-ups that hang (the system's resolver can't be cancelled), and would keep the process
    from ending until the last of them gave up.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            found = look_up()
        except (OSError, ValueError, OverflowError) as error:  # no such name; a label or port that none can have
            _hand_over(loop, answer, partial(answer.set_exception, error))
        else:
            _hand_over(loop, answer, partial(answer.set_result, found))

    threading.Thread(target=run, name="look-up", daemon=True).start()
    return await answer


def _addresses(host: str, port: int, family: socket.AddressFamily) -> _Addresses:
    try:
        infos = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except UnicodeError as error:  # a label that no name can have
        raise socket.gaierror(socket.EAI_NONAME, "no name") from error
    return [(info[0], str(info[4][0])) for info in infos]


def _to_result(hostname: str, port: int, family: socket.AddressFamily, address: str) -> ResolveResult:
    return ResolveResult(
        hostname=hostname, host=address, port=port, family=family, proto=socket.IPPROTO_TCP, flags=socket.AI_NUMERICHOST
    )


def _hand_over(loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[T]", settle: Callable[[], None]) -> None:
    def settle_if_awaited() -> None:
        if not answer.done():
            settle()

    if not loop.is_closed():
        try:
            loop.call_soon_threadsafe(settle_if_awaited)
        except RuntimeError:
            return  # the loop was closed in this very moment; nobody waits any more
