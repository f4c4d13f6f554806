"""From settings to the nouns that the rest of the bot speaks in."""

from typing import TYPE_CHECKING

from bot.core.model.feed import Feed, FeedAuth, FeedId
from bot.core.model.route import DestinationUid, OnEdit, Route
from bot.core.tags import fold, fold_all

if TYPE_CHECKING:  # the settings call these functions
    from bot.config.settings import FeedSettings, RouteSettings, Settings

READY_TEMPLATES = frozenset({"compact", "card", "headline"})  # templates that come with the bot, by name


def to_feed(feed: "FeedSettings", settings: "Settings") -> Feed:
    """Return the feed as it is polled: an interval below the floor is raised, unless the server is one's own."""
    return Feed(
        id=FeedId(feed.id),
        url=feed.url,
        interval=feed.interval if feed.own else max(feed.interval, settings.polling.floor),
        own=feed.own,
        floor=settings.polling.floor,
        blind_floor=settings.polling.floor_without_validators,
        backoff_cap=settings.polling.backoff_cap,
        initial=feed.initial,
        section=feed.section,
        tags=feed.tags,
        withdrawn=feed.withdrawn,
        allow_private=feed.allow_private,
        headers=tuple(feed.headers.items()),
        auth=_credentials(feed, settings),
    )


def to_route(route: "RouteSettings", settings: "Settings", number: int) -> Route:
    """Return the route with its tags folded, its zone settled and its template's path made absolute."""
    template = route.template
    if template is not None and template not in READY_TEMPLATES:
        template = str((settings.folder / template).absolute())
    return Route(
        name=f"routes[{number}]",
        to=tuple(DestinationUid(uid) for uid in dict.fromkeys(route.to)),
        feeds=None if route.feeds is None else frozenset(FeedId(name) for name in route.feeds),
        tags=fold_all(route.tags),
        not_tags=fold_all(route.not_tags),
        match=route.match,
        mention=tuple((tag if tag == "*" else fold(tag), literals) for tag, literals in route.mention.items()),
        digest=route.digest,
        quiet=route.quiet,
        urgent=fold_all(route.urgent),
        timezone=route.timezone or settings.timezone,
        max_age=route.max_age,
        on_edit=OnEdit(route.on_edit) if route.on_edit else None,
        template=template,
        image=route.image,
    )


def _credentials(feed: "FeedSettings", settings: "Settings") -> FeedAuth | None:
    if feed.auth is None:
        return None
    return FeedAuth(
        username=feed.auth.username,
        password=settings.secret(feed.auth.password),
        bearer=settings.secret(feed.auth.bearer),
    )
