"""Where a feed lives: permanent redirects are followed at once, and believed late (N23)."""

from dataclasses import replace
from datetime import datetime, timedelta

from bot.core.model.feed import FeedMemory, FeedState, Fetched, NotModified, moved_for_good
from bot.core.model.plan import Notice

MOVE_POLLS = 3
MOVE_AFTER = timedelta(days=3)
GONE_POLLS = 3


def follow_redirects(
    state: FeedState, answer: Fetched | NotModified, memory: FeedMemory, *, is_same_feed: bool, now: datetime
) -> tuple[FeedMemory, tuple[Notice, ...]]:
    """Watch a redirect that says to be permanent on its whole chain.

    The new address is adopted after three polls over three days that all led to the same place and found the same
    feed there. Anything else only follows: maintenance pages redirect permanently, too.
    """
    if not moved_for_good(answer.hops) or not is_same_feed:
        if memory.redirect_to is None:
            return memory, ()
        return replace(memory, redirect_to=None, redirect_since=None, redirect_polls=0), ()
    target = answer.url
    if memory.redirect_to != target or memory.redirect_since is None:
        return replace(memory, redirect_to=target, redirect_since=now, redirect_polls=1), ()
    polls = memory.redirect_polls + 1
    if polls < MOVE_POLLS or now - memory.redirect_since < MOVE_AFTER:
        return replace(memory, redirect_polls=polls), ()
    moved = replace(memory, moved_to=target, redirect_to=None, redirect_since=None, redirect_polls=0)
    words = f"feed {state.feed.id} has moved for good and is read at its new address: {target}. Put it into the file."
    return moved, (Notice(key=f"moved|{state.feed.id}|{target}", words=words),)


def polled_url(state: FeedState) -> str:
    """The address to ask: the one it moved to, else the configured one."""
    return state.memory.moved_to or state.feed.url
