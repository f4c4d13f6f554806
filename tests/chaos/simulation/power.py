"""The switch of one life of the bot: at some await everything ends at once, as by SIGKILL."""

import asyncio
import random
from collections.abc import Callable

MOST_TURNS = 2  # of the loop that a call may take: others come between, in an order that the seed decides


class Power:
    """Every call of the bot to the outside passes a moment; after a cut, none of them does anything any more."""

    def __init__(self, chance: random.Random | None = None) -> None:
        self.off = asyncio.Event()
        self.disk_full = False
        self.moments = 0
        self.last = ""  # the moment at which it was cut
        self._left: int | None = None
        self._act: Callable[[], None] = self.cut
        self._chance = chance
        self.on_cut: Callable[[], None] = lambda: None

    def cut_after(self, moments: int) -> None:
        """Fail at that many moments from now, 1 is the next."""
        self.act_after(moments, self.cut)

    def act_after(self, moments: int, act: Callable[[], None]) -> None:
        """Do something else than failing at that moment; what it raises, the bot's call raises."""
        self._left, self._act = moments, act

    def cut(self) -> None:
        if not self.off.is_set():
            self.off.set()
            self.on_cut()

    async def moment(self, name: str) -> None:
        self.alive()
        turns = 1 if self._chance is None else self._chance.randrange(MOST_TURNS) + 1
        for _ in range(turns):
            await asyncio.sleep(0)
        self.alive()
        self.moments += 1
        if self._left is None:
            return
        self._left -= 1
        if self._left <= 0:
            self.last, self._left = name, None
            self._act()
            self.alive()

    def alive(self) -> None:
        """Whoever is dead does nothing more, not even in a `finally`."""
        if self.off.is_set():
            raise asyncio.CancelledError
