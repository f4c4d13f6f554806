"""A changed configuration is taken over while the bot runs; a bad one is refused with its errors."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path

from bot.app.parts import Parts
from bot.app.preparing import sync
from bot.config.load import load, missing_secrets
from bot.config.reload import diff, needs_restart
from bot.config.settings import Settings
from bot.core.errors import ConfigError

log = logging.getLogger(__name__)


class Reloader:
    """Looks at the file at each wake-up, and reads it again when it changed or a SIGHUP came."""

    def __init__(
        self,
        parts: Parts,
        path: Path,
        *,
        wake: Callable[[], None],
        applied: Callable[[Settings], None],
        refused: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._path = path
        self._wake = wake
        self._applied = applied
        self._refused = refused
        self._seen = _stamp(path)
        self._asked = False

    def ask(self) -> None:
        """SIGHUP: read it again, changed or not; secret files may have."""
        self._asked = True
        self._wake()

    async def look(self) -> None:
        stamp = _stamp(self._path)
        if stamp == self._seen and not self._asked:
            return
        self._seen, self._asked = stamp, False
        try:
            settings = load(self._path, os.environ, with_secrets=True)
            if missing := missing_secrets(settings):
                raise ConfigError(missing)
        except ConfigError as error:
            for problem in error.problems:
                log.error("configuration refused, the old one stays in force", extra={"problem": str(problem)})
            self._refused()
            return
        await self._apply(settings)

    async def _apply(self, settings: Settings) -> None:
        old = self._parts.settings
        for key in needs_restart(old, settings):
            log.warning("this change needs a restart", extra={"key": key})
        self._parts.apply(settings)
        await sync(self._parts)
        self._applied(settings)
        for line in diff(old, settings):
            log.info("configuration changed", extra={"change": line})
        self._wake()


def reload_on_sighup(reloader: Reloader) -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reloader.ask)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What tells one state of the file from another; an editor may replace it or write into it."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
