"""How what is owed is told: order, waiting, doubt, and when a destination is left alone."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

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
from bot.core.model.delivery import Probe
from bot.core.model.route import DestinationUid, OnUnknown, Route
from tests.services.flow import HOUR, MINUTE, OPS, Flow, X, Y, flows


@flows
async def test_new_entries_arrive_oldest_first(flow: Flow) -> None:
    page = await flow.follow()
    await flow.publish(page, "post 2", "post 3", "post 4")
    await flow.run(5)
    assert flow.slack.titles() == ["post 2", "post 3", "post 4"]


@flows
async def test_a_refused_connection_keeps_the_order(flow: Flow) -> None:
    page = await flow.follow()
    flow.slack.outcomes = [Deferred("refused"), Deferred("refused")]
    await flow.publish(page, "post 2", "post 3")
    await flow.run(30)
    assert [each.titles for each in flow.slack.tried] == [("post 2",), ("post 2",), ("post 2",), ("post 3",)]
    assert flow.slack.titles() == ["post 2", "post 3"]


@flows
async def test_a_rate_limit_is_waited_out_and_holds_up_no_other_destination(flow: Flow) -> None:
    flow.routes = [Route(name="routes[0]", to=(X, Y))]
    page = await flow.follow()
    flow.slack.outcomes = [Deferred("429", retry_after=timedelta(minutes=5), throttled=True)]
    await flow.publish(page, "post 2")
    start = flow.loop.elapsed
    await flow.run(6 * MINUTE)
    assert flow.slack.stored[0].at - start >= 5 * MINUTE
    assert flow.discord.stored[0].at - start < 2


@flows
async def test_five_failures_in_a_row_open_the_breaker_and_rate_limits_do_not_count(flow: Flow) -> None:
    flow.clock.rolls = 0.0
    page = await flow.follow()
    flow.slack.verdict = lambda uid, titles, plain: Deferred("refused")
    await flow.publish(page, "post 2")
    await flow.run(10 * MINUTE)
    gaps = [later.at - earlier.at for earlier, later in pairwise(flow.slack.tried)]
    assert max(gaps[:4]) < 3
    assert [round(gap / 30) for gap in gaps[4:7]] == [1, 2, 4]

    flow.slack.verdict = lambda uid, titles, plain: Deferred("429", throttled=True)
    tried = len(flow.slack.tried)
    await flow.run(20 * MINUTE)
    late = flow.slack.tried[tried:]
    assert late[-1].at - late[-2].at < 3


@flows
async def test_an_unknown_outcome_is_looked_up_after_the_grace_and_found(flow: Flow) -> None:
    page = await flow.follow()
    lost = OutcomeUnknown("reset")
    flow.slack.outcomes = [lost]
    flow.slack.stored_all_the_same = {lost}
    await flow.publish(page, "post 2", "post 3")
    await flow.run(2 * MINUTE)
    assert flow.slack.titles() == ["post 2", "post 3"]
    assert flow.slack.looked[0] - flow.slack.tried[0].at >= 30
    assert [event.result.__class__.__name__ for event in flow.sends] == ["Unknown", "Sent", "Sent"]


@flows
async def test_what_is_surely_absent_twice_is_sent_again_and_nobody_passes_it_meanwhile(flow: Flow) -> None:
    page = await flow.follow()
    flow.slack.outcomes = [OutcomeUnknown("reset")]
    await flow.publish(page, "post 2", "post 3")
    await flow.run(2 * MINUTE)
    assert flow.slack.titles() == ["post 2", "post 3"]
    assert len(flow.slack.looked) == 2
    assert flow.slack.looked[1] - flow.slack.looked[0] >= 15
    assert flow.slack.stored[0].at >= flow.slack.looked[1]
    assert flow.slack.tried[0].key == flow.slack.tried[1].key


async def _unknown_at_a_webhook(flow: Flow, choice: OnUnknown) -> None:
    await flow.go_by(replace(flow.rules, on_unknown=choice))
    page = await flow.follow()
    lost = OutcomeUnknown("reset")
    flow.slack.outcomes = [lost]
    flow.slack.stored_all_the_same = {lost}
    flow.slack.look_up = LookupImpossible("webhooks have no history")
    await flow.publish(page, "post 2", "post 3")
    await flow.run(2 * MINUTE)


@flows
async def test_where_nothing_can_be_looked_up_resend_may_double(flow: Flow) -> None:
    await _unknown_at_a_webhook(flow, OnUnknown.RESEND)
    assert flow.slack.titles() == ["post 2", "post 2", "post 3"]


@flows
async def test_where_nothing_can_be_looked_up_hold_waits_for_a_person_and_lets_others_pass(flow: Flow) -> None:
    await _unknown_at_a_webhook(flow, OnUnknown.HOLD)
    await flow.run(10)
    assert await flow.states("post 2") == {X: "held"}
    assert flow.slack.titles() == ["post 2", "post 3"]
    assert "may or may not have arrived" in flow.ops.titles()[0]

    await flow.store.resume(X, now=flow.clock.now())
    await flow.run(10)
    assert flow.slack.titles() == ["post 2", "post 3", "post 2"]


@flows
async def test_where_nothing_can_be_looked_up_drop_gives_up(flow: Flow) -> None:
    await _unknown_at_a_webhook(flow, OnUnknown.DROP)
    await flow.run(10)
    assert await flow.states("post 2") == {X: "dead"}
    assert flow.slack.titles() == ["post 2", "post 3"]


# --- one message that fails alone ------------------------------------------------------------------------------------


@flows
async def test_a_rejected_message_goes_plain_in_its_own_place(flow: Flow) -> None:
    page = await flow.follow()
    flow.slack.verdict = lambda uid, titles, plain: (
        MessageRejected("invalid_blocks") if titles == ("post 2",) and not plain else None
    )
    await flow.publish(page, "post 2", "post 3")
    await flow.run(5)
    assert [(each.titles, each.plain) for each in flow.slack.stored] == [(("post 2",), True), (("post 3",), False)]
    assert flow.slack.stored[0].note is None


@flows
async def test_a_message_that_no_form_saves_is_given_up_and_blocks_nobody(flow: Flow) -> None:
    page = await flow.follow()
    flow.slack.verdict = lambda uid, titles, plain: MessageRejected("no_text") if titles == ("post 2",) else None
    await flow.publish(page, "post 2", "post 3")
    await flow.run(5)
    assert flow.slack.titles() == ["post 3"]
    assert await flow.states("post 2") == {X: "dead"}
    assert "was given up: no_text" in flow.ops.titles(OPS)[0]


@flows
async def test_a_head_that_fails_alone_for_fifteen_minutes_is_passed_and_comes_late(flow: Flow) -> None:
    page = await flow.follow()
    heals_at = flow.loop.elapsed + HOUR
    flow.slack.verdict = lambda uid, titles, plain: (
        Deferred("cannot take this one") if "post 2" in titles and flow.loop.elapsed < heals_at else None
    )
    await flow.publish(page, "post 2", "post 3", "post 4")
    start = flow.loop.elapsed
    await flow.run(2 * HOUR)
    assert flow.slack.titles() == ["post 3", "post 4", "post 2"]
    assert flow.slack.stored[0].at - start >= 15 * MINUTE
    assert flow.slack.stored[0].at - start < 35 * MINUTE
    assert [each.note for each in flow.slack.stored] == [None, None, "delayed"]


@flows
async def test_nobody_passes_the_head_while_the_destination_itself_is_down(flow: Flow) -> None:
    page = await flow.follow()
    heals_at = flow.loop.elapsed + 3 * HOUR
    flow.slack.verdict = lambda uid, titles, plain: Deferred("refused") if flow.loop.elapsed < heals_at else None
    await flow.publish(page, "post 2", "post 3", "post 4")
    await flow.run(4 * HOUR)
    assert flow.slack.titles() == ["post 2", "post 3", "post 4"]
    assert [each.note for each in flow.slack.stored] == [None, None, None]


@flows
async def test_what_a_blind_outage_left_unknown_is_sent_before_anything_that_came_later(flow: Flow) -> None:
    page = await flow.follow()
    flow.slack.verdict = lambda uid, titles, plain: OutcomeUnknown("reset")
    flow.slack.look_up = LookupUnavailable("down")
    await flow.publish(page, "post 2", "post 3", "post 4")
    await flow.run(2 * HOUR)
    flow.slack.verdict = lambda uid, titles, plain: None
    flow.slack.look_up = None
    await flow.run(HOUR)
    assert flow.slack.titles() == ["post 2", "post 3", "post 4"]
    assert [each.note for each in flow.slack.stored] == [None, None, None]


@flows
async def test_posts_that_get_lost_while_the_history_still_answers_keep_their_order(flow: Flow) -> None:
    """The outage ends at any moment: after a try, between two looks for it, before the next one is tried."""
    page, told = await flow.follow(), []
    for seconds in range(0, 100, 10):
        heals_at = flow.loop.elapsed + 20 * MINUTE + seconds
        flow.slack.verdict = lambda uid, titles, plain, until=heals_at: (
            OutcomeUnknown("503") if flow.loop.elapsed < until else None
        )
        posts = [f"post {number} of {seconds}" for number in (1, 2, 3)]
        await flow.publish(page, *posts)
        await flow.run(2 * HOUR)
        told += posts
        assert flow.slack.titles() == told
    assert not [each.note for each in flow.slack.stored if each.note]


@flows
async def test_when_the_head_fails_and_the_next_one_is_unknown_neither_is_passed(flow: Flow) -> None:
    page = await flow.follow()
    heals_at = flow.loop.elapsed + 20 * MINUTE
    unknown = OutcomeUnknown("reset")

    def verdict(uid: str, titles: Sequence[str], plain: bool) -> NotifyError | None:
        if flow.loop.elapsed >= heals_at:
            return None
        return Deferred("refused") if titles == ("post 2",) else unknown

    flow.slack.verdict = verdict
    await flow.publish(page, "post 2", "post 3", "post 4")
    await flow.run(2 * HOUR)
    assert flow.slack.titles() == ["post 2", "post 3", "post 4"]


@flows
async def test_a_message_that_gets_lost_every_time_is_passed_and_tried_less_and_less(flow: Flow) -> None:
    page = await flow.follow()
    lost: NotifyError = OutcomeUnknown("500")
    flow.slack.verdict = lambda uid, titles, plain: lost if "post 1" in titles else None
    await flow.publish(page, "post 1", "post 2")
    await flow.run(20 * MINUTE)
    assert flow.slack.titles() == ["post 2"]
    for hour in range(73):
        await flow.publish(page, f"post of hour {hour}")
        await flow.run(1)
        assert flow.slack.titles()[-1] == f"post of hour {hour}"  # whatever is known of the lost one
        await flow.run(HOUR - 1)
    assert await flow.states("post 1") == {X: "dead"}
    assert len([each for each in flow.slack.tried if "post 1" in each.titles]) < 73 * 6


@flows
async def test_a_late_message_is_given_up_after_three_days_of_its_own_failures(flow: Flow) -> None:
    page = await flow.follow()
    flow.slack.verdict = lambda uid, titles, plain: Deferred("not this one") if "post 2" in titles else None
    await flow.publish(page, "post 2", "post 3")
    await flow.run(20 * MINUTE)
    assert flow.slack.titles() == ["post 3"]
    await flow.run(74 * HOUR)
    assert await flow.states("post 2") == {X: "dead"}
    assert any("gave up after" in words for words in flow.ops.titles())


# --- a destination that is down --------------------------------------------------------------------------------------


@flows
async def test_a_server_that_takes_a_message_and_fails_after_it_is_not_flooded_with_it(flow: Flow) -> None:
    page, lost = await flow.follow(), OutcomeUnknown("500")
    flow.slack.verdict = lambda uid, titles, plain: lost if titles == ("post 2",) else None
    flow.slack.stored_all_the_same = {lost}
    flow.slack.look_up = LookupImpossible("webhooks have no history")
    await flow.publish(page, "post 2", "post 3")
    await flow.run(HOUR)
    assert flow.slack.titles().count("post 2") < 20
    assert "post 3" in flow.slack.titles()
    await flow.run(80 * HOUR)
    assert await flow.states("post 2") == {X: "dead"}
    assert await flow.states("post 3") == {X: "sent"}


@flows
async def test_an_archived_channel_is_parked_probed_by_reading_and_told_in_order_when_it_is_back(flow: Flow) -> None:
    page = await flow.follow()
    down = DestinationDown("is_archived")
    flow.slack.verdict = lambda uid, titles, plain: down
    flow.slack.probe_answer = down
    await flow.publish(page, "post 2", "post 3")
    await flow.run(2.5 * HOUR)
    assert len(flow.slack.tried) == 1
    assert len(flow.slack.probed) == 2
    assert flow.slack.probed[0] - flow.slack.tried[0].at >= HOUR
    parked = [words for words in flow.ops.titles() if "is parked: is_archived" in words]
    assert len(parked) == 1

    flow.slack.verdict = lambda uid, titles, plain: None
    flow.slack.probe_answer = Probe(can_look_up=True)
    await flow.run(HOUR)
    assert flow.slack.titles() == ["post 2", "post 3"]


@flows
async def test_a_person_may_resume_a_parked_destination_at_once(flow: Flow) -> None:
    page = await flow.follow()
    flow.slack.outcomes = [DestinationDown("is_archived")]
    await flow.publish(page, "post 2")
    await flow.run(10)
    assert flow.slack.titles() == []
    await flow.store.resume(X, now=flow.clock.now())
    await flow.run(5)
    assert flow.slack.titles() == ["post 2"]


@flows
async def test_a_revoked_token_parks_every_destination_of_its_service_and_no_other(flow: Flow) -> None:
    other = DestinationUid("slack:#y")
    flow.routes = [Route(name="routes[0]", to=(X, other, Y))]
    page = await flow.follow()
    revoked: NotifyError = DestinationDown("token_revoked", scope=Scope.ACCOUNT)
    flow.slack.verdict = lambda uid, titles, plain: revoked
    flow.slack.probe_answer = revoked
    await flow.publish(page, "post 2")
    await flow.run(5)
    await flow.publish(page, "post 3")
    await flow.run(30 * MINUTE)
    # Both may have been on their way when the first answer came, but nothing after it.
    assert len(flow.slack.tried) <= 2
    assert flow.discord.titles() == ["post 2", "post 3"]
    assert len([words for words in flow.ops.titles() if "token_revoked" in words]) == 1
