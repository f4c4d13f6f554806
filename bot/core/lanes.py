"""What of one destination's queue becomes a digest, and when that is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import dropwhile, takewhile

from bot.core.delivery_id import idem
from bot.core.model.delivery import (
    DIGEST_MEMBERS,
    WITHOUT_HISTORY,
    Delivery,
    DeliveryKind,
    DeliveryState,
    Destination,
    Lane,
    Options,
)
from bot.core.settle import DeliveryRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """Tie `members` to `digest` for good, then send that."""

    digest: Delivery
    members: tuple[int, ...]


def next_binding(
    destination: Destination,
    due: Sequence[Delivery],
    *,
    now: datetime,
    rules: DeliveryRules,
    told_until: int = 0,
    unproven: bool = False,
) -> Bind | None:
    """The digest to make before anything is sent, or None.

    `due` holds every due row of the destination, in order. Two causes: a bundle's turn has come, or a backlog has built
    up while the destination was unwell or we were away (R-21). What may have arrived already is never bound.

    A third one: the row at `told_until` was told in a life that this state has forgotten. What stands before it was
    told before it, then, and not singly: the digest that it was in must be made again, to be looked for.

    Of an `unproven` destination the backlog waits (see `is_unproven`).
    """
    bundle = _next_bundle(due, now=now, rules=rules)
    if bundle is not None or unproven:
        return bundle
    return _next_backlog(destination, due, now=now, rules=rules, told_until=told_until)


def _next_bundle(due: Sequence[Delivery], *, now: datetime, rules: DeliveryRules) -> Bind | None:
    """The digest of the bundle whose turn it is (a digest's time has come, or one poll found too many), or None.

    Before it stand digests at most, which are bound already, and what has failed for so long that the next one, which
    is then this digest, may pass it (R-20).
    """
    first = next((row for row in due if is_for_bundle(row) or not _may_be_passed(row, now=now, rules=rules)), None)
    if first is None or not is_for_bundle(first):
        return None
    members = [row for row in due if _is_free(row) and row.bundle == first.bundle]
    return bind(members[:DIGEST_MEMBERS], now=now)


def _may_be_passed(row: Delivery, *, now: datetime, rules: DeliveryRules) -> bool:
    first = row.first_try_at
    return row.kind is DeliveryKind.DIGEST or (first is not None and now - first >= rules.head_of_line)


def _next_backlog(
    destination: Destination, due: Sequence[Delivery], *, now: datetime, rules: DeliveryRules, told_until: int
) -> Bind | None:
    if not due or due[0].state is DeliveryState.UNKNOWN:
        return None
    singles = [row for row in due if _is_free(row) and not row.late and not _goes_by_itself(row)]
    waited = now - min(row.due_at for row in due) >= rules.backlog_after
    older = [row for row in singles if row.seq < told_until]
    if not older and (destination.unwell_since is not None or waited):
        older = singles[: max(0, len(singles) - rules.max_new_single)]
    members = _in_a_row(due, older)[:DIGEST_MEMBERS]
    return bind(members, now=now, heading="While away") if members else None


def may_bind(lane: Lane, *, now: datetime, rules: DeliveryRules, unproven: bool = False) -> bool:
    """Whether there may be something to bind, as far as a claim tells: to know it, the whole queue must be read.

    `unproven`: bundles alone are asked for.
    """
    waited = lane.oldest_due_at is not None and now - lane.oldest_due_at >= rules.backlog_after
    crowded = lane.waiting > rules.max_new_single and (lane.destination.unwell_since is not None or waited)
    return (crowded and not unproven) or any(owed.delivery.bundle is not None for owed in lane.owed)


def _in_a_row(due: Sequence[Delivery], older: Sequence[Delivery]) -> list[Delivery]:
    """As much of `older` as stands before the next one that goes by itself: none may pass that."""
    wanted = {row.id for row in older}
    rest = dropwhile(lambda row: row.id not in wanted, due)
    return [row for row in takewhile(lambda row: not _goes_by_itself(row), rest) if row.id in wanted]


def _goes_by_itself(row: Delivery) -> bool:
    """Whether no digest of a backlog may hold a row: one of another digest, or one that may have arrived already.

    Where nobody can look for that, only its own id tells a mail server that it has it.
    """
    may_be_there = row.attempts > 0 and not row.late and row.destination.partition(":")[0] in WITHOUT_HISTORY
    return may_be_there or row.kind is DeliveryKind.DIGEST or is_for_bundle(row)


def is_unproven(lane: Lane, rules: DeliveryRules) -> bool:
    """Whether the head must go first, as it is, to tell whether an unwell destination is well again.

    A backlog is bound after that, once and whole: before it, each new entry of a long outage would make one more
    digest. What was parked has been looked at before.
    """
    unwell = lane.destination.unwell_since is not None and lane.destination.parked is None
    return unwell and lane.waiting > rules.max_new_single and not is_for_bundle(lane.owed[0].delivery)


def is_for_bundle(row: Delivery) -> bool:
    """Whether a row may only be told as part of a digest that is still to be made."""
    return row.bundle is not None and _is_free(row)


def bind(members: Sequence[Delivery], *, now: datetime, heading: str | None = None) -> Bind:
    """Return the digest of these, in their order. Its identity comes from theirs (R-11)."""
    first = members[0]
    options = Options(
        routes=tuple(dict.fromkeys(name for row in members for name in row.options.routes)),
        mentions=tuple(dict.fromkeys(literal for row in members for literal in row.options.mentions)),
        template=first.options.template,
        timezone=first.options.timezone,
        heading=heading or first.options.heading,
    )
    key = "|".join(row.idem for row in members)
    digest = Delivery(
        idem=idem("", key, first.destination, DeliveryKind.DIGEST.value),
        destination=first.destination,
        kind=DeliveryKind.DIGEST,
        seq=first.seq,
        due_at=first.due_at,
        created_at=now,
        options=options,
    )
    return Bind(digest=digest, members=tuple(row.id for row in members))


def _is_free(row: Delivery) -> bool:
    return row.state is DeliveryState.PENDING and row.kind is DeliveryKind.ENTRY and row.digest_id is None
