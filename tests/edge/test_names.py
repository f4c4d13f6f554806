"""A name server that never answers keeps nothing waiting but who asked it."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import aiohttp
import pytest

from bot.fetch.names import look_up_aside

SEVERAL = 60  # more than a loop has threads
PATIENCE = 45.0  # seconds, so that the tests end also where they fail


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """No name that ends with .silent is answered; the event ends that."""
    ended, real = threading.Event(), socket.getaddrinfo

    def look_up(host: str, *rest: object, **more: object) -> object:
        if str(host).endswith(".silent"):
            ended.wait(PATIENCE)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return real(host, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield ended
    ended.set()


async def _ask(name: str) -> None:
    async with aiohttp.ClientSession() as session:
        await session.get(f"http://{name}/")


def test_work_in_threads_goes_on_and_the_process_can_end_while_names_are_looked_up(silence: threading.Event) -> None:
    async def main() -> int:
        look_up_aside(asyncio.get_running_loop())
        asked = [asyncio.create_task(_ask(f"{number}.silent")) for number in range(SEVERAL)]
        await asyncio.sleep(0.1)
        done = await asyncio.wait_for(asyncio.to_thread(lambda: 7), 30)
        assert not any(task.done() for task in asked)
        return done

    assert asyncio.run(main()) == 7
    assert sum(thread.name == "look-up" for thread in threading.enumerate()) >= SEVERAL  # still there
    assert not silence.is_set()


async def test_what_cannot_be_looked_up_is_told_to_who_asked(silence: threading.Event) -> None:
    look_up_aside(asyncio.get_running_loop())
    silence.set()
    with pytest.raises(aiohttp.ClientConnectorDNSError):
        await _ask("a.silent")
    with pytest.raises(UnicodeError):
        await asyncio.get_running_loop().getaddrinfo("a" * 64 + ".example", 80)
    assert await asyncio.get_running_loop().getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM)
