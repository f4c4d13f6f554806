"""What the operator is told, and how often."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.core.model.delivery import Dead, Delivery, DeliveryKind, Destination, Held, Parked, Receipt, RetryAt, Sent
from bot.core.model.plan import Notice
from bot.core.model.route import DestinationUid
from bot.core.notices import notices_of

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
SLACK = Destination(uid=DestinationUid("slack:#x"))
DELIVERY = Delivery(idem="0" * 32, destination=SLACK.uid, kind=DeliveryKind.ENTRY, due_at=NOW, created_at=NOW)
PARKED = Parked(why="is_archived", probe_at=NOW)


def told(result: object, destination: Destination = SLACK, now: datetime = NOW) -> tuple[Notice, ...]:
    return notices_of(result, DELIVERY, destination, now=now)  # type: ignore[arg-type]


def test_parking_is_told_once_and_says_what_to_do() -> None:
    (notice,) = told(PARKED)
    assert "is_archived" in notice.words
    assert "feedbell resume slack:#x" in notice.words
    assert told(PARKED, replace(SLACK, parked="is_archived")) == ()


def test_a_revoked_token_is_one_notice_for_all_its_destinations() -> None:
    account = Parked(why="token_revoked", probe_at=NOW, account=True)
    other = replace(SLACK, uid=DestinationUid("slack:#y"))
    assert told(account)[0].key == told(account, other)[0].key
    assert told(account)[0].key != told(PARKED)[0].key


def test_the_dead_of_one_destination_are_told_once_an_hour() -> None:
    assert told(Dead(why="a"))[0].key == told(Dead(why="b"), now=NOW + timedelta(minutes=59))[0].key
    assert told(Dead(why="a"))[0].key != told(Dead(why="a"), now=NOW + timedelta(minutes=60))[0].key


def test_a_correction_that_found_nothing_to_change_is_no_message_that_was_lost() -> None:
    edit = replace(DELIVERY, kind=DeliveryKind.EDIT)
    assert notices_of(Dead(why="message_not_found"), edit, SLACK, now=NOW) == ()


def test_each_held_message_is_told() -> None:
    assert DELIVERY.idem in told(Held(why="no history"))[0].key


def test_only_a_wait_of_a_day_is_worth_telling() -> None:
    assert told(RetryAt(at=NOW + timedelta(hours=24), why="429"))
    assert told(RetryAt(at=NOW + timedelta(hours=1), why="429")) == ()


def test_a_destination_that_comes_back_is_told_and_an_ordinary_success_is_not() -> None:
    sent = Sent(receipt=Receipt())
    assert told(sent) == ()
    assert "takes messages again" in told(sent, replace(SLACK, parked="x"))[0].words
