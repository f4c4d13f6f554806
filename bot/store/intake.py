"""The intake's transaction: everything that one poll writes, or nothing of it (R-12)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from bot import crash
from bot.core.delivery_id import idem
from bot.core.errors import LeaseLost
from bot.core.model.delivery import Delivery, DeliveryKind
from bot.core.model.entry import Entry, Key
from bot.core.model.plan import Committed, EntryEdit, FeedChange, IntakePlan, NewEntry
from bot.core.model.route import DestinationUid, OnEdit, edit_form
from bot.store import deliveries, destinations, entries, records, subscriptions
from bot.store.delivery_rows import to_delivery
from bot.store.feed_rows import pack_listing
from bot.store.feeds import DUE
from bot.store.sql import Tx, Value, chunks, one_of, storable_or_none, to_ms, to_ms_or_none


def commit(tx: Tx, plan: IntakePlan, *, owner: str, ops: DestinationUid | None) -> Committed:
    """Raises LeaseLost if the feed is somebody else's by now."""
    crash.point("poll.tx_begin")
    _write_feed(tx, plan, owner)
    new = _new_entries(tx, plan)
    numbers = entries.insert(tx, plan.feed_no, [each.entry for each in new]) if new else []
    names = [(name, no) for each, no in zip(new, numbers, strict=True) for name in each.hashes]
    entries.name(tx, plan.feed_no, [*names, *plan.aliases])
    crash.point("poll.tx_entries")
    edits = [edit for edit in plan.edits if edit.entry.id]
    for edit in edits:
        entries.change(tx, plan.feed_no, edit.entry)
    entries.withdraw(tx, plan.feed_no, plan.withdrawn, plan.at)
    owed = _owe(tx, plan, new, numbers, edits, ops)
    crash.point("poll.before_commit")
    return Committed(
        entries=tuple(replace(each.entry, id=no) for each, no in zip(new, numbers, strict=True)), owed=owed
    )


def _write_feed(tx: Tx, plan: IntakePlan, owner: str) -> None:
    columns, next_poll_at = _changes(plan.change, to_ms(plan.at)), ":next_poll_at"
    settings = "".join(f"{column} = :{column}, " for column in columns if column != "next_poll_at")
    if plan.was_due_at is not None:
        # Whoever poked it meanwhile has something that this poll may not have seen yet.
        next_poll_at = (
            "CASE WHEN next_poll_at = :was_due_at OR next_poll_at > :next_poll_at THEN :next_poll_at"
            f" ELSE {tx.greatest}(next_poll_at, :peace) END"
        )
        peace = to_ms_or_none(plan.change.asked_until) or 0
        columns |= {"was_due_at": to_ms(plan.was_due_at), "peace": peace}
    failing = (
        "failures = 0, failing_since = NULL, resumed_at = NULL"
        if plan.change.ok
        else "failures = failures + 1, failing_since = COALESCE(failing_since, :last_poll_at)"
    )
    # Other columns still have their old values here.
    due = "NULL" if plan.change.stopped else DUE.replace("next_poll_at", next_poll_at)
    touched = tx.run(
        f"UPDATE feed SET {settings}next_poll_at = {next_poll_at}, {failing}, owner = NULL, lease_until = NULL,"
        f" due_at = {due} WHERE no = :no AND epoch = :epoch AND owner = :owner",
        no=plan.feed_no,
        epoch=plan.epoch,
        owner=owner,
        **columns,
    )
    if not touched:
        raise LeaseLost(f"the lease of feed {plan.feed_no} is somebody else's; nothing of this poll was written")


def _changes(change: FeedChange, at: int) -> dict[str, Value]:
    columns: dict[str, Value] = {
        "next_poll_at": to_ms(change.next_poll_at),
        "asked_until": to_ms_or_none(change.asked_until),
        "last_poll_at": at,
        "error": None if change.ok else storable_or_none(change.error),
    }
    if change.validators is not None:
        columns["etag"] = storable_or_none(change.validators.etag)
        columns["last_modified"] = storable_or_none(change.validators.last_modified)
        columns["validators_url"] = change.validators.url
    optional: dict[str, Value] = {
        "memory": None if change.memory is None else records.dump(change.memory),
        "listing": None if change.listing is None else pack_listing(change.listing),
        "title": storable_or_none(change.title),
        "site_url": storable_or_none(change.site_url),
        "primed_at": to_ms_or_none(change.primed_at),
        "stopped": change.stopped,
        "last_ok_at": at if change.ok else None,
        "last_new_at": at if change.new else None,
    }
    return columns | {column: value for column, value in optional.items() if value is not None}


