"""Reads in the bot's state, beside the bot, what it has committed."""

from pathlib import Path

from bot.store.sql import Row
from bot.store.sqlite import SqliteConnection
from tests.chaos.simulation.publishing import Post


class Witness:
    """Looks at the state from the first question on; until then there may be none."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._connection: SqliteConnection | None = None

    def has_intent(self, key: str) -> bool:
        """Whether the bot has written down that it is about to send this."""
        row = self._row("SELECT state FROM delivery WHERE idem = :name", key)
        return row is not None and row["state"] == "sending"

    def is_stored(self, post: Post) -> bool:
        return self._row("SELECT id FROM entry WHERE link = :name", post.link) is not None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _row(self, sql: str, name: str) -> Row | None:
        if self._connection is None:
            self._connection = SqliteConnection(self._state, readonly=True)
        return self._connection.row(sql, name=name)
