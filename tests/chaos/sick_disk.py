"""A disk on which commits fail: the error that SQLite gives where a write or an fsync failed, in the real process."""

from __future__ import annotations

import sqlite3
from random import Random


def sicken(seed: int) -> None:
    """From now on in this process, each third commit fails. Of those, half stand in the file all the same."""
    from bot.store.sqlite import SqliteConnection

    random, commit = Random(seed), SqliteConnection.commit

    def failing(connection: SqliteConnection) -> None:
        fate = random.randrange(6)
        if fate != 0:
            commit(connection)  # at fate 1 it was only the word of the disk that failed
        if fate < 2:
            raise sqlite3.OperationalError("disk I/O error")

    SqliteConnection.commit = failing  # type: ignore[method-assign]
