"""What commands try by hand: a test message, and everything that `check --online` looks at."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.app.chats import Chat, chats_made
from bot.app.parts import Observers, Parts, built, destinations_of, opened
from bot.config.addresses import parse_destination
from bot.config.missing import lacking_for
from bot.config.settings import Settings
from bot.config.values import show_duration
from bot.core.delivery_id import idem
from bot.core.errors import FetchError, NotAFeed, NotifyError, ParseError, UsageError
from bot.core.model.delivery import Delivery, DeliveryKind, Destination, Owed
from bot.core.model.feed import Feed, Fetched, Validators
from bot.core.model.message import Payload
from bot.core.model.route import DestinationUid
from bot.core.schedule import poll_interval
from bot.core.text.amounts import amount
from bot.ports import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One thing that was looked at online."""

    what: str
    ok: bool
    words: str


@asynccontextmanager
async def trial(settings: Settings, clock: Clock) -> AsyncIterator[Parts]:
    """Everything that runs, for a command that runs none of it."""
    observers = Observers(polled=lambda event: None, sent=lambda event: None)
    async with (
        opened(settings, clock) as store,
        built(settings, clock, store, observers=observers, wake=lambda: None) as parts,
    ):
        yield parts


def payload_of(parts: Parts, owed: Owed) -> Payload:
    """What the service would get. Raises UsageError where it is not configured."""
    uid = owed.delivery.destination
    notifier = parts.notifiers.get(uid.partition(":")[0])
    if notifier is None:
        raise UsageError(f'"{uid}" cannot be shown: its service is not configured')
    return notifier.to_payload(parts.render(owed))


async def send_test(settings: Settings, clock: Clock, to: str) -> None:
    """Send a few words to one destination at once. Raises UsageError with the service's word."""
    uid, now = named_destination(to), clock.now()
    if lacking := lacking_for(settings, uid):
        raise UsageError(f"{uid}: {lacking[0]}")
    delivery = Delivery(
        idem=idem("", f"test|{now.isoformat()}", uid, DeliveryKind.NOTICE.value),
        destination=uid,
        kind=DeliveryKind.NOTICE,
        due_at=now,
        created_at=now,
        notice="This is a test message of feedbell. If you can read it, alerts will arrive here.",
    )
    async with trial(settings, clock) as parts:
        payload = payload_of(parts, Owed(delivery=delivery))
        try:
            await parts.notifiers[uid.partition(":")[0]].send(Destination(uid=uid), payload, delivery.idem)
        except NotifyError as error:
            raise UsageError(f"{uid} did not take it: {error}") from error


def named_destination(to: str) -> DestinationUid:
    """The destination that somebody typed. Raises UsageError for what is none."""
    try:
        return DestinationUid(parse_destination(to))
    except ValueError as error:
        raise UsageError(str(error)) from error


async def try_everything(settings: Settings, clock: Clock) -> AsyncIterator[Tried]:
    """Fetch every feed and look at every destination, without posting or storing anything of them."""
    channels: dict[str, DestinationUid] = {}
    async with trial(settings, clock) as parts:
        for feed in settings.to_feeds():
            yield await _try_feed(parts, feed)
        for uid in destinations_of(settings):
            yield await _try_destination(parts, uid, channels)
        async with chats_made(parts) as chats:
            for name, chat in chats.chats.items():
                yield await _try_chat(f"commands in {name.title()}", chat)


async def _try_feed(parts: Parts, feed: Feed) -> Tried:
    what = f"feed {feed.id}"
    try:
        answer = await parts.fetcher.fetch(feed, feed.url, Validators())
        if not isinstance(answer, Fetched):
            return Tried(what=what, ok=True, words="not modified")
        parsed = await parts.parser.parse(answer.body, url=answer.url, content_type=answer.content_type, listed={})
    except NotAFeed as error:
        return Tried(what=what, ok=False, words=f"{error}; `feedbell inspect {feed.url}` looks for the feed behind it")
    except (FetchError, ParseError) as error:
        return Tried(what=what, ok=False, words=str(error))
    count = amount(len(parsed.items), "entry", "entries")
    words = f"{count}, {parsed.title or 'no title'}{_slower(feed, answer.validators)}"
    return Tried(what=what, ok=True, words=words)


def _slower(feed: Feed, validators: Validators) -> str:
    """Say so where the server makes every poll cost a whole document, and is asked less often for it."""
    interval = poll_interval(feed, has_validators=validators.are_given)
    if interval == poll_interval(feed, has_validators=True):
        return ""
    short, long = show_duration(feed.interval), show_duration(interval)
    return f"; interval {short} is raised to {long}, for its server sends neither ETag nor Last-Modified"


async def _try_chat(what: str, chat: Chat) -> Tried:
    try:
        return Tried(what=what, ok=True, words=await chat.probe())
    except NotifyError as error:
        return Tried(what=what, ok=False, words=str(error))


async def _try_destination(parts: Parts, uid: DestinationUid, channels: dict[str, DestinationUid]) -> Tried:
    """`channels` collects who is behind each service's own id: two names of one channel would tell everything twice."""
    scheme = uid.partition(":")[0]
    notifier = parts.notifiers.get(scheme)
    if notifier is None:
        return Tried(what=uid, ok=False, words="its service is not configured")
    try:
        probe = await notifier.probe(Destination(uid=uid))
    except NotifyError as error:
        return Tried(what=uid, ok=False, words=str(error))
    first = channels.setdefault(f"{scheme} {probe.remote_id or uid}", uid)
    if first != uid:
        return Tried(what=uid, ok=False, words=f"is the same channel as {first}")
    why_not = probe.why_not or ("" if probe.can_look_up else "it cannot be looked up")
    once = f"exactly-once: {'yes' if probe.can_look_up else 'no'}{f' ({why_not})' if why_not else ''}"
    return Tried(what=uid, ok=True, words=", ".join(word for word in (probe.name, probe.remote_id, once) if word))
