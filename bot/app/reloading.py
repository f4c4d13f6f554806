"""A changed configuration is taken over while the bot runs; a bad one is refused with its errors."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from bot.app.parts import Parts
from bot.app.preparing import sync
from bot.config.load import load_complete
from bot.config.reload import diff, needs_restart
from bot.config.settings import Settings
from bot.core.errors import ConfigError
from bot.ports import Clock

log = logging.getLogger(__name__)

SETTLED = timedelta(milliseconds=900)  # without a change, until somebody has surely finished writing

Stamp = tuple[int, int, int] | None


class ConfigFile:
    """Tells when the configuration is to be read again: its file is another one, or a SIGHUP says that a secret's is.

    It listens from its making on: a signal that comes while the state is still being opened must not end the bot.
    """

    def __init__(self, path: Path, clock: Clock, wake: Callable[[], None]) -> None:
        self.path = path
        self.again = False
        self._clock = clock
        self._wake = wake
        self._read = stamp_of(path)
        self._found: tuple[Stamp, float] = (self._read, 0.0)  # the newest state of the file, and since when it is so
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._ask)

    def _ask(self) -> None:
        self.again = True
        self._wake()

    def take(self) -> bool:
        """Whether to read it now: asked for, or the file is another one than the last time, and stays so.

        Half a file may be a whole configuration, of fewer routes: what is owed to the others would be given up.
        """
        stamp, now = stamp_of(self.path), self._clock.monotonic()
        if stamp != self._found[0]:
            self._found = (stamp, now)
        is_written = stamp != self._read and now - self._found[1] >= SETTLED.total_seconds()
        if not self.again and not is_written:
            return False
        self._read, self.again = stamp, False
        return True


class Reloader:
    """Looks at the file at each wake-up, and reads it again when it changed or a SIGHUP came."""

    def __init__(
        self,
        parts: Parts,
        file: ConfigFile,
        *,
        wake: Callable[[], None],
        applied: Callable[[Settings], None],
        refused: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._file = file
        self._wake = wake
        self._applied = applied
        self._refused = refused
        self._started = self._known = parts.settings  # what runs since the start; what the store knows

    async def look(self) -> None:
        """Raises StoreUnavailable; what the store does not know yet, it is told at the next wake-up."""
        if self._file.take():
            await self._read_again()
        if self._known is not self._parts.settings:
            await self._make_known(self._parts.settings)

    async def _read_again(self) -> None:
        before = self._parts.settings
        try:
            # Thousands of feeds take half a second.
            settings = await asyncio.to_thread(load_complete, self._file.path, os.environ)
            self._parts.apply(settings)  # which may find mistakes in a template
        except ConfigError as error:
            for problem in error.problems:
                log.error("configuration refused, the old one stays in force", extra={"problem": str(problem)})
            self._refused()
            return
        waits = needs_restart(self._started, settings)
        for key in needs_restart(before, settings):
            if key in waits:  # what was taken back runs already
                log.warning("this change needs a restart", extra={"key": key})
        self._applied(settings)

    async def _make_known(self, settings: Settings) -> None:
        await sync(self._parts)
        for line in diff(self._known, settings):
            log.info("configuration changed", extra={"change": line})
        self._known = settings
        self._wake()


def stamp_of(path: Path) -> Stamp:
    """What tells one state of the file from another; an editor may replace it or write into it."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
