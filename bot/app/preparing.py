"""Before the first poll, and after a reload: the store's rows for what is configured."""

import logging

from bot.app.parts import Parts, destinations_of
from bot.services.doubt import Doubt

log = logging.getLogger(__name__)


async def prepare(parts: Parts) -> None:
    """What every start does: doubts about what was being sent, then rows for what is configured."""
    now, store = parts.clock.now(), parts.store
    await store.recover(now=now)
    parts.outbox.doubt = Doubt.at_start(was_clean=store.was_clean, last_write=store.last_write, now=now)
    await sync(parts)


async def sync(parts: Parts) -> None:
    """Make the store know the feeds and destinations that are in force now (small print 21)."""
    now = parts.clock.now()
    await parts.store.sync_feeds(parts.settings.to_feeds(), now=now)
    died = await parts.store.sync_destinations(destinations_of(parts.settings), now=now)
    if died:
        log.warning("deliveries to destinations that no route names any more are dead", extra={"count": died})
