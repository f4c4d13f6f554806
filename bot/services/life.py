"""One entry's life, as `why` and the pages tell it: first seen, each route's verdict, each attempt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.core.filters import Verdict, judge
from bot.core.model.delivery import Attempt, Delivery
from bot.core.model.entry import Entry
from bot.core.model.feed import Feed, FeedId
from bot.core.model.route import Route
from bot.ports import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """An entry's whole life: judged by the routes as they are now, delivered as it was."""

    entry: Entry
    verdicts: Sequence[tuple[Route, Verdict]]
    deliveries: Sequence[tuple[Delivery, Sequence[Attempt]]]


async def life_of(
    store: Store, name: str, *, feeds: Mapping[FeedId, Feed], routes: Sequence[Route], now: datetime
) -> Life | None:
    """Find an entry by guid, link or key; None: the store has none of that name."""
    entry = await store.entry(name)
    if entry is None:
        return None
    deliveries = await store.deliveries_of(entry.id)
    return Life(entry=entry, verdicts=verdicts_of(entry, feeds, routes, now=now), deliveries=deliveries)


def verdicts_of(
    entry: Entry, feeds: Mapping[FeedId, Feed], routes: Sequence[Route], *, now: datetime
) -> Sequence[tuple[Route, Verdict]]:
    """What each route, as it is now, says of an entry; nothing where its feed is gone."""
    feed = feeds.get(entry.feed_id)
    return [(route, judge(route, entry, feed, now=now)) for route in routes] if feed is not None else ()
