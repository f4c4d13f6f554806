"""After outages, lost leases and a store that fails: what is told, and what is not told again."""

from dataclasses import replace
from datetime import timedelta

from bot.core.errors import (
    Deferred,
    DestinationDown,
    LookupUnavailable,
    OutcomeUnknown,
)
from bot.core.model.delivery import Probe
from bot.core.model.route import Route
from bot.services.leases import LaneLeases
from bot.services.outbox import LEASE
from bot.services.pacing import Pacer
from tests.services.flow import HOUR, MINUTE, Flow, X, Y, flows


@flows
async def test_after_an_outage_the_first_one_comes_alone_then_one_digest_then_the_newest_ten(flow: Flow) -> None:
    page = await flow.follow()
    heals_at = flow.loop.elapsed + HOUR
    flow.slack.verdict = lambda uid, titles, plain: Deferred("refused") if flow.loop.elapsed < heals_at else None
    for first in (2, 8, 14):
        await flow.publish(page, *(f"post {number}" for number in range(first, first + 6)))
        await flow.run(5 * MINUTE)
    await flow.run(2 * HOUR)
    older = ", ".join(f"post {number}" for number in range(3, 10))
    assert flow.slack.titles() == ["post 2", older, *(f"post {number}" for number in range(10, 20))]


@flows
async def test_a_channel_that_is_back_from_the_archive_gets_one_digest_and_the_newest_ten(flow: Flow) -> None:
    page = await flow.follow()
    down = DestinationDown("is_archived")
    flow.slack.verdict = lambda uid, titles, plain: down
    flow.slack.probe_answer = down
    for first in (2, 8, 14):
        await flow.publish(page, *(f"post {number}" for number in range(first, first + 6)))
        await flow.run(2 * HOUR)
    flow.slack.verdict = lambda uid, titles, plain: None
    flow.slack.probe_answer = Probe(can_look_up=True)
    await flow.run(2 * HOUR)
    older = ", ".join(f"post {number}" for number in range(2, 10))
    assert flow.slack.titles() == [older, *(f"post {number}" for number in range(10, 20))]


@flows
async def test_what_a_dead_destination_does_not_take_for_a_week_is_dead_with_one_notice(flow: Flow) -> None:
    page = await flow.follow()
    flow.slack.verdict = lambda uid, titles, plain: DestinationDown("is_archived")
    flow.slack.probe_answer = DestinationDown("is_archived")
    await flow.publish(page, "post 2", "post 3")
    await flow.run((7 * 24 + 1) * HOUR)
    died = await flow.store.kill_old(now=flow.clock.now())
    assert died == {X: 2}
    assert await flow.states("post 2") == {X: "dead"}


@flows
async def test_a_week_in_which_nobody_ran_gives_nothing_up(flow: Flow) -> None:
    flow.routes = [Route(name="routes[0]", to=(X, Y))]
    page = await flow.follow()
    flow.slack.verdict = lambda uid, titles, plain: DestinationDown("is_archived")
    flow.slack.probe_answer = DestinationDown("is_archived")
    flow.discord.verdict = lambda uid, titles, plain: Deferred("refused")
    await flow.publish(page, "post 2", "post 3")
    await flow.run(3 * HOUR)
    await flow.clock.sleep(timedelta(days=8))
    assert await flow.store.kill_old(now=flow.clock.now()) == {}
    flow.slack.verdict = flow.discord.verdict = lambda uid, titles, plain: None
    flow.slack.probe_answer = Probe(can_look_up=True)
    await flow.run(MINUTE)
    assert flow.slack.titles() == flow.discord.titles() == ["post 2", "post 3"]


@flows
async def test_a_history_that_never_answers_is_asked_less_and_less_and_what_waits_is_dead_after_a_week(
    flow: Flow,
) -> None:
    page = await flow.follow()
    flow.slack.outcomes, flow.slack.look_up = [OutcomeUnknown("reset")], LookupUnavailable("down")
    await flow.publish(page, "post 2", "post 3")
    await flow.run(24 * HOUR)
    assert await flow.states("post 2") == {X: "unknown"}
    assert len(flow.slack.looked) < 200
    await flow.run(7 * 24 * HOUR)
    assert await flow.store.kill_old(now=flow.clock.now()) == {X: 2}


@flows
async def test_a_history_that_is_asked_too_often_is_no_failure_of_the_destination(flow: Flow) -> None:
    page = await flow.follow()
    busy = LookupUnavailable("slow down", retry_after=timedelta(seconds=30))
    flow.slack.outcomes, flow.slack.look_up = [OutcomeUnknown("reset")], busy
    await flow.publish(page, "post 2")
    await flow.run(10 * MINUTE)
    flow.slack.look_up = None
    await flow.run(2 * MINUTE)
    assert flow.slack.titles() == ["post 2"]


# --- the store -------------------------------------------------------------------------------------------------------


@flows
async def test_a_lease_that_was_lost_writes_nothing_and_sends_nothing_more(flow: Flow) -> None:
    page = await flow.follow()
    await flow.publish(page, "post 2", "post 3")
    stolen: list[bool] = []

    def steal() -> None:
        if not stolen:
            stolen.append(True)
            flow.steal_lane(X)

    flow.slack.before_answer = steal
    await flow.run(3)
    assert [each.titles for each in flow.slack.tried] == [("post 2",)]
    assert await flow.states("post 2") == {X: "sending"}
    await flow.run(5 * MINUTE)
    assert flow.slack.titles() == ["post 2", "post 3"]


