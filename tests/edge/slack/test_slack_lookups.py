"""Looking for, changing and probing without posting, against a strict local Slack."""

from datetime import timedelta

import pytest

from bot.core.errors import (
    DestinationDown,
    LookupImpossible,
    LookupUnavailable,
    MessageRejected,
    Scope,
)
from bot.core.model.delivery import DeliveryKind, Options, Owed
from bot.core.model.route import OnEdit
from bot.core.render import render_owed
from bot.notifiers.slack import SlackNotifier
from tests.core.messages import BERLIN, delivery, entry, message
from tests.edge.notifying import HandClock, to
from tests.servers.faults import Fault
from tests.servers.slack import SlackServer

CHANNEL = "C0AINETWORKING"
NAMED, KNOWN = to("slack:#ai-networking"), to("slack:#ai-networking", CHANNEL)
KEY = delivery().idem


async def test_a_stored_message_is_found_by_its_key(
    server: SlackServer, slack: SlackNotifier, clock: HandClock
) -> None:
    payload = slack.to_payload(message())
    receipt = await slack.send(KNOWN, payload, KEY)
    for other in range(5):
        await slack.send(KNOWN, {"text": f"other {other}"}, "")
    assert await slack.find(KNOWN, payload, KEY, clock.now()) == receipt
    assert await slack.find(NAMED, payload, KEY, clock.now()) == receipt
    assert await slack.find(KNOWN, payload, "f" * 32, clock.now()) is None


async def test_a_reply_is_found_in_its_thread(server: SlackServer, slack: SlackNotifier, clock: HandClock) -> None:
    parent = await slack.send(KNOWN, slack.to_payload(message()), KEY)
    edit = delivery(DeliveryKind.EDIT, idem="e" * 32, options=Options(on_edit=OnEdit.THREAD))
    owed = Owed(delivery=edit, entries=(entry(),), original=delivery(remote_ref=parent.remote_ref))
    payload = slack.to_payload(render_owed(owed, timezone=BERLIN))
    receipt = await slack.send(KNOWN, payload, edit.idem)
    assert server.messages[1].thread_ts == parent.remote_ref
    assert await slack.find(KNOWN, payload, edit.idem, clock.now()) == receipt


async def test_a_clock_far_ahead_of_slacks_still_finds(
    server: SlackServer, slack: SlackNotifier, clock: HandClock
) -> None:
    receipt = await slack.send(KNOWN, slack.to_payload(message()), KEY)
    clock.move(hours=5)
    fresh = SlackNotifier(slack._session, token=server.bot_token, clock=clock, api_url=server.api_url)
    assert await fresh.find(KNOWN, {}, KEY, clock.now()) == receipt


async def test_a_history_that_may_not_be_read_can_not_be_searched(
    server: SlackServer, slack: SlackNotifier, clock: HandClock
) -> None:
    server.scopes -= {"channels:history"}
    with pytest.raises(LookupImpossible, match="history"):
        await slack.find(KNOWN, {}, KEY, clock.now())
    server.scopes |= {"channels:history"}
    server.team.channels[CHANNEL].member = False
    with pytest.raises(LookupImpossible, match="invite"):
        await slack.find(KNOWN, {}, KEY, clock.now())


@pytest.mark.parametrize("kind", ["rst", "rate", "status"])
async def test_a_look_up_that_fails_says_nothing(
    server: SlackServer, slack: SlackNotifier, clock: HandClock, kind: str
) -> None:
    server.faults.add(Fault(kind=kind, match="conversations.history", retry_after="9"))
    with pytest.raises(LookupUnavailable) as caught:
        await slack.find(KNOWN, {}, KEY, clock.now())
    assert caught.value.retry_after == (timedelta(seconds=9) if kind == "rate" else None)


