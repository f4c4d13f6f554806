"""The Slack notifiers against a strict local Slack."""

from collections.abc import AsyncIterator
from datetime import timedelta

import aiohttp
import pytest
from slack_sdk.models.blocks import Block as SlackBlock

from bot.core.errors import (
    Deferred,
    DestinationDown,
    LookupImpossible,
    LookupUnavailable,
    MessageRejected,
    OutcomeUnknown,
    Scope,
)
from bot.core.model.delivery import DeliveryKind, Options, Owed
from bot.core.model.route import OnEdit
from bot.core.render import render_owed
from bot.notifiers.slack import SlackNotifier, SlackWebhookNotifier
from bot.notifiers.slack_errors import to_error, to_webhook_error
from tests.core.messages import BERLIN, delivery, digest, entry, message
from tests.edge.notifying import HandClock, to
from tests.servers.faults import Fault
from tests.servers.slack import SlackServer

CHANNEL = "C0AINETWORKING"
NAMED, KNOWN = to("slack:#ai-networking"), to("slack:#ai-networking", CHANNEL)
KEY = delivery().idem


@pytest.fixture
async def server() -> AsyncIterator[SlackServer]:
    async with SlackServer() as running:
        yield running
        assert running.violations == []


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def slack(server: SlackServer, session: aiohttp.ClientSession, clock: HandClock) -> SlackNotifier:
    return SlackNotifier(session, token=server.bot_token, clock=clock, api_url=server.api_url)


async def test_a_message_is_posted_by_name_and_its_channels_id_is_told(
    server: SlackServer, slack: SlackNotifier
) -> None:
    receipt = await slack.send(NAMED, slack.to_payload(message()), KEY)
    (stored,) = server.in_channel("#ai-networking")
    assert (receipt.remote_ref, receipt.remote_id) == (stored.ts, CHANNEL)
    assert stored.unfurl_links is stored.unfurl_media is stored.mrkdwn is False
    assert stored.text == "A title — https://www.example.org/posts/1"


async def test_a_person_gets_a_direct_message(server: SlackServer, slack: SlackNotifier) -> None:
    receipt = await slack.send(to("slack:U0READER"), slack.to_payload(message()), KEY)
    assert receipt.remote_id == "D0READER"
    assert len(server.in_channel("D0READER")) == 1


async def test_only_configured_mentions_ping(server: SlackServer, slack: SlackNotifier) -> None:
    options = Options(mentions=("<@U0READER>", "<!subteam^S012345>", "<!here>"))
    said = message(entry(title="<!channel> <@U0ADMIN> @everyone", summary_html="&lt;!here&gt;"), options=options)
    for plain in (False, True):
        await slack.send(KNOWN, slack.to_payload(said, plain=plain), KEY)
    rich, plain_one = server.in_channel(CHANNEL)
    assert rich.pings == ("U0READER", "S012345", "!here")
    assert len(plain_one.pings) == 3
    assert "&lt;!channel&gt; &lt;@U0ADMIN&gt; @everyone" in rich.text


async def test_a_digest_has_a_line_for_each_entry_and_counts_the_rest(
    server: SlackServer, slack: SlackNotifier
) -> None:
    link = "https://www.example.org/" + "x" * 500
    said = digest(tuple(entry(title=f"Post {n}", link=link) for n in range(50)), more_url="https://bell.example/")
    payload = slack.to_payload(said)
    await slack.send(KNOWN, payload, KEY)
    shown = [n for n in range(50) if f'"Post {n}"' in str(payload).replace("'", '"')]
    assert shown == list(range(len(shown)))
    assert 10 < len(shown) < 50
    assert f"… and {50 - len(shown)} more: " in str(payload)
    assert "https://bell.example/" in str(payload)


