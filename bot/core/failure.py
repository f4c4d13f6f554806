"""What a poll that failed writes: the backoff, the words people are shown, and when the operator is told."""

from dataclasses import replace
from datetime import datetime, timedelta

from bot.core.model.feed import FeedMemory, FeedState
from bot.core.model.plan import FeedChange, IntakePlan, Notice
from bot.core.moves import GONE_POLLS
from bot.core.schedule import asked_until, next_poll_at

GONE = 410
NOT_FOUND = 404
TELL_AFTER_FAILURES = 5
TELL_AFTER = timedelta(hours=1)
TELL_NOT_FOUND_AFTER = timedelta(days=7)  # N24: a page often comes back


def plan_failure(
    state: FeedState,
    words: str,
    *,
    now: datetime,
    roll: float,
    status: int | None = None,
    asked: timedelta | None = None,
    memory: FeedMemory | None = None,
) -> IntakePlan:
    """Plan a poll that failed. Nothing of the feed's entries, validators or hashes changes (N13, N14).

    `status` is the server's answer and `asked` its Retry-After, where there were any.
    """
    memory = memory or state.memory
    gone = status == GONE
    memory = replace(memory, gone_polls=memory.gone_polls + 1 if gone else 0)
    failures = state.failures + 1
    since = state.failing_since or now
    stopped = "the server says that it is gone for good (410)" if memory.gone_polls >= GONE_POLLS else None
    notices: tuple[Notice, ...] = ()
    if stopped is not None:
        told = f"feed {state.feed.id} is not polled any more: {stopped}. Take it out of the file."
        notices = (Notice(key=f"gone|{state.feed.id}|{since.isoformat()}", words=told),)
    elif memory.told_broken_at is None and _is_worth_telling(failures, now - since, status):
        memory = replace(memory, told_broken_at=now)
        told = (
            f"feed {state.feed.id} cannot be read since {since:%Y-%m-%d %H:%M} UTC: {words}. It is tried again by"
            " itself, and nothing is missed; if it lives elsewhere now, put the new address into the file."
        )
        notices = (Notice(key=f"broken|{state.feed.id}|{since.isoformat()}", words=told),)
    change = FeedChange(
        next_poll_at=next_poll_at(
            state.feed,
            memory,
            now=now,
            roll=roll,
            has_validators=state.validators.are_given,
            failures=failures,
            asked=asked,
            gone=gone,
        ),
        asked_until=asked_until(now=now, asked=asked, gone=gone),
        memory=memory,
        ok=False,
        error=words,
        stopped=stopped,
    )
    return IntakePlan(feed_no=state.no, epoch=state.epoch, at=now, change=change, notices=notices)


def _is_worth_telling(failures: int, span: timedelta, status: int | None) -> bool:
    if status == NOT_FOUND:
        return span >= TELL_NOT_FOUND_AFTER
    return failures >= TELL_AFTER_FAILURES and span >= TELL_AFTER
