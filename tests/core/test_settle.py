"""What an attempt's answer means: one row a rule."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.core.errors import (
    Deferred,
    DestinationDown,
    LookupImpossible,
    LookupUnavailable,
    MessageRejected,
    NotifyError,
    OutcomeUnknown,
    Scope,
)
from bot.core.model.delivery import (
    Dead,
    Delivery,
    DeliveryKind,
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
from bot.core.model.route import DestinationUid, OnUnknown
from bot.core.settle import DeliveryRules, fails_alone, retry_delay, settle, settle_look_up

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
RULES = DeliveryRules()
SLACK = Destination(uid=DestinationUid("slack:#x"))
DELIVERY = Delivery(idem="0" * 32, destination=SLACK.uid, kind=DeliveryKind.ENTRY, due_at=NOW, created_at=NOW)


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def test_a_receipt_is_the_only_thing_that_makes_a_delivery_sent() -> None:
    receipt = Receipt(remote_ref="1.2")
    assert settle(DELIVERY, SLACK, receipt, now=NOW, roll=0.5, rules=RULES) == Sent(receipt=receipt)


def test_an_unknown_outcome_waits_the_grace_before_it_is_looked_up() -> None:
    result = settle(DELIVERY, SLACK, OutcomeUnknown("reset"), now=NOW, roll=0.5, rules=RULES)
    assert result == Unknown(look_at=NOW + RULES.grace, why="reset")


def test_an_error_that_says_nothing_about_the_message_counts_as_unknown() -> None:
    assert isinstance(settle(DELIVERY, SLACK, NotifyError("?"), now=NOW, roll=0.5, rules=RULES), Unknown)


def test_a_rejected_message_gets_one_plain_try_and_blocks_nobody() -> None:
    first = settle(DELIVERY, SLACK, MessageRejected("invalid_blocks"), now=NOW, roll=0.5, rules=RULES)
    assert first == RetryAt(at=NOW, why="invalid_blocks", plain=True, alone=True)
    second = settle(replace(DELIVERY, plain=True), SLACK, MessageRejected("no_text"), now=NOW, roll=0.5, rules=RULES)
    assert second == Dead(why="no_text")


@pytest.mark.parametrize(("scope", "account"), [(Scope.DESTINATION, False), (Scope.ACCOUNT, True)])
def test_a_destination_that_is_down_parks_and_is_looked_at_in_an_hour(scope: Scope, account: bool) -> None:
    error = DestinationDown("is_archived", scope=scope)
    parked = Parked(why="is_archived", probe_at=NOW + timedelta(hours=1), account=account)
    assert settle(DELIVERY, SLACK, error, now=NOW, roll=0.5, rules=RULES) == parked
    assert settle_look_up(DELIVERY, SLACK, error, now=NOW, roll=0.5, rules=RULES) == parked


def test_a_rate_limit_waits_as_asked_and_says_nothing_about_health() -> None:
    error = Deferred("429", retry_after=seconds(30), throttled=True)
    result = settle(DELIVERY, replace(SLACK, failures=4), error, now=NOW, roll=0.0, rules=RULES)
    assert result == RetryAt(at=NOW + seconds(30), why="429", throttled=True)


@pytest.mark.parametrize(
    ("failures", "roll", "asked", "wait"),
    [
        (0, 0.0, None, 0),
        (0, 0.5, None, 1),
        (3, 0.5, None, 8),
        (0, 0.5, 60.0, 60),
        (0, 0.5, 10**9, 24 * 3600),  # nobody silences us for longer
        (4, 0.0, None, 30),  # the fifth failure in a row opens the breaker
        (5, 0.0, None, 60),
        (30, 0.999, None, 900),
        (10**6, 0.5, None, 900),
    ],
)
def test_waits_grow_with_jitter_up_to_a_cap(failures: int, roll: float, asked: float | None, wait: float) -> None:
    asked_for = None if asked is None else seconds(asked)
    assert retry_delay(failures, roll=roll, asked=asked_for, rules=RULES) == seconds(wait)


def test_a_late_message_gives_up_by_age_and_never_holds_up_the_others() -> None:
    late = replace(DELIVERY, late=True, attempts=3, first_try_at=NOW - timedelta(hours=71))
    retry = settle(late, SLACK, Deferred("451"), now=NOW, roll=0.5, rules=RULES)
    assert isinstance(retry, RetryAt)
    assert retry.alone
    limited = settle(
        late, SLACK, Deferred("429", retry_after=seconds(30), throttled=True), now=NOW, roll=0.5, rules=RULES
    )
    assert limited == RetryAt(at=NOW + seconds(30), why="429", throttled=True)  # which everybody keeps
    old = replace(late, first_try_at=NOW - timedelta(hours=73))
    assert settle(old, SLACK, Deferred("451"), now=NOW, roll=0.5, rules=RULES) == Dead(why="gave up after 73 h: 451")


def test_a_message_of_a_destination_that_is_down_never_gives_up_by_its_own_age() -> None:
    old = replace(DELIVERY, first_try_at=NOW - timedelta(days=5))
    assert isinstance(settle(old, SLACK, Deferred("refused"), now=NOW, roll=0.5, rules=RULES), RetryAt)


FAILED = RetryAt(at=NOW, why="refused")
LOST = Unknown(look_at=NOW, why="500")
OLD = replace(DELIVERY, first_try_at=NOW - timedelta(minutes=15))


@pytest.mark.parametrize(
    ("delivery", "result", "alone"),
    [
        (DELIVERY, FAILED, False),
        (replace(DELIVERY, first_try_at=NOW - timedelta(minutes=14)), FAILED, False),
        (OLD, FAILED, True),
        (OLD, replace(FAILED, throttled=True), False),
        (OLD, replace(FAILED, alone=True), False),  # it is late and holds up nobody
        (OLD, Dead(why="bad"), False),
        (replace(OLD, attempts=2), LOST, True),
        (replace(OLD, attempts=2), replace(LOST, alone=True), False),
        (replace(OLD, attempts=9, state=DeliveryState.UNKNOWN), FAILED, False),  # a look-up is no try
    ],
)
def test_after_a_quarter_of_an_hour_of_failed_tries_the_next_one_may_try(
    delivery: Delivery, result: Settlement, alone: bool
) -> None:
    assert fails_alone(delivery, replace(SLACK, failures=2), result, now=NOW, rules=RULES) is alone


@pytest.mark.parametrize(("failures", "alone"), [(0, False), (1, False), (2, True)])
def test_an_unknown_outcome_speaks_against_a_message_that_surely_got_lost_twice(failures: int, alone: bool) -> None:
    often = replace(OLD, attempts=9)  # rate limits most of the time
    assert fails_alone(often, replace(SLACK, failures=failures), LOST, now=NOW, rules=RULES) is alone


def test_a_late_message_of_unknown_outcome_holds_up_nobody_and_is_given_up_too() -> None:
    late = replace(OLD, late=True, attempts=3, looks=1, state=DeliveryState.UNKNOWN)
    sent = settle(late, SLACK, OutcomeUnknown("500"), now=NOW, roll=0.5, rules=RULES)
    looked = settle_look_up(late, SLACK, NotifyError("?"), now=NOW, roll=0.5, rules=RULES)
    assert isinstance(sent, Unknown)
    assert isinstance(looked, Unknown)
    assert (sent.alone, looked.alone) == (True, True)
    absent = settle_look_up(late, SLACK, None, now=NOW, roll=0.5, rules=RULES)
    assert absent == RetryAt(at=NOW + seconds(8), why="its outcome stays unknown", alone=True)
    blind = settle_look_up(late, SLACK, LookupImpossible("no history"), now=NOW, roll=0.5, rules=RULES)
    assert blind == replace(absent, blind=True)
    old = replace(late, first_try_at=NOW - timedelta(hours=73))
    assert isinstance(settle_look_up(old, SLACK, None, now=NOW, roll=0.5, rules=RULES), Dead)


def test_what_is_found_is_sent_and_not_sent_again() -> None:
    receipt = Receipt(remote_ref="1.2")
    found = settle_look_up(DELIVERY, SLACK, receipt, now=NOW, roll=0.5, rules=RULES)
    assert found == Sent(receipt=receipt, how="found")


def test_absent_once_is_looked_for_again_and_absent_twice_is_sent_again() -> None:
    first = settle_look_up(DELIVERY, SLACK, None, now=NOW, roll=0.5, rules=RULES)
    assert isinstance(first, Unknown)
    assert first.look_at == NOW + RULES.look_again
    second = settle_look_up(replace(DELIVERY, looks=1), SLACK, None, now=NOW, roll=0.5, rules=RULES)
    assert isinstance(second, RetryAt)
    assert second.at == NOW


def test_a_look_up_that_fails_proves_nothing() -> None:
    error = LookupUnavailable("503", retry_after=seconds(40))
    result = settle_look_up(replace(DELIVERY, looks=1), SLACK, error, now=NOW, roll=0.0, rules=RULES)
    assert result == Unknown(look_at=NOW + seconds(40), why="503")
    down = settle_look_up(DELIVERY, SLACK, LookupUnavailable("503"), now=NOW, roll=0.0, rules=RULES)
    assert down == Unknown(look_at=NOW + RULES.look_again, why="503", failed=True)
    other = settle_look_up(DELIVERY, SLACK, NotifyError("?"), now=NOW, roll=0.0, rules=RULES)
    assert other == Unknown(look_at=NOW + RULES.grace, why="?")


@pytest.mark.parametrize(
    ("policy", "kind"), [(OnUnknown.RESEND, RetryAt), (OnUnknown.HOLD, Held), (OnUnknown.DROP, Dead)]
)
def test_where_nothing_can_be_looked_up_the_operator_chose(policy: OnUnknown, kind: type) -> None:
    rules = replace(RULES, on_unknown=policy)
    error = LookupImpossible("webhooks have no history")
    assert isinstance(settle_look_up(DELIVERY, SLACK, error, now=NOW, roll=0.5, rules=rules), kind)


@pytest.mark.parametrize("found", [None, LookupImpossible("no history")])
def test_what_gets_lost_again_and_again_is_sent_less_and_less_often(found: NotifyError | None) -> None:
    lost = replace(DELIVERY, looks=1, attempts=2)
    for failures, wait in ((1, 4.0), (3, 16.0), (9, 900.0)):
        unwell = replace(SLACK, failures=failures)
        result = settle_look_up(lost, unwell, found, now=NOW, roll=0.999999, rules=RULES)
        assert isinstance(result, RetryAt)
        assert result.at - NOW == pytest.approx(seconds(wait), abs=seconds(0.01))
        assert not result.alone
    soon = replace(lost, first_try_at=NOW - RULES.head_of_line + seconds(60))  # then the next one may be tried
    result = settle_look_up(soon, replace(SLACK, failures=9), found, now=NOW, roll=0.999999, rules=RULES)
    assert isinstance(result, RetryAt)
    assert result.at == NOW + seconds(60)


@pytest.mark.parametrize("found", [None, LookupImpossible("no history")])
def test_what_alone_gets_lost_holds_nobody_up_and_is_given_up_by_age(found: NotifyError | None) -> None:
    late = replace(DELIVERY, looks=1, attempts=9, late=True, first_try_at=NOW - timedelta(hours=71))
    result = settle_look_up(late, SLACK, found, now=NOW, roll=0.5, rules=RULES)
    assert isinstance(result, RetryAt)
    assert result.alone
    assert result.at - NOW >= seconds(30)
    over = settle_look_up(late, SLACK, found, now=NOW + timedelta(hours=1), roll=0.5, rules=RULES)
    assert isinstance(over, Dead)
    assert over.why.startswith("gave up after 72 h")
