"""The demo's prompt: `latest bgp` typed on the terminal, answered from the store."""

import asyncio
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from bot.app.parts import Parts
from bot.core.errors import UsageError
from bot.core.model.entry import Entry
from bot.core.query import LatestQuery, parse_latest
from bot.core.render import render_list
from bot.store.reading import Reading

HELP = 'type "latest", "latest bgp", "latest infiniband 3", "tags" or "quit"'


async def answer_lines(parts: Parts, stopping: asyncio.Event, wake: Callable[[], None]) -> None:
    """Answer each line of stdin until it ends."""
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    # A thread of its own, for a file or /dev/null can't be waited for; it must not keep the process from ending.
    threading.Thread(target=_read_stdin, args=(loop, lines), daemon=True).start()
    while line := await lines.get():
        words = line.strip()
        if words in ("quit", "exit", "q"):
            stopping.set()
            wake()
        elif words:
            print(await _answer(parts, words), flush=True)


def _read_stdin(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str]) -> None:
    with suppress(RuntimeError):  # the loop has ended before the lines did
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, "")


async def _answer(parts: Parts, words: str) -> str:
    command, _, text = words.removeprefix("/").partition(" ")
    if command == "tags":
        return ", ".join(await _tags(parts)) or "no tags yet"
    if command != "latest":
        return HELP
    try:
        query, entries = await parts.store.consult(partial(_latest, text))
    except UsageError as error:
        return str(error)
    if not entries:
        return f"no post tagged {query.tag}; tags: {', '.join(await _tags(parts))}" if query.tag else "no entries yet"
    message = render_list(entries, timezone=parts.settings.timezone, now=parts.clock.now())
    return str(parts.notifiers["console"].to_payload(message).get("text", ""))


def _latest(text: str, reading: Reading) -> tuple[LatestQuery, Sequence[Entry]]:
    query = parse_latest(text, has_tag=reading.has_tag, feed_ids=reading.feed_ids)
    return query, reading.latest(tag=query.folded, feed=query.feed, limit=query.count)


async def _tags(parts: Parts) -> list[str]:
    return sorted(tag for tag, _ in await parts.store.tags())
