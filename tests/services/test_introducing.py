"""A channel is looked at once before its first message, so that one channel under two names is found out (R-2)."""

from bot.core.errors import Deferred, DestinationDown
from bot.core.model.delivery import Probe
from bot.core.model.route import DestinationUid, Route
from tests.services.flow import HOUR, Flow, X, flows

TWIN = DestinationUid("slack:C0X")
ONE_CHANNEL = Probe(remote_id="C0X", can_look_up=True, name="#x")


async def told_twice(flow: Flow) -> None:
    """Two names in the file, one channel."""
    flow.routes = [Route(name="routes[0]", to=(X, TWIN))]
    flow.outbox.introductions.named = frozenset({X, TWIN})
    flow.slack.probe_answer = ONE_CHANNEL
    page = await flow.follow()
    await flow.publish(page, "post 2", "post 3")
    await flow.run(10)


async def parked(flow: Flow) -> dict[str, str]:
    rows = await flow.store.destination_rows()
    return {row.destination.uid: row.destination.parked for row in rows if row.destination.parked}


@flows
async def test_a_channel_is_looked_at_once_and_what_was_found_is_kept(flow: Flow) -> None:
    flow.outbox.introductions.named = frozenset({X})
    flow.slack.probe_answer = ONE_CHANNEL
    page = await flow.follow()
    await flow.publish(page, "post 2")
    await flow.run(10)
    await flow.publish(page, "post 3")
    await flow.run(10)
    assert flow.slack.titles() == ["post 2", "post 3"]
    assert len(flow.slack.probed) == 1
    [row] = [row for row in await flow.store.destination_rows() if row.destination.uid == X]
    assert (row.destination.remote_id, row.name, row.destination.can_look_up) == ("C0X", "#x", True)


@flows
async def test_a_look_that_fails_keeps_nothing_waiting(flow: Flow) -> None:
    flow.outbox.introductions.named = frozenset({X})
    page = await flow.follow()
    for failure in (Deferred("ratelimited"), DestinationDown("missing_scope")):
        flow.slack.probe_answer = failure
        await flow.publish(page, f"post after {failure}")
        await flow.run(10)
    assert flow.slack.titles() == ["post after ratelimited", "post after missing_scope"]
    assert len(flow.slack.probed) == 1


@flows
async def test_one_channel_under_two_names_is_told_once_and_the_operator_is_told_what_to_do(flow: Flow) -> None:
    await told_twice(flow)
    assert sorted(flow.slack.titles()) == ["post 2", "post 3"]
    assert len({message.uid for message in flow.slack.stored}) == 1
    [[uid, why]] = (await parked(flow)).items()
    [other] = {X, TWIN} - {uid}
    assert f"the same channel as {other}" in why
    [notice] = [words for words in flow.ops.titles() if "same channel" in words]
    assert uid in notice
    assert f"feedbell resume {uid}" in notice


@flows
async def test_a_twin_stays_parked_until_the_other_name_is_gone(flow: Flow) -> None:
    await told_twice(flow)
    [twin] = await parked(flow)
    await flow.run(3 * HOUR)
    assert list(await parked(flow)) == [twin]
    kept = DestinationUid(twin)
    flow.outbox.introductions.named = frozenset({kept})
    await flow.store.sync_destinations([kept], now=flow.clock.now())
    await flow.run(2 * HOUR)
    assert await parked(flow) == {}
    assert flow.slack.titles(twin) == ["post 2", "post 3"]


@flows
async def test_a_channel_that_somebody_in_chat_chose_is_no_twin_of_its_name_in_the_file(flow: Flow) -> None:
    flow.routes = [Route(name="routes[0]", to=(X, TWIN))]
    flow.outbox.introductions.named = frozenset({X})
    flow.slack.probe_answer = ONE_CHANNEL
    page = await flow.follow()
    await flow.publish(page, "post 2")
    await flow.run(10)
    assert {message.uid for message in flow.slack.stored} == {X, TWIN}
    assert await parked(flow) == {}
