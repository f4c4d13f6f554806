"""One round for `once`: poll every feed, deliver what is due, end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.app.observing import start_logging
from bot.app.parts import Observers, built, opened
from bot.app.preparing import prepare
from bot.config.settings import Settings
from bot.ports import Clock
from bot.services.intake import PollEvent
from bot.services.outbox import SendEvent
from bot.store.status import DestinationRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What `once` did, and how things stand after it."""

    polls: Sequence[PollEvent]
    sends: Sequence[SendEvent]
    waiting: int
    destinations: Sequence[DestinationRow]


async def run_once(settings: Settings, clock: Clock, *, polled: Callable[[PollEvent], None]) -> Round:
    """Poll every feed, deliver all that is due (small print 2); `polled` hears of each poll as it ends."""
    start_logging(settings)
    sends: list[SendEvent] = []
    observers = Observers(polled=polled, sent=sends.append)
    async with (
        opened(settings, clock, exclusive=True) as store,
        built(settings, clock, store, observers=observers, wake=_nothing) as parts,
    ):
        await prepare(parts)
        polls = await parts.intake.poll_all()
        await parts.outbox.drain()
        waiting = await store.waiting(now=clock.now())
        return Round(polls=polls, sends=sends, waiting=waiting, destinations=await store.destination_rows())


def _nothing() -> None:
    """There is no loop to wake."""