async def test_a_channel_too_busy_to_search_is_not_taken_for_empty(
    server: SlackServer, slack: SlackNotifier, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.notifiers.slack.PAGE", 1)
    for other in range(7):
        await slack.send(KNOWN, {"text": f"other {other}"}, "")
    with pytest.raises(LookupImpossible, match="too many"):
        await slack.find(KNOWN, {}, KEY, clock.now())


async def test_an_edit_changes_the_message_in_place(server: SlackServer, slack: SlackNotifier) -> None:
    receipt = await slack.send(KNOWN, slack.to_payload(message()), KEY)
    changed = slack.to_payload(message(entry(title="A better title")))
    assert receipt.remote_ref is not None
    again = await slack.edit(NAMED, changed, receipt.remote_ref)
    (stored,) = server.messages
    assert again.remote_ref == receipt.remote_ref
    assert stored.is_edited
    assert "A better title" in str(stored.blocks)
    await slack.edit(KNOWN, slack.to_payload(message(), plain=True), receipt.remote_ref)
    assert server.messages[0].blocks == []


async def test_a_message_that_is_gone_can_not_be_edited(server: SlackServer, slack: SlackNotifier) -> None:
    with pytest.raises(MessageRejected):
        await slack.edit(KNOWN, slack.to_payload(message()), "1.000001")
    with pytest.raises(DestinationDown):
        await slack.edit(to("slack:#nowhere"), slack.to_payload(message()), "1.000001")


async def test_a_probe_finds_the_id_and_posts_nothing(server: SlackServer, slack: SlackNotifier) -> None:
    probe = await slack.probe(NAMED)
    assert (probe.remote_id, probe.can_look_up, probe.why_not, probe.name) == (CHANNEL, True, None, "#ai-networking")
    person = await slack.probe(to("slack:U0READER"))
    assert (person.remote_id, person.can_look_up) == ("D0READER", True)
    assert server.messages == []


async def test_a_probe_pages_through_a_long_list_of_channels(server: SlackServer, slack: SlackNotifier) -> None:
    for number in range(1_200):
        server.team.add_channel(f"room-{number}")
    assert (await slack.probe(to("slack:#room-1199"))).remote_id == "C0ROOM1199"


async def test_a_probe_says_why_exactly_once_is_not_possible(server: SlackServer, slack: SlackNotifier) -> None:
    server.scopes -= {"channels:history", "groups:read"}
    probe = await slack.probe(NAMED)
    assert (probe.remote_id, probe.can_look_up) == (CHANNEL, False)
    assert "channels:history" in (probe.why_not or "")


async def test_a_channel_that_the_bot_is_not_in_is_down_unless_the_token_posts_anywhere(
    server: SlackServer, slack: SlackNotifier
) -> None:
    server.team.add_channel("quiet", member=False)
    with pytest.raises(DestinationDown, match="invite it"):
        await slack.probe(to("slack:#quiet"))
    server.scopes.add("chat:write.public")
    probe = await slack.probe(to("slack:#quiet"))
    assert (probe.remote_id, probe.can_look_up) == ("C0QUIET", False)
    assert "invite it" in (probe.why_not or "")


async def test_a_name_that_is_in_no_list_that_may_be_read_may_be_a_channel_all_the_same(
    server: SlackServer, slack: SlackNotifier
) -> None:
    server.scopes.remove("groups:read")
    probe = await slack.probe(to("slack:#hidden"))
    assert (probe.remote_id, probe.can_look_up) == (None, False)
    with pytest.raises(DestinationDown, match="not in the list"):
        await slack.probe(to("slack:#hidden", parked="channel_not_found"))


async def test_a_probe_of_what_is_down_says_so(server: SlackServer, slack: SlackNotifier) -> None:
    server.team.add_channel("old", archived=True)
    with pytest.raises(DestinationDown, match="archived"):
        await slack.probe(to("slack:#old"))
    with pytest.raises(DestinationDown, match="not in the list"):
        await slack.probe(to("slack:#nowhere", parked="channel_not_found"))
    with pytest.raises(DestinationDown, match="not in the list"):
        await slack.probe(to("slack:#nowhere"))
    server.auth_error = "token_revoked"
    with pytest.raises(DestinationDown) as caught:
        await slack.probe(NAMED)
    assert caught.value.scope is Scope.ACCOUNT