async def test_every_block_is_one_that_slacks_own_models_know(slack: SlackNotifier) -> None:
    html = "<p>a <b>b</b> <code>c</code></p><ul><li>x</ul><ol><li>y</ol><pre>z</pre><blockquote>q</blockquote>"
    options = Options(image=True, mentions=("<!here>", "<@U0READER>", "<!subteam^S1>"))
    said = message(entry(summary_html=html, image="https://e.example/p.png"), options=options)
    for payload in (slack.to_payload(said), slack.to_payload(digest((entry(), entry(tags=("roce",)))))):
        blocks = payload["blocks"]
        assert isinstance(blocks, list)
        for block in blocks:
            assert isinstance(block, dict)
            known = SlackBlock.parse(block)
            assert known is not None
            assert known.to_dict() == block


# --- what became of it --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("ratelimited", Deferred),
        ("message_limit_exceeded", Deferred),
        ("request_timeout", Deferred),
        ("team_added_to_org", Deferred),
        ("internal_error", OutcomeUnknown),
        ("fatal_error", OutcomeUnknown),
        ("service_unavailable", OutcomeUnknown),
        ("a_word_of_tomorrow", OutcomeUnknown),
        ("invalid_blocks", MessageRejected),
        ("invalid_blocks_format", MessageRejected),
        ("msg_too_long", MessageRejected),
        ("invalid_arguments", MessageRejected),
        ("metadata_too_large", MessageRejected),
        ("channel_not_found", DestinationDown),
        ("is_archived", DestinationDown),
        ("not_in_channel", DestinationDown),
        ("restricted_action_read_only_channel", DestinationDown),
        ("invalid_auth", DestinationDown),
        ("token_revoked", DestinationDown),
        ("missing_scope", DestinationDown),
    ],
)
def test_each_error_of_slack_means_one_thing(error: str, kind: type[Exception]) -> None:
    meant = to_error(200, {"ok": False, "error": error}, retry_after=None)
    assert type(meant) is kind
    assert error in str(meant) or error == "ratelimited"
    whole = error in ("invalid_auth", "token_revoked", "missing_scope")
    assert not isinstance(meant, DestinationDown) or (meant.scope is Scope.ACCOUNT) is whole


@pytest.mark.parametrize("answer", [None, [], "ok", {"ok": True}, {"ok": False}, {"error": 7}, {"error": "<script>"}])
def test_an_answer_that_can_not_be_read_leaves_the_outcome_unknown(answer: object) -> None:
    assert isinstance(to_error(200, answer, retry_after=None), OutcomeUnknown)


async def test_a_rate_limit_is_told_with_the_wait_that_was_asked_for(server: SlackServer, slack: SlackNotifier) -> None:
    for spelled, seconds in (("7", 7.0), ("0.25", 0.25), ("-1", None), ("abc", None), (None, None)):
        server.faults.add(Fault(kind="rate", match="chat.postMessage", retry_after=spelled))
        with pytest.raises(Deferred) as caught:
            await slack.send(KNOWN, slack.to_payload(message()), KEY)
        asked = caught.value.retry_after
        assert (asked.total_seconds() if asked is not None else None) == seconds
        assert caught.value.throttled
    server.violations.clear()  # this test does not wait as it was asked


@pytest.mark.parametrize("kind", ["rst", "fin", "status"])
async def test_whatever_goes_wrong_after_the_request_left_is_unknown(
    server: SlackServer, slack: SlackNotifier, kind: str
) -> None:
    server.faults.add(Fault(kind=kind, match="chat.postMessage", store=True, at=30, status=503))
    with pytest.raises(OutcomeUnknown):
        await slack.send(KNOWN, slack.to_payload(message()), KEY)
    assert len(server.messages) == 1  # and it was not tried a second time


async def test_nobody_there_means_surely_not_sent(session: aiohttp.ClientSession, clock: HandClock) -> None:
    gone = SlackNotifier(session, token="xoxb-canary", clock=clock, api_url="http://127.0.0.1:9/api/")
    with pytest.raises(Deferred) as caught:
        await gone.send(KNOWN, gone.to_payload(message()), KEY)
    assert "canary" not in str(caught.value)
    with pytest.raises(LookupUnavailable):
        await gone.find(KNOWN, {}, KEY, clock.now())
    with pytest.raises(Deferred):
        await gone.probe(KNOWN)


