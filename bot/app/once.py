"""One round for `once`: poll every feed, deliver what is due, tidy up, end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.app.observing import start_logging
from bot.app.parts import Observers, built, opened
from bot.app.preparing import prepare
from bot.app.upkeep import keep_up
from bot.config.settings import Settings
from bot.core.model.feed import FeedState
from bot.core.model.status import DestinationRow
from bot.ports import Clock
from bot.services.events import PollEvent, SendEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What `once` did, and how things stand after it."""

    polls: Sequence[PollEvent]
    left: Sequence[FeedState]  # not polled: their servers asked for a later time
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
        await keep_up(parts)
        now = clock.now()
        polled_ids = {event.feed for event in polls}
        left = [state for state in await store.feeds() if state.feed.id not in polled_ids and _is_asked(state, now)]
        return Round(
            polls=polls,
            left=left,
            sends=sends,
            waiting=await store.waiting(now=now),
            destinations=await store.destination_rows(),
        )


def _is_asked(state: FeedState, now: datetime) -> bool:
    asked = state.asked_until is not None and state.asked_until > now
    return asked and state.paused_at is None and state.stopped is None


def _nothing() -> None:
    """There is no loop to wake."""
