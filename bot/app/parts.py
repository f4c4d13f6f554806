"""Everything that is built once, and taken down in reverse order."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from zoneinfo import ZoneInfo

import aiohttp

from bot import crash
from bot.app.platforms import HOME, build_notifiers
from bot.config.settings import DeliverySettings, PollingSettings, Settings
from bot.core.errors import ConfigError
from bot.core.model.delivery import Owed
from bot.core.model.feed import FeedId
from bot.core.model.message import Message
from bot.core.model.route import DestinationUid, OnUnknown
from bot.core.render import Template, render_owed
from bot.core.settle import DeliveryRules
from bot.fetch.client import HttpFetcher
from bot.fetch.limits import FetchLimits
from bot.notifiers.discord_api import Strikes
from bot.parser.guarded import GuardedParser
from bot.parser.limits import ParseLimits
from bot.ports import Clock, Notifier
from bot.services.events import PollEvent, SendEvent
from bot.services.hosts import HostGate
from bot.services.intake import Intake
from bot.services.means import Means
from bot.services.outbox import Outbox
from bot.services.pacing import Pace, Pacer
from bot.services.routing import Routing
from bot.services.subscriptions import unsubscribe_url
from bot.store.store import Store, open_store

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observers:
    """Who hears of polls and sends: logs, metrics, a progress line."""

    polled: Callable[[PollEvent], None]
    sent: Callable[[SendEvent], None]


Instead = Callable[[Mapping[str, Notifier]], Mapping[str, Notifier]]


class Parts:
    """Everything that runs, introduced to each other. `apply` makes other settings hold."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        store: Store,
        session: aiohttp.ClientSession,
        *,
        key: bytes,
        observers: Observers,
        wake: Callable[[], None],
        instead: Instead,
    ) -> None:
        polling = settings.polling
        self.settings = settings
        self.clock = clock
        self.store = store
        self.wake = wake
        self._session = session
        self._key = key
        self._instead = instead
        self._strikes = Strikes()
        self._subscribers = subscribers_of(settings)
        self.fetcher = HttpFetcher(
            clock=clock,
            contact=settings.contact or HOME,
            limits=_fetch_limits(polling),
            subscribers=lambda feed: self._subscribers.get(feed, 1),  # one added in chat goes where it was asked for
        )
        self.parser = GuardedParser(_parse_limits(polling))
        self.routing = Routing(store, settings.to_routes())
        self.intake = Intake(
            store=store,
            fetcher=self.fetcher,
            parser=self.parser,
            clock=clock,
            gate=HostGate(clock, gap=polling.host_gap),
            routes=self.routing.all_routes,
            observe=observers.polled,
            wake=wake,
            polls=polling.concurrency,
            max_new_single=settings.delivery.max_new_single,
        )
        self.outbox = Outbox(
            store=store,
            clock=clock,
            means=self._means(settings),
            observe=observers.sent,
            lanes=settings.delivery.concurrency,
            lanes_per_service=settings.delivery.per_service,
        )
        self.outbox.introductions.named = _routed(settings)

    @property
    def notifiers(self) -> Mapping[str, Notifier]:
        return self.outbox.means.notifiers

    def render(self, owed: Owed) -> Message:
        return self.outbox.means.render(owed)

    def apply(self, settings: Settings) -> None:
        """Go by other settings from now on; what is being polled or sent comes to its end by the old ones.

        Raises ConfigError, and then nothing has changed.
        """
        self.outbox.means = self._means(settings)
        self.settings = settings
        self.routing.routes = settings.to_routes()
        self._subscribers = subscribers_of(settings)
        self.outbox.introductions.named = _routed(settings)
        self.intake.gate.configure(gap=settings.polling.host_gap)
        self.intake.max_new_single = settings.delivery.max_new_single
        self.fetcher.configure(contact=settings.contact or HOME, limits=_fetch_limits(settings.polling))
        self.parser.configure(_parse_limits(settings.polling))
        self.store.ops = settings.ops_uid

    async def close(self) -> None:
        await self.parser.close()
        await self.fetcher.close()
        await self._session.close()

    def _means(self, settings: Settings) -> Means:
        return Means(
            notifiers=self._instead(build_notifiers(settings, self._session, self.clock, strikes=self._strikes)),
            render=renderer(settings, key=self._key),
            rules=delivery_rules(settings.delivery),
            pacer=_pacer(settings.delivery, self.clock),
        )


