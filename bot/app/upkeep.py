"""Housekeeping, by a running bot now and then, by `once` at the end of its round."""

import logging

from bot.app.parts import Parts

log = logging.getLogger(__name__)


async def keep_up(parts: Parts) -> None:
    """Give up what a dead destination has not taken (R-17), let old texts go (N26)."""
    now, rules = parts.clock.now(), parts.settings.delivery
    died = await parts.store.kill_old(now=now, keep=rules.park_keep, max_rows=rules.park_keep_rows)
    for uid, count in died.items():
        log.warning("gave up what a destination did not take", extra={"destination": uid, "count": count})
    await parts.store.prune(now=now)
