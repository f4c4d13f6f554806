"""`python -m tests.cases.moved …` is `python -m bot …` whose one door to the time leads into a case.

The file named by CASE_CLOCK holds how many seconds the case is ahead of the machine. Everything else is the product.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import bot.app.ticking
import bot.clock
from bot.cli import main

FILE = Path(os.environ["CASE_CLOCK"])


class MovedClock(bot.clock.SystemClock):
    def now(self) -> datetime:
        return super().now() + timedelta(seconds=float(FILE.read_text()))


if __name__ == "__main__":
    bot.clock.SystemClock = MovedClock  # type: ignore[misc]  # the door itself is replaced
    # Days pass in seconds here: what happens each second would otherwise miss whole hours.
    bot.app.ticking.TICK = timedelta(milliseconds=100)
    main()
