"""What an attempt's answer, or a look-up's, means for a delivery and its destination (R-16 to R-20)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.core.errors import (
    Deferred,
    DestinationDown,
    LookupImpossible,
    LookupUnavailable,
    MessageRejected,
    NotifyError,
    Scope,
)
from bot.core.model.delivery import (
    Dead,
    Delivery,
    DeliveryState,
    Destination,
    Held,
    Parked,
    Receipt,
    RetryAt,
    Sent,
    Settlement,
    Unknown,
)
from bot.core.model.route import OnUnknown
from bot.core.retry_after import KEPT

LOST_OFTEN = 3  # sends that left no trace while the service could be asked: then the message itself is suspect


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRules:
    """The `[delivery]` section: how long to wait, and when to give up."""

    grace: timedelta = timedelta(seconds=30)  # services show a message late; earlier look-ups made doubles
    look_again: timedelta = timedelta(seconds=15)
    on_unknown: OnUnknown = OnUnknown.RESEND
    retry_base: timedelta = timedelta(seconds=2)
    retry_cap: timedelta = timedelta(minutes=15)
    asked_cap: timedelta = KEPT  # what a Retry-After may ask for
    give_up: timedelta = timedelta(hours=72)  # one message that alone fails
    breaker_after: int = 5
    breaker_open: timedelta = timedelta(seconds=30)
    breaker_cap: timedelta = timedelta(minutes=15)
    head_of_line: timedelta = timedelta(minutes=15)
    probe_every: timedelta = timedelta(hours=1)
    max_new_single: int = 10
    backlog_after: timedelta = timedelta(minutes=5)  # due for longer than this: it was us who were away


def settle(
    delivery: Delivery,
    destination: Destination,
    outcome: Receipt | NotifyError,
    *,
    now: datetime,
    roll: float,
    rules: DeliveryRules,
) -> Settlement:
    """Say what becomes of `delivery` after one attempt to send it.

    `roll`, in [0, 1), spreads the retries (full jitter, R-16).
    """
    match outcome:
        case Receipt():
            return Sent(receipt=outcome)
        case MessageRejected() if delivery.plain:
            return Dead(why=str(outcome))
        case MessageRejected():
            return RetryAt(at=now, why=str(outcome), plain=True, alone=True)
        case DestinationDown():
            at = now + rules.probe_every
            return Parked(why=str(outcome), probe_at=at, account=outcome.scope is Scope.ACCOUNT)
        case Deferred():
            return _deferred(delivery, destination, outcome, now=now, roll=roll, rules=rules)
        case _:
            # OutcomeUnknown, and whatever a notifier may raise that says nothing about the message.
            return Unknown(look_at=now + rules.grace, why=str(outcome), alone=delivery.late)


def settle_look_up(
    delivery: Delivery,
    destination: Destination,
    found: Receipt | NotifyError | None,
    *,
    now: datetime,
    roll: float,
    rules: DeliveryRules,
) -> Settlement:
    """Say what becomes of a delivery of unknown outcome after one look for it (delivery.md C10).

    Absent once may be a history that lags: it is sent again only after the second look. Nobody waits for what is late,
    and it is given up in the end (R-17).
    """
    result = _looked_for(delivery, destination, found, now=now, roll=roll, rules=rules)
    if isinstance(result, Unknown):
        return replace(result, alone=delivery.late)
    if not delivery.late or not isinstance(result, RetryAt):
        return result
    lost = Deferred("its outcome stays unknown")
    later = _deferred(delivery, destination, lost, now=now, roll=roll, rules=rules)
    return replace(later, blind=result.blind) if isinstance(later, RetryAt) else later


def _looked_for(
    delivery: Delivery,
    destination: Destination,
    found: Receipt | NotifyError | None,
    *,
    now: datetime,
    roll: float,
    rules: DeliveryRules,
) -> Settlement:
    match found:
        case Receipt():
            return Sent(receipt=found, how="found")
        case None if delivery.looks == 0:
            return Unknown(look_at=now + rules.look_again, why="not there yet; looking once more", absent=True)
        case None:
            why = "surely not there: sending again"
            return _again(delivery, destination, why, now=now, roll=roll, rules=rules)
        case LookupImpossible():
            return _policy(delivery, destination, str(found), now=now, roll=roll, rules=rules)
        case DestinationDown():
            at = now + rules.probe_every
            return Parked(why=str(found), probe_at=at, account=found.scope is Scope.ACCOUNT)
        case LookupUnavailable() | Deferred():
            wait = retry_delay(destination.failures, roll=roll, asked=found.retry_after, rules=rules)
            # Who says when to come again is busy, not unwell.
            failed = found.retry_after is None
            return Unknown(look_at=now + max(wait, rules.look_again), why=str(found), failed=failed)
        case _:
            return Unknown(look_at=now + rules.grace, why=str(found))


def retry_delay(failures: int, *, roll: float, asked: timedelta | None, rules: DeliveryRules) -> timedelta:
    """How long to leave a destination alone after its next failure in a row.

    Full jitter up to 2 s doubled each time; a longer wait that the service asked for wins, and so does the
    breaker after five failures (R-16, R-18).
    """
    ceiling = min(rules.retry_cap, rules.retry_base * (1 << min(failures, 20)))
    wait = ceiling * roll
    over = failures + 1 - rules.breaker_after
    if over >= 0:
        wait = max(wait, min(rules.breaker_cap, rules.breaker_open * (1 << min(over, 20))))
    if asked is not None:
        wait = max(wait, min(asked, rules.asked_cap))
    return wait


def fails_alone(
    delivery: Delivery, destination: Destination, result: Settlement, *, now: datetime, rules: DeliveryRules
) -> bool:
    """Whether the next one is tried right after this one (R-20), which has failed for long and now once more.

    A look-up is no try: what is surely not there goes first again, for its service may have recovered since. An unknown
    outcome speaks against a message only where it surely got lost before; a rate limit is no loss. What is late holds
    up nobody anyway.
    """
    match result:
        case RetryAt(throttled=False, alone=False):
            has_failed = True
        case Unknown(alone=False):
            has_failed = destination.failures + 1 >= LOST_OFTEN
        case _:
            has_failed = False
    first = delivery.first_try_at
    is_try = delivery.state is not DeliveryState.UNKNOWN
    return is_try and has_failed and first is not None and now - first >= rules.head_of_line


def _deferred(
    delivery: Delivery,
    destination: Destination,
    error: Deferred,
    *,
    now: datetime,
    roll: float,
    rules: DeliveryRules,
) -> Settlement:
    started = delivery.first_try_at or now
    if delivery.late and now - started >= rules.give_up:
        return Dead(why=f"gave up after {_words(now - started)}: {error}")
    failures = delivery.attempts if delivery.late else destination.failures
    wait = retry_delay(0 if error.throttled else failures, roll=roll, asked=error.retry_after, rules=rules)
    # A rate limit is nothing that the message can help: whoever asked us to wait means all that goes there.
    alone = delivery.late and not error.throttled
    return RetryAt(at=now + wait, why=str(error), throttled=error.throttled, alone=alone)


def _policy(
    delivery: Delivery, destination: Destination, why: str, *, now: datetime, roll: float, rules: DeliveryRules
) -> Settlement:
    if rules.on_unknown is OnUnknown.HOLD:
        return Held(why=f"{why}: held for a person")
    if rules.on_unknown is OnUnknown.DROP:
        return Dead(why=f"{why}: dropped, which may lose it")
    why = f"{why}: sending again, which may double it"
    return _again(delivery, destination, why, now=now, roll=roll, rules=rules, blind=True)


def _again(
    delivery: Delivery,
    destination: Destination,
    why: str,
    *,
    now: datetime,
    roll: float,
    rules: DeliveryRules,
    blind: bool = False,
) -> RetryAt:
    """Send what got lost once more: at once the first time, then as after any failure, or when it may be passed.

    A service that takes a message and says each time that it did not would get it twice a minute.
    """
    at = now
    if delivery.attempts > 1:
        at += retry_delay(destination.failures, roll=roll, asked=None, rules=rules)
        may_be_passed = (delivery.first_try_at or now) + rules.head_of_line
        at = min(at, may_be_passed) if now < may_be_passed else at
    return RetryAt(at=at, why=why, blind=blind)


def _words(span: timedelta) -> str:
    return f"{round(span / timedelta(hours=1))} h"
