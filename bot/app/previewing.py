"""`preview`: the payload of a message that nobody gets, from the code that sends."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.app.parts import Parts, destinations_of
from bot.app.trying import named_destination, payload_of, trial
from bot.config.settings import Settings
from bot.core.delivery_id import idem
from bot.core.errors import UsageError
from bot.core.lanes import bind
from bot.core.model.delivery import Delivery, DeliveryKind, Options, Owed
from bot.core.model.entry import Entry
from bot.core.model.feed import Feed, FeedId
from bot.core.model.message import Payload
from bot.core.model.route import DestinationUid, OnEdit, edit_form
from bot.core.owing import deliveries_of
from bot.ports import Clock

DIGEST_ENTRIES = 5  # as many as a day brings


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Which entry, for whom, and as what: alone, in a digest with the newest others, or as an edit of itself."""

    feed: str | None = None
    to: str | None = None
    guid: str | None = None
    kind: DeliveryKind = DeliveryKind.ENTRY


async def preview(settings: Settings, clock: Clock, subject: Subject) -> Mapping[DestinationUid, Payload]:
    """The payload for each destination. Raises UsageError."""
    async with trial(settings, clock) as parts:
        entries = await _chosen(parts, subject)
        feeds = {state.feed.id: state.feed for state in await parts.store.feeds()}
        single = {entry.id: _deliveries(entry, feeds, settings, to=subject.to, now=clock.now()) for entry in entries}
        match subject.kind:
            case DeliveryKind.DIGEST:
                owed = list(_digests(entries, single, now=clock.now()))
            case DeliveryKind.EDIT:
                owed = [each for each in [await _edit(parts, entries[0], one) for one in single[entries[0].id]] if each]
            case _:
                owed = [Owed(delivery=one, entries=(entries[0],)) for one in single[entries[0].id]]
        if not owed:
            raise UsageError(f"no edit goes to {subject.to or 'any destination'}; see on_edit")
        return {each.delivery.destination: payload_of(parts, each) for each in owed}


async def _chosen(parts: Parts, subject: Subject) -> Sequence[Entry]:
    """The entry that is asked for, or the newest; for a digest with what is as new, oldest first."""
    count = DIGEST_ENTRIES if subject.kind is DeliveryKind.DIGEST else 1
    found: list[Entry] = []
    known = [state.feed.id for state in await parts.store.feeds()]
    wanted = next((feed_id for feed_id in known if feed_id == subject.feed), None)
    if subject.feed is not None and wanted is None:
        raise UsageError(f'no feed "{subject.feed}"; feeds: {", ".join(known) or "none"}')
    if subject.guid is not None:
        entry = await parts.store.entry(subject.guid)
        if entry is None:
            raise UsageError(f'no entry "{subject.guid}"; `feedbell latest -n 20` lists the newest')
        if wanted not in (None, entry.feed_id):
            raise UsageError(f'"{subject.guid}" is an entry of {entry.feed_id}, not of {wanted}')
        found.append(entry)
    if len(found) < count:
        newest = await parts.store.latest(feed=wanted, limit=count)
        found += [entry for entry in newest if entry.id not in {one.id for one in found}]
    if not found:
        raise UsageError("no entry is stored yet; `feedbell once` polls the feeds")
    return sorted(found[:count], key=lambda entry: (entry.sort_at, entry.id))


def _deliveries(
    entry: Entry, feeds: Mapping[FeedId, Feed], settings: Settings, *, to: str | None, now: datetime
) -> Sequence[Delivery]:
    """What the routes would owe; a destination that none of them takes this entry to is shown all the same."""
    feed = feeds.get(entry.feed_id)
    routed = deliveries_of(entry, feed, settings.to_routes(), now=now, story=None) if feed is not None else ()
    owed = {each.delivery.destination: each.delivery for each in routed}
    if to is not None:
        uid = named_destination(to)
        return [owed.get(uid) or _plain_delivery(entry, uid, settings, now)]
    every = destinations_of(settings) or (DestinationUid("console"),)
    return list(owed.values()) or [_plain_delivery(entry, uid, settings, now) for uid in every]


def _digests(entries: Sequence[Entry], single: Mapping[int, Sequence[Delivery]], *, now: datetime) -> Iterator[Owed]:
    for uid in dict.fromkeys(one.destination for deliveries in single.values() for one in deliveries):
        pairs = [(one, entry) for entry in entries for one in single[entry.id] if one.destination == uid]
        members, shown = zip(*pairs, strict=True)
        yield Owed(delivery=bind(members, now=now).digest, entries=shown, members=members)


async def _edit(parts: Parts, entry: Entry, told: Delivery) -> Owed | None:
    """The edit of a message: of the one that was really sent there, if one was. None: nothing tells of edits there."""
    if edit_form(told.destination, told.options.on_edit) is OnEdit.IGNORE:
        return None
    sent = [row for row, _ in await parts.store.deliveries_of(entry.id) if row.destination == told.destination]
    original = next((row for row in sent if row.kind is DeliveryKind.ENTRY and row.remote_ref), None)
    key = idem(entry.feed_id, entry.key.hex(), told.destination, f"{DeliveryKind.EDIT.value}:{entry.edits + 1}")
    edit = replace(told, idem=key, kind=DeliveryKind.EDIT, edit_no=entry.edits + 1)
    return Owed(delivery=edit, entries=(entry,), original=original or replace(told, remote_ref="1"))


def _plain_delivery(entry: Entry, uid: DestinationUid, settings: Settings, now: datetime) -> Delivery:
    return Delivery(
        idem=idem(entry.feed_id, entry.key.hex(), uid, DeliveryKind.ENTRY.value),
        destination=uid,
        kind=DeliveryKind.ENTRY,
        due_at=now,
        created_at=now,
        options=Options(timezone=settings.timezone.key),
    )
