"""What `replay` brings again, and what it leaves alone because it has arrived."""

from collections.abc import Sequence
from datetime import timedelta

from bot.core.errors import OutcomeUnknown
from bot.core.model.delivery import Delivery, DeliveryState
from bot.core.model.entry import Entry
from bot.core.model.route import Route
from bot.services.replay import plan_replay
from tests.services.flow import MINUTE, Flow, X, Y, flows


async def _replay(flow: Flow) -> int:
    """As the command does it."""
    now = flow.clock.now()
    entries: Sequence[Entry] = await flow.store.entries_since(now - timedelta(days=365), limit=1000)
    found: list[Delivery] = [row for entry in entries for row, _ in await flow.store.deliveries_of(entry.id)]
    alive = {(row.entry_id, row.destination) for row in found if row.state is not DeliveryState.DEAD}
    feeds = {state.feed.id: state.feed for state in await flow.store.feeds()}
    planned = plan_replay(entries, feeds, flow.routes, now=now)
    return await flow.store.owe([row for row in planned if (row.entry_id, row.destination) not in alive], now=now)


async def _without_a_route_for_a_moment(flow: Flow) -> None:
    await flow.store.sync_destinations([], now=flow.clock.now())
    await flow.store.sync_destinations([X], now=flow.clock.now())


@flows
async def test_what_was_given_up_in_doubt_is_looked_for_before_it_is_sent_again(flow: Flow) -> None:
    page, lost = await flow.follow("blog", "old 1"), OutcomeUnknown("reset")
    flow.slack.outcomes, flow.slack.stored_all_the_same = [lost], {lost}
    await flow.publish(page, "post 2")
    await flow.run(5)
    await _without_a_route_for_a_moment(flow)
    assert await flow.states("post 2") == {X: "dead"}
    assert await _replay(flow) == 2
    await flow.run(2 * MINUTE)
    assert sorted(flow.slack.titles()) == ["old 1", "post 2"]
    assert await flow.states("post 2") == {X: "sent"}


@flows
async def test_what_was_given_up_in_doubt_and_is_not_there_is_sent_in_its_place(flow: Flow) -> None:
    page = await flow.follow("blog", "old 1")
    flow.slack.outcomes = [OutcomeUnknown("reset")]
    await flow.publish(page, "post 2", "post 3")
    await flow.run(5)
    await _without_a_route_for_a_moment(flow)
    assert await _replay(flow) == 3
    await flow.run(2 * MINUTE)
    assert flow.slack.titles() == ["old 1", "post 2", "post 3"]


@flows
async def test_what_arrives_while_its_route_goes_was_sent_and_is_not_replayed(flow: Flow) -> None:
    page = await flow.follow("blog", "old 1")
    flow.slack.takes = timedelta(seconds=10)
    await flow.publish(page, "post 2")
    await flow.run(3)
    await _without_a_route_for_a_moment(flow)
    await flow.run(MINUTE)
    assert await flow.states("post 2") == {X: "sent"}
    assert await _replay(flow) == 1
    await flow.run(MINUTE)
    assert flow.slack.titles() == ["post 2", "old 1"]


@flows
async def test_a_story_that_another_feed_has_told_there_is_not_replayed_nor_one_of_two_feeds_twice(flow: Flow) -> None:
    one, other = await flow.follow("one", "old 1"), await flow.follow("other", "old 1")
    for page in (one, other):
        await flow.publish(page, "post 2")
        await flow.run(5)
    flow.routes.append(Route(name="routes[1]", to=(Y,)))
    await flow.store.sync_destinations([X, Y], now=flow.clock.now())
    assert await _replay(flow) == 3
    await flow.run(MINUTE)
    assert flow.slack.titles() == ["post 2", "old 1"]
    assert flow.discord.titles() == ["old 1", "post 2"]
