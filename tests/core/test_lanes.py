"""When what is owed becomes a digest."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.core.lanes import next_binding
from bot.core.model.delivery import DIGEST_MEMBERS, Delivery, DeliveryKind, DeliveryState, Destination, Options
from bot.core.model.route import DestinationUid
from bot.core.settle import DeliveryRules

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
RULES = DeliveryRules()
WELL = Destination(uid=DestinationUid("slack:#x"))
UNWELL = replace(WELL, unwell_since=NOW - timedelta(hours=1))


def rows(count: int, *, bundle: str | None = None, first: int = 1, due_at: datetime = NOW) -> list[Delivery]:
    return [
        Delivery(
            id=number,
            seq=number,
            idem=f"{number:032x}",
            destination=WELL.uid,
            kind=DeliveryKind.ENTRY,
            due_at=due_at,
            created_at=due_at,
            bundle=bundle,
            options=Options(routes=("routes[0]",), mentions=(f"<@U{number}>",), heading="daily digest"),
        )
        for number in range(first, first + count)
    ]


def test_ten_waiting_entries_go_one_by_one() -> None:
    assert next_binding(UNWELL, rows(10), now=NOW, rules=RULES) is None


def test_after_an_outage_the_older_ones_become_one_digest_and_the_newest_ten_stay_single() -> None:
    step = next_binding(UNWELL, rows(14), now=NOW, rules=RULES)
    assert step is not None
    assert step.members == (1, 2, 3, 4)
    assert step.digest.kind is DeliveryKind.DIGEST
    assert step.digest.seq == 1
    assert step.digest.options.heading == "While away"
    assert step.digest.options.mentions == ("<@U1>", "<@U2>", "<@U3>", "<@U4>")


def test_where_nothing_goes_singly_the_whole_backlog_is_a_digest() -> None:
    step = next_binding(UNWELL, rows(3), now=NOW, rules=replace(RULES, max_new_single=0))
    assert step is not None
    assert step.members == (1, 2, 3)


def test_what_was_tried_where_nobody_can_look_goes_again_by_itself_and_in_its_place() -> None:
    """A digest has another Message-ID: no mail server would know the second copy in it."""
    mails = [replace(row, destination=DestinationUid("email:a@b.example")) for row in rows(16)]
    mails[0], mails[3] = replace(mails[0], attempts=3), replace(mails[3], attempts=1)
    step = next_binding(UNWELL, mails, now=NOW, rules=RULES)
    assert step is not None
    assert step.members == (2, 3)
    rest = next_binding(UNWELL, mails[3:], now=NOW, rules=RULES)
    assert rest is not None
    assert rest.members == (5, 6)
    posts = rows(16)
    posts[0] = replace(posts[0], attempts=3)
    slack = next_binding(UNWELL, posts, now=NOW, rules=RULES)
    assert slack is not None
    assert slack.members == (1, 2, 3, 4, 5, 6)


def test_what_stands_before_something_told_was_told_in_a_digest_that_can_be_made_again() -> None:
    step = next_binding(WELL, rows(9), now=NOW, rules=RULES, told_until=7)
    assert step is not None
    assert step.members == (1, 2, 3, 4, 5, 6)
    assert next_binding(WELL, rows(3, first=8), now=NOW, rules=RULES, told_until=7) is None


def test_many_entries_at_once_to_a_healthy_destination_are_no_backlog() -> None:
    assert next_binding(WELL, rows(30), now=NOW, rules=RULES) is None


def test_what_waited_while_the_bot_was_away_is_a_backlog() -> None:
    waited = rows(30, due_at=NOW - timedelta(minutes=6))
    step = next_binding(WELL, waited, now=NOW, rules=RULES)
    assert step is not None
    assert len(step.members) == 20


def test_a_long_backlog_makes_several_digests_of_what_fits() -> None:
    step = next_binding(UNWELL, rows(200), now=NOW, rules=RULES)
    assert step is not None
    assert len(step.members) == DIGEST_MEMBERS


def test_a_long_bundle_makes_as_many_digests_as_it_needs() -> None:
    rest = rows(60, bundle="flood", first=51)
    first = replace(rows(1)[0], kind=DeliveryKind.DIGEST)
    step = next_binding(WELL, [first, *rest], now=NOW, rules=RULES)
    assert step is not None
    assert step.members == tuple(range(51, 51 + DIGEST_MEMBERS))


def test_a_bundle_behind_other_messages_waits_for_its_turn() -> None:
    assert next_binding(WELL, [*rows(2), *rows(5, bundle="flood", first=3)], now=NOW, rules=RULES) is None


def test_a_bundle_behind_what_may_be_passed_is_bound_for_it_is_the_next_one() -> None:
    head, *rest = [*rows(1), *rows(5, bundle="flood", first=2)]
    for first_try_at, members in ((NOW - RULES.head_of_line, (2, 3, 4, 5, 6)), (NOW, None)):
        due = [replace(head, attempts=1, first_try_at=first_try_at), *rest]
        for unproven in (False, True):
            step = next_binding(WELL, due, now=NOW, rules=RULES, unproven=unproven)
            assert (step and step.members) == members


def test_a_backlog_waits_until_its_destination_has_taken_something_again() -> None:
    assert next_binding(UNWELL, rows(14), now=NOW, rules=RULES) is not None
    assert next_binding(UNWELL, rows(14), now=NOW, rules=RULES, unproven=True) is None


def test_a_backlog_digest_takes_nothing_that_stands_behind_another_digest() -> None:
    waiting = [*rows(12), *rows(5, bundle="flood", first=13), *rows(20, first=18)]
    step = next_binding(UNWELL, waiting, now=NOW, rules=RULES)
    assert step is not None
    assert step.members == tuple(range(1, 13))

    made = [replace(rows(1)[0], kind=DeliveryKind.DIGEST), *waiting[12:]]
    flood = next_binding(UNWELL, made, now=NOW, rules=RULES)
    assert flood is not None
    assert flood.members == tuple(range(13, 18))

    made[1:6] = [replace(rows(1, first=13)[0], kind=DeliveryKind.DIGEST)]
    rest = next_binding(UNWELL, made, now=NOW, rules=RULES)
    assert rest is not None
    assert rest.members == tuple(range(18, 28))


def test_a_message_of_unknown_outcome_is_neither_bound_nor_overtaken() -> None:
    waiting = rows(20)
    waiting[0] = replace(waiting[0], state=DeliveryState.UNKNOWN)
    assert next_binding(UNWELL, waiting, now=NOW, rules=RULES) is None


def test_a_bundle_whose_time_has_come_is_bound_when_it_is_first_in_line() -> None:
    digest = rows(3, bundle="digest|routes[0]|1")
    step = next_binding(WELL, [*digest, *rows(2, first=4)], now=NOW, rules=RULES)
    assert step is not None
    assert step.members == (1, 2, 3)
    assert step.digest.options.heading == "daily digest"
    assert next_binding(WELL, [*rows(1), *rows(2, bundle="b", first=2)], now=NOW, rules=RULES) is None


def test_the_digest_is_the_same_whenever_its_members_are() -> None:
    one = next_binding(WELL, rows(3, bundle="b"), now=NOW, rules=RULES)
    two = next_binding(WELL, rows(3, bundle="b"), now=NOW + timedelta(hours=1), rules=RULES)
    other = next_binding(WELL, rows(4, bundle="b"), now=NOW, rules=RULES)
    assert one is not None
    assert two is not None
    assert other is not None
    assert one.digest.idem == two.digest.idem != other.digest.idem


def test_nothing_due_binds_nothing() -> None:
    assert next_binding(UNWELL, [], now=NOW, rules=RULES) is None