@flows
async def test_without_a_committed_intent_nothing_is_sent(flow: Flow) -> None:
    page = await flow.follow()
    await flow.publish(page, "post 2")
    flow.break_store("begin")
    await flow.run(5)
    assert flow.slack.tried == []
    flow.mend_store()
    await flow.run(3 * MINUTE)
    assert flow.slack.titles() == ["post 2"]


@flows
async def test_an_answer_that_could_not_be_recorded_is_looked_up_and_not_sent_again(flow: Flow) -> None:
    page = await flow.follow()
    await flow.publish(page, "post 2", "post 3")
    flow.break_store("settle")
    await flow.run(5)
    assert flow.slack.titles() == ["post 2"]
    flow.mend_store()
    await flow.run(5 * MINUTE)
    assert flow.slack.titles() == ["post 2", "post 3"]
    assert len(flow.slack.looked) == 1


@flows
async def test_a_lease_whose_renewal_failed_once_is_renewed_the_next_time(flow: Flow) -> None:
    page = await flow.follow()
    await flow.publish(page, "post 2")
    lane = await flow.store.claim_lane(now=flow.clock.now(), lease=LEASE, limit=1)
    assert lane is not None
    async with LaneLeases(flow.store, flow.clock, LEASE).held(lane):
        flow.break_store("renew")
        await flow.clock.sleep(LEASE / 2)
        flow.mend_store()
        await flow.clock.sleep(LEASE)
        assert await flow.store.claim_lane(now=flow.clock.now(), lease=LEASE, limit=1) is None


@flows
async def test_a_lane_that_is_held_anew_stays_held_when_its_former_work_ends(flow: Flow) -> None:
    leases, page = LaneLeases(flow.store, flow.clock, LEASE), await flow.follow()
    await flow.publish(page, "post 2")
    former = await flow.store.claim_lane(now=flow.clock.now(), lease=LEASE, limit=1)
    flow.clock.shift += timedelta(hours=1)  # somebody sets the clock, and every lease is over
    lane = await flow.store.claim_lane(now=flow.clock.now(), lease=LEASE, limit=1)
    assert former is not None
    assert lane is not None
    former_work = leases.held(former)
    await former_work.__aenter__()
    async with leases.held(lane):
        await former_work.__aexit__(None, None, None)
        await flow.clock.sleep(2 * LEASE)
        assert await flow.store.claim_lane(now=flow.clock.now(), lease=LEASE, limit=1) is None


@flows
async def test_a_clock_that_is_set_ahead_brings_nobody_to_a_destination_that_is_at_work(flow: Flow) -> None:
    async def sent_again_at_once(*_: object) -> None:
        """As mail answers, which has no history."""

    flow.slack.find = sent_again_at_once  # type: ignore[method-assign]
    flow.slack.takes = timedelta(minutes=3)
    page = await flow.follow()
    await flow.publish(page, "post 2")
    await flow.run(1)
    flow.clock.shift += timedelta(hours=1)
    await flow.run(10 * MINUTE)
    assert [each.titles for each in flow.slack.tried] == [("post 2",)]
    assert await flow.states("post 2") == {X: "sent"}


class _FaultyPacer(Pacer):
    """Fails where nothing expects it."""

    asked = 0

    async def wait(self, uid: str) -> None:
        self.asked += 1
        raise ZeroDivisionError


@flows
async def test_a_lane_that_fails_by_a_fault_of_ours_is_left_alone_for_two_minutes(flow: Flow) -> None:
    page = await flow.follow()
    await flow.publish(page, "post 2")
    sound, faulty = flow.outbox.means, _FaultyPacer(flow.clock, destinations={}, services={})
    flow.outbox.means = replace(sound, pacer=faulty)
    await flow.run(MINUTE)
    assert faulty.asked == 1
    flow.outbox.means = sound
    await flow.run(2 * MINUTE)
    assert flow.slack.titles() == ["post 2"]


# Of thirteen posts at once, the oldest three come in a digest.
FLOOD = [f"flood {number}" for number in range(13)]
TOLD = [", ".join(FLOOD[:3]), *FLOOD[3:]]


@flows
async def test_a_flood_directly_behind_a_head_that_fails_alone_passes_it_as_the_digest_it_is(flow: Flow) -> None:
    page = await flow.follow()
    refused = Deferred("cannot take this one")
    flow.slack.verdict = lambda uid, titles, plain: refused if titles == ("post 1",) else None
    await flow.publish(page, "post 1")
    await flow.publish(page, *FLOOD)
    await flow.run(2 * HOUR)
    assert flow.slack.titles() == TOLD


@flows
async def test_no_post_of_a_floods_digest_is_tried_by_itself_on_an_unwell_destination(flow: Flow) -> None:
    """Stored, and answered with an error, it would be told again by the digest."""
    page = await flow.follow()
    heals_at = flow.loop.elapsed + HOUR
    flow.slack.verdict = lambda uid, titles, plain: Deferred("refused") if flow.loop.elapsed < heals_at else None
    await flow.publish(page, "post 1")
    await flow.publish(page, *FLOOD)
    await flow.run(3 * HOUR)
    assert flow.slack.titles() == ["post 1", *TOLD]
    assert not {each.titles for each in flow.slack.tried} & {(title,) for title in FLOOD[:3]}