def _new_entries(tx: Tx, plan: IntakePlan) -> Sequence[NewEntry]:
    """What the store says is new: the feed's row is locked, so nobody can take a key between here and the commit."""
    if not plan.entries:
        return ()
    gone = entries.taken(tx, plan.feed_no, [each.entry.key for each in plan.entries])
    new: dict[Key, NewEntry] = {}
    for each in plan.entries:
        if each.entry.key not in gone:
            new.setdefault(each.entry.key, each)
    return tuple(new.values())


def _owe(
    tx: Tx,
    plan: IntakePlan,
    new: Sequence[NewEntry],
    numbers: Sequence[int],
    edits: Sequence[EntryEdit],
    ops: DestinationUid | None,
) -> int:
    wanted = [(owed, no) for each, no in zip(new, numbers, strict=True) for owed in each.deliveries]
    uids = {owed.delivery.destination for owed, _ in wanted} | _told(tx, edits)
    if plan.notices and ops is not None:
        uids.add(ops)
    if not uids and not plan.notices:
        return 0
    locked = destinations.lock(tx, uids)
    changed = _edits(tx, plan, edits)
    kept = {delivery.idem for delivery, _ in subscriptions.wanted(tx, [(owed.delivery, no) for owed, no in wanted])}
    wanted = [(owed, no) for owed, no in wanted if owed.delivery.idem in kept]
    stories = [(owed.delivery.destination, owed.story) for owed, _ in wanted if owed.story is not None]
    ours = deliveries.take_stories(tx, plan.feed_no, stories, plan.at)
    owing: list[tuple[Delivery, int | None]] = [
        (owed.delivery, no)
        for owed, no in wanted
        if owed.story is None or (owed.delivery.destination, owed.story) in ours
    ]
    count = deliveries.owe(tx, [*owing, *subscriptions.wanted(tx, changed)])
    count += deliveries.tell(tx, plan.notices, ops, plan.at)
    destinations.reschedule(tx, locked)
    return count


def _told(tx: Tx, edits: Sequence[EntryEdit]) -> set[DestinationUid]:
    """Where edited entries went or will go: locked before anybody asks how far they are, for a claim reads them."""
    found: set[DestinationUid] = set()
    for part in chunks(edit.entry.id for edit in edits if edit.announce):
        names, params = one_of("entry_id", "e", part)
        rows = tx.rows(f"SELECT destination_uid AS uid FROM delivery WHERE {names} AND kind = 'entry'", **params)
        found.update(DestinationUid(row["uid"]) for row in rows)
    return found


def _edits(tx: Tx, plan: IntakePlan, edits: Sequence[EntryEdit]) -> list[tuple[Delivery, int | None]]:
    """An edit goes where the entry went, singly.

    What is still to be sent is rendered with the new words anyway; but whoever is at work there may have read the old
    ones of what is due.
    """
    found: list[tuple[Delivery, int | None]] = []
    for edit in edits:
        if not edit.announce:
            continue
        for row in tx.rows(
            "SELECT d.* FROM delivery d JOIN destination t ON t.uid = d.destination_uid AND t.gone_at IS NULL"
            " WHERE d.entry_id = :entry_id AND d.kind = 'entry' AND d.digest_id IS NULL"
            " AND (d.state IN ('sending', 'unknown', 'sent')"
            " OR d.state = 'pending' AND t.lease_until IS NOT NULL AND d.wake_at <= :at) AND NOT EXISTS"
            " (SELECT 1 FROM delivery o WHERE o.entry_id = d.entry_id AND o.destination_uid = d.destination_uid"
            " AND o.kind = 'edit' AND o.state = 'pending' AND o.attempts = 0"
            " AND (t.lease_until IS NULL OR o.wake_at > :at)) ORDER BY d.id",
            at=to_ms(plan.at),
            entry_id=edit.entry.id,
        ):
            original = to_delivery(row)
            form = edit_form(original.destination, original.options.on_edit)
            if form is not OnEdit.IGNORE:
                due_at = _end_of_quiet(original, edit) if form is OnEdit.THREAD else None
                found.append((_edit_of(original, edit.entry, due_at or plan.at, plan), edit.entry.id))
    return found


def _end_of_quiet(original: Delivery, edit: EntryEdit) -> datetime | None:
    """When a correction that is a message of its own may come; None: now, for one of its routes is not quiet."""
    ends = dict(edit.quiet)
    names = original.options.routes
    return min(ends[name] for name in names) if names and all(name in ends for name in names) else None


def _edit_of(original: Delivery, entry: Entry, due_at: datetime, plan: IntakePlan) -> Delivery:
    kind = f"{DeliveryKind.EDIT.value}:{entry.edits}"
    return Delivery(
        idem=idem(entry.feed_id, entry.key.hex(), original.destination, kind),
        destination=original.destination,
        kind=DeliveryKind.EDIT,
        edit_no=entry.edits,
        due_at=due_at,
        created_at=plan.at,
        options=original.options,
    )
