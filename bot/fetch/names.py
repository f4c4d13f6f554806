"""Looks host names up without letting a server that never answers hold anything else up."""

import asyncio
import socket
import threading
from collections.abc import Callable
from functools import partial

from aiohttp.abc import AbstractResolver, ResolveResult

_Addresses = list[tuple[socket.AddressFamily, str]]


class ThreadResolver(AbstractResolver):
    """One daemon thread a look-up.

    A pool would fill with look-ups that hang (the system's resolver can't be cancelled), and would keep
    the process from ending until the last of them gave up.
    """

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_Addresses] = loop.create_future()

        def look_up() -> None:
            try:
                addresses = _addresses(host, port, family)
            except OSError as error:
                _hand_over(loop, answer, partial(answer.set_exception, error))
            else:
                _hand_over(loop, answer, partial(answer.set_result, addresses))

        threading.Thread(target=look_up, name="look-up", daemon=True).start()
        return [_to_result(host, port, kind, address) for kind, address in await answer]

    async def close(self) -> None:
        """Threads that still wait end by themselves."""


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


def _hand_over(
    loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[_Addresses]", settle: Callable[[], None]
) -> None:
    def settle_if_awaited() -> None:
        if not answer.done():
            settle()

    if not loop.is_closed():
        try:
            loop.call_soon_threadsafe(settle_if_awaited)
        except RuntimeError:
            return  # the loop was closed in this very moment; nobody waits any more