@asynccontextmanager
async def built(
    settings: Settings,
    clock: Clock,
    store: Store,
    *,
    observers: Observers,
    wake: Callable[[], None],
    instead: Instead = lambda notifiers: notifiers,
) -> AsyncIterator[Parts]:
    """Build the services over an open store; close their connections and the parse worker at the end.

    `instead` may put other notifiers in the place of those that are configured.
    """
    total = settings.delivery.timeout.total_seconds()
    session = aiohttp.ClientSession(
        trace_configs=crash.trace_points("send"),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=total, connect=min(total, 10)),
    )
    key = await store.key()
    try:
        parts = Parts(settings, clock, store, session, key=key, observers=observers, wake=wake, instead=instead)
    except ConfigError:  # of a template
        await session.close()
        raise
    try:
        yield parts
    finally:
        await parts.close()


@asynccontextmanager
async def opened(settings: Settings, clock: Clock, *, exclusive: bool = False) -> AsyncIterator[Store]:
    """Open the state that the settings name; `exclusive` for whoever polls and sends."""
    store = await open_store(
        settings.state,
        base=settings.folder,
        exclusive=exclusive,
        ops=settings.ops_uid,
        grace=settings.delivery.grace,
    )
    try:
        yield store
    finally:
        await store.close(now=clock.now())


def destinations_of(settings: Settings) -> tuple[DestinationUid, ...]:
    """Every destination that the file names, in its order."""
    routed = (uid for route in settings.to_routes() for uid in route.to)
    ops = () if settings.ops_uid is None else (settings.ops_uid,)
    return tuple(dict.fromkeys((*routed, *ops)))


def subscribers_of(settings: Settings) -> Mapping[FeedId, int]:
    """How many destinations the file gives each feed to: its server is told, to see whom one poll is for (P13)."""
    everything: set[DestinationUid] = set()
    named: dict[FeedId, set[DestinationUid]] = {}
    for route in settings.to_routes():
        if route.feeds is None:
            everything.update(route.to)
        for feed_id in route.feeds or ():
            named.setdefault(feed_id, set()).update(route.to)
    return {
        FeedId(feed.id): max(1, len(everything | named[FeedId(feed.id)] if feed.id in named else everything))
        for feed in settings.feeds
    }


def _routed(settings: Settings) -> frozenset[DestinationUid]:
    return frozenset(uid for route in settings.to_routes() for uid in route.to)


def renderer(settings: Settings, *, key: bytes) -> Callable[[Owed], Message]:
    """From what is owed to a message, as these settings say; `key` signs unsubscribe links. Raises ConfigError."""
    public_url = settings.http.public_url
    templates: Mapping[str, Template] = {}
    if any(route.template is not None for route in settings.routes):
        from bot.app.templating import load_templates  # and jinja2 with it

        templates = load_templates(settings)

    def render(owed: Owed) -> Message:
        options = owed.delivery.options
        return render_owed(
            owed,
            timezone=ZoneInfo(options.timezone),
            more_url=public_url,
            unsubscribe_url=unsubscribe_url(owed, public_url=public_url, key=key) if public_url else None,
            # What is owed outlives its route: a template that is gone leaves the card its own layout.
            template=templates.get(options.template) if options.template else None,
        )

    return render


def delivery_rules(delivery: DeliverySettings) -> DeliveryRules:
    """The rules of retrying and giving up, as the settings say them."""
    return DeliveryRules(
        grace=delivery.grace,
        look_again=delivery.look_again,
        on_unknown=OnUnknown(delivery.on_unknown),
        retry_base=delivery.retry_base,
        retry_cap=delivery.retry_cap,
        asked_cap=delivery.retry_after_cap,
        give_up=delivery.give_up,
        breaker_after=delivery.breaker_failures,
        breaker_open=delivery.breaker_base,
        breaker_cap=delivery.breaker_cap,
        head_of_line=delivery.head_of_line,
        probe_every=delivery.probe_every,
        max_new_single=delivery.max_new_single,
    )


def _pacer(delivery: DeliverySettings, clock: Clock) -> Pacer:
    channel = Pace(every=delivery.channel_gap, burst=3)
    minute = delivery.slack_per_minute
    services = {"slack": Pace(every=MINUTE / minute, burst=20)} if minute else {}
    return Pacer(clock, destinations={"slack": channel, "slack-webhook": channel}, services=services)


def _fetch_limits(polling: PollingSettings) -> FetchLimits:
    return FetchLimits(
        connect=polling.connect_timeout,
        headers=polling.header_timeout,
        idle=polling.idle_timeout,
        total=polling.total_timeout,
        wire=polling.max_bytes,
        decoded=polling.max_decoded_bytes,
        redirects=polling.max_redirects,
    )


def _parse_limits(polling: PollingSettings) -> ParseLimits:
    return ParseLimits(cpu=polling.parse_cpu, memory=polling.parse_memory_mb * 1024 * 1024)
