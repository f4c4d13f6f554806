"""Raw bytes on the bot's port, and what it answers."""

from __future__ import annotations

import asyncio
import logging

from tests.edge.web_bot import Bot, serve, settings

PATIENCE = 10


class Faults(logging.Handler):
    """Keeps what a handler of ours, or the server below it, calls an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(f"{record.getMessage()} {record.exc_info}")


async def ask_port(data: bytes) -> list[bytes]:
    """Send `data` as it is, and end; return the head of each answer. Fails where an error was logged."""
    bot = Bot(settings=settings(token="t0ken", poke_token="p0ke-token"))
    faults = Faults()
    logging.getLogger().addHandler(faults)
    try:
        async with serve(bot), asyncio.timeout(PATIENCE):
            assert bot.running is not None
            reader, writer = await asyncio.open_connection("127.0.0.1", bot.running.port)
            writer.write(data)
            writer.write_eof()
            whole = await _rest(reader)
            writer.close()
    finally:
        logging.getLogger().removeHandler(faults)
    assert faults.found == []
    return [piece.partition(b"\r\n\r\n")[0] for piece in whole.split(b"HTTP/1.1 ")[1:]]


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(1 << 20)
    except ConnectionError:
        return b""