async def test_a_failure_before_the_post_is_no_unknown_outcome(server: SlackServer, slack: SlackNotifier) -> None:
    server.faults.add(Fault(kind="rst", match="conversations.open"))
    with pytest.raises(Deferred):
        await slack.send(to("slack:U0READER"), slack.to_payload(message()), KEY)
    assert server.messages == []


async def test_the_plain_form_is_taken_where_the_rich_one_is_refused(server: SlackServer, slack: SlackNotifier) -> None:
    server.faults.add(Fault(kind="error", match="chat.postMessage", error="invalid_blocks"))
    with pytest.raises(MessageRejected):
        await slack.send(KNOWN, slack.to_payload(message()), KEY)
    payload = slack.to_payload(message(), plain=True)
    assert "blocks" not in payload
    await slack.send(KNOWN, payload, KEY)
    assert server.messages[0].text == "A title — <https://www.example.org/posts/1>"


# --- look-ups -----------------------------------------------------------------------------------------------------


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


# --- edits and probes ---------------------------------------------------------------------------------------------


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


async def test_a_probe_of_what_is_down_says_so(server: SlackServer, slack: SlackNotifier) -> None:
    server.team.add_channel("old", archived=True)
    with pytest.raises(DestinationDown, match="archived"):
        await slack.probe(to("slack:#old"))
    with pytest.raises(DestinationDown, match="not in the list"):
        await slack.probe(to("slack:#nowhere", parked="channel_not_found"))
    assert (await slack.probe(to("slack:#nowhere"))).remote_id is None
    server.auth_error = "token_revoked"
    with pytest.raises(DestinationDown) as caught:
        await slack.probe(NAMED)
    assert caught.value.scope is Scope.ACCOUNT


# --- incoming webhooks --------------------------------------------------------------------------------------------


async def test_a_webhook_takes_the_same_message(
    server: SlackServer, session: aiohttp.ClientSession, clock: HandClock
) -> None:
    hook = SlackWebhookNotifier(session, urls={"team": server.add_webhook(CHANNEL)}, clock=clock)
    receipt = await hook.send(to("slack-webhook:team"), hook.to_payload(message()), KEY)
    assert receipt.remote_ref is None
    assert server.messages[0].via == "webhook"
    assert server.messages[0].blocks == SlackNotifier.to_payload(hook, message())["blocks"]  # type: ignore[arg-type]


async def test_a_webhooks_failures_keep_its_address_secret(
    server: SlackServer, session: aiohttp.ClientSession, clock: HandClock
) -> None:
    urls = {"gone": f"{server.url}/services/T0/B0/canary", "off": "http://127.0.0.1:9/services/canary"}
    hook = SlackWebhookNotifier(session, urls={**urls, "odd": "canary://x"}, clock=clock)
    for name, kind in (("gone", DestinationDown), ("off", Deferred), ("odd", Deferred), ("unset", DestinationDown)):
        with pytest.raises(kind) as caught:
            await hook.send(to(f"slack-webhook:{name}"), hook.to_payload(message()), KEY)
        assert "canary" not in str(caught.value)
    with pytest.raises(LookupImpossible):
        await hook.find(to("slack-webhook:gone"), {}, KEY, clock.now())
    assert (await hook.probe(to("slack-webhook:gone"))).can_look_up is False


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, "invalid_blocks", MessageRejected),
        (400, "no_text", MessageRejected),
        (400, "something new", MessageRejected),
        (403, "action_prohibited", DestinationDown),
        (404, "no_service", DestinationDown),
        (410, "channel_is_archived", DestinationDown),
        (404, "<html>", DestinationDown),
        (429, "", Deferred),
        (418, "", Deferred),
        (500, "rollup_error", OutcomeUnknown),
        (200, "<html>", OutcomeUnknown),
        (302, "", Deferred),
    ],
)
def test_each_answer_of_a_webhook_means_one_thing(status: int, body: str, kind: type[Exception]) -> None:
    assert type(to_webhook_error(status, body, retry_after=None)) is kind
