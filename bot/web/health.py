"""Alive and ready, as truth and not as "the port answers" (R-23)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.core.model.feed import FeedId

TICK_LIMIT = timedelta(seconds=60)  # the loop looks for due work far more often
WRITER_LIMIT = timedelta(seconds=30)
WAITING_LIMIT = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive:
    """What the process knows of itself, without asking the store, which may be what hangs."""

    since_tick: timedelta  # since the loop last looked for due work
    write_blocked: timedelta = timedelta(0)  # how long the oldest write that isn't done has been waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What the store and the chat connections say."""

    late: Sequence[tuple[FeedId, datetime]] = ()  # feeds that nobody has polled, and when they were due
    oldest_waiting_at: datetime | None = None  # when the first delivery that nothing parks, and isn't sent, fell due
    chat: Mapping[str, str | None] | None = None  # each configured connection: why it is down, None where it is up


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`reasons` is empty when all is well."""

    reasons: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.reasons


def alive(facts: Alive) -> Verdict:
    """Red only where a restart may help."""
    reasons = []
    if facts.since_tick > TICK_LIMIT:
        reasons.append(f"nothing has looked for due work for {_words(facts.since_tick)}")
    if facts.write_blocked > WRITER_LIMIT:
        reasons.append(f"the store's writer has stood still for {_words(facts.write_blocked)}")
    return Verdict(reasons=tuple(reasons))


def ready(facts: Ready, *, now: datetime) -> Verdict:
    """Red where somebody should look: a failed poll is a poll, and a feed that is silent for months is well."""
    reasons = [f"feed {feed} has been due for {_words(now - due_at)} and was not polled" for feed, due_at in facts.late]
    if facts.oldest_waiting_at is not None and now - facts.oldest_waiting_at > WAITING_LIMIT:
        reasons.append(f"a delivery has been waiting for {_words(now - facts.oldest_waiting_at)}")
    reasons += [f"{name} is not connected: {why}" for name, why in (facts.chat or {}).items() if why is not None]
    return Verdict(reasons=tuple(reasons))


def _words(span: timedelta) -> str:
    """Return a span in its largest fitting unit."""
    seconds = int(span.total_seconds())
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"
