"""`replay`: what routes would have got of older entries, and did not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bot.core.model.delivery import Delivery
from bot.core.model.entry import Entry
from bot.core.model.feed import Feed, FeedId
from bot.core.model.route import DestinationUid, Route
from bot.core.owing import deliveries_of
from bot.core.plan import MAX_NEW_SINGLE


def plan_replay(
    entries: Sequence[Entry], feeds: Mapping[FeedId, Feed], routes: Sequence[Route], *, now: datetime
) -> Sequence[Delivery]:
    """The deliveries that `routes` want of `entries`, which come oldest first.

    Each destination gets its newest ten one by one and the rest as a digest, as after an outage (R-21). What was owed
    before has the same identity, and is left out where these are stored.
    """
    wanted: dict[DestinationUid, list[Delivery]] = {}
    for entry in entries:
        feed = feeds.get(entry.feed_id)
        for owed in () if feed is None else deliveries_of(entry, feed, routes, now=now, story=None):
            delivery = replace(owed.delivery, entry_id=entry.id)
            wanted.setdefault(delivery.destination, []).append(delivery)
    return [delivery for deliveries in wanted.values() for delivery in _bundled(deliveries, now)]


def _bundled(deliveries: Sequence[Delivery], now: datetime) -> Sequence[Delivery]:
    older = max(0, len(deliveries) - MAX_NEW_SINGLE)
    name = f"replay|{now.timestamp():.0f}"
    return [
        replace(each, bundle=name, options=replace(each.options, heading="Replayed"))
        if position < older and each.bundle is None
        else each
        for position, each in enumerate(deliveries)
    ]
