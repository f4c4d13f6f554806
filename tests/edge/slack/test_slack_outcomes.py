"""What each answer of Slack means, by bot and by webhook."""

import aiohttp
import pytest

from bot.core.errors import (
    Deferred,
    DestinationDown,
    LookupImpossible,
    LookupUnavailable,
    MessageRejected,
    OutcomeUnknown,
    Scope,
)
from bot.core.model.delivery import Receipt
from bot.notifiers.slack import SlackNotifier, SlackWebhookNotifier
from bot.notifiers.slack_errors import to_error, to_webhook_error, webhook_took_it
from tests.core.messages import delivery, message
from tests.edge.notifying import HandClock, to
from tests.edge.raw_http import RawServer, answer
from tests.servers.faults import Fault
from tests.servers.slack import SlackServer

CHANNEL = "C0AINETWORKING"
NAMED, KNOWN = to("slack:#ai-networking"), to("slack:#ai-networking", CHANNEL)
KEY = delivery().idem


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


@pytest.mark.parametrize(
    ("body", "took_it"),
    [
        *((body, True) for body in ("ok", "OK\n", "", "{}", '{"success":true}', '{"ok":true}', "received")),
        *((body, False) for body in ("<html>", '{"ok": false}', "internal_error", "no_service", "invalid_payload")),
    ],
)
def test_what_takes_slacks_messages_may_say_so_in_its_own_words(body: str, took_it: bool) -> None:
    assert webhook_took_it(body) is took_it


@pytest.mark.parametrize("status", [200, 201, 204])
async def test_a_webhook_that_says_so_in_its_own_words_is_not_posted_to_again(
    session: aiohttp.ClientSession, clock: HandClock, status: int
) -> None:
    async with RawServer({"/hook": answer(f"{status} Fine", body=b"" if status == 204 else b"{}")}) as server:
        hook = SlackWebhookNotifier(session, urls={"team": server.url("/hook")}, clock=clock)
        assert await hook.send(to("slack-webhook:team"), hook.to_payload(message()), KEY) == Receipt()
