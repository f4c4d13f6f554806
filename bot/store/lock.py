"""One process per SQLite file: a lock that the kernel itself gives back, also after kill -9 (R-24)."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bot.core.errors import StoreHeld, StoreUnusable


class InstanceLock:
    """Holds `<database>.lock` from construction to `release`. Raises StoreHeld, StoreUnusable."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}.lock")
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreUnusable(f"cannot open the lock {self.path}: {error.strerror}") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._fd, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._fd)
            raise StoreHeld(
                f"another feedbell uses this state: the lock {self.path} is held by process {holder}; "
                "stop that one first, or give this one another state"
            ) from error
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the lock back; the file stays, for its removal would race with the next holder."""
        if self._fd >= 0:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1


@contextmanager
def turn_in(folder: Path) -> Iterator[None]:
    """Wait until nobody else is between the lines of such a block for this folder.

    SQLite itself does not wait where two make one file a WAL database at once: the second fails at once.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without such locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
