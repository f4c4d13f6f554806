"""Who is owed what: the deliveries that one new entry makes, given the routes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.delivery_id import idem
from bot.core.filters import judge
from bot.core.mentions import fits
from bot.core.model.delivery import Delivery, DeliveryKind, Options
from bot.core.model.entry import Entry, Key
from bot.core.model.feed import Feed
from bot.core.model.plan import NewDelivery
from bot.core.model.route import DestinationUid, Route
from bot.core.schedule import digest_heading, due_at
from bot.core.tags import fold_all


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A digest that a poll itself asks for: because it found too many, or the feed was long away (N17)."""

    name: str
    heading: str
    due_at: datetime


def deliveries_of(
    entry: Entry,
    feed: Feed,
    routes: Sequence[Route],
    *,
    now: datetime,
    story: Key | None,
    bundle: Bundle | None = None,
) -> tuple[NewDelivery, ...]:
    """One delivery for each destination that any route wants this entry at (small print 6).

    Where several routes want it, the earliest due time decides how it is told, and their mentions add up.
    """
    owed: dict[DestinationUid, Delivery] = {}
    for route in routes:
        if judge(route, entry, feed, now=now).wanted:
            for uid in route.to:
                delivery = _delivery(entry, route, uid, now=now, bundle=bundle)
                owed[uid] = _merge(owed[uid], delivery) if uid in owed else delivery
    return tuple(NewDelivery(delivery=delivery, story=story) for delivery in owed.values())


def _delivery(entry: Entry, route: Route, uid: DestinationUid, *, now: datetime, bundle: Bundle | None) -> Delivery:
    tags = fold_all(entry.tags)
    at, name = due_at(route, tags, now)
    heading = digest_heading(route.digest) if name is not None else None
    if name is not None:
        # Each route's digest is its own, and so is each of its times.
        name = f"{name}|{route.name}|{at.timestamp():.0f}"
    elif bundle is not None and not route.urgent & tags:
        at, name, heading = max(at, bundle.due_at), bundle.name, bundle.heading
    return Delivery(
        idem=idem(entry.feed_id, entry.key.hex(), uid, DeliveryKind.ENTRY.value),
        destination=uid,
        kind=DeliveryKind.ENTRY,
        bundle=name,
        due_at=at,
        created_at=now,
        options=Options(
            routes=(route.name,),
            mentions=_mentions(route, uid, tags),
            template=route.template,
            image=route.image,
            on_edit=route.on_edit,
            timezone=route.timezone.key,
            heading=heading,
        ),
    )


def _mentions(route: Route, uid: DestinationUid, tags: frozenset[str]) -> tuple[str, ...]:
    scheme = uid.partition(":")[0]
    wanted = (literal for tag, literals in route.mention if tag == "*" or tag in tags for literal in literals)
    return tuple(dict.fromkeys(literal for literal in wanted if fits(literal, scheme)))


def _merge(one: Delivery, other: Delivery) -> Delivery:
    first, second = (other, one) if other.due_at < one.due_at else (one, other)
    if first.due_at == second.due_at and first.bundle is not None and second.bundle is None:
        first, second = second, first
    options = replace(
        first.options,
        routes=(*one.options.routes, *other.options.routes),
        mentions=tuple(dict.fromkeys((*one.options.mentions, *other.options.mentions))),
    )
    return replace(first, options=options)
