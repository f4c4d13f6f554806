"""What each answer of Discord means, by bot and by webhook."""

from datetime import timedelta

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
from bot.notifiers.discord import DiscordNotifier, DiscordWebhookNotifier, user_agent
from bot.notifiers.discord_api import Strikes
from bot.notifiers.discord_errors import to_error
from bot.notifiers.http import Answer
from tests.core.messages import SEEN, delivery, entry, message
from tests.edge.notifying import HandClock, to
from tests.servers.discord import DiscordServer
from tests.servers.faults import Fault

NEWS = to("discord:200")
KEY = delivery().idem
AGENT = user_agent("https://example.org/bot", "1.0")


def answered(status: int, body: str = "", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, headers=named, body=body.encode())


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, 10003, DestinationDown),
        (404, 10015, DestinationDown),
        (403, 50001, DestinationDown),
        (403, 50013, DestinationDown),
        (400, 50008, DestinationDown),
        (403, 50007, DestinationDown),
        (401, 0, DestinationDown),
        (403, 0, DestinationDown),
        (400, 50035, MessageRejected),
        (400, 50006, MessageRejected),
        (413, 40005, MessageRejected),
        (400, 240000, MessageRejected),
        (400, 77777, MessageRejected),
        (429, 20028, Deferred),
        (403, 20016, Deferred),
        (429, 0, Deferred),
        (418, 0, Deferred),
        (500, 0, OutcomeUnknown),
        (503, 50035, OutcomeUnknown),
        (304, 0, OutcomeUnknown),
    ],
)
def test_each_code_of_discord_means_one_thing(status: int, code: int, kind: type[Exception]) -> None:
    meant = to_error(answered(status, f'{{"code": {code}, "message": "m"}}'), now=SEEN)
    assert type(meant) is kind
    assert not isinstance(meant, DestinationDown) or (meant.scope is Scope.ACCOUNT) is (status == 401)


def test_the_wait_is_the_bodys_else_the_headers() -> None:
    for answer, seconds in (
        (answered(429, '{"retry_after": 0.65}', retry_after="9"), 0.65),
        (answered(429, "<html>", retry_after="9"), 9),
        (answered(429, "[]"), None),
    ):
        meant = to_error(answer, now=SEEN)
        assert isinstance(meant, Deferred)
        assert meant.throttled
        assert meant.retry_after == (timedelta(seconds=seconds) if seconds is not None else None)


@pytest.mark.parametrize("kind", ["rst", "fin", "status"])
async def test_whatever_goes_wrong_after_the_request_left_is_unknown(
    server: DiscordServer, discord: DiscordNotifier, kind: str
) -> None:
    server.faults.add(Fault(kind=kind, match="POST", store=True, at=30, status=502))
    with pytest.raises(OutcomeUnknown):
        await discord.send(NEWS, discord.to_payload(message()), KEY)
    assert len(server.messages) == 1


async def test_nobody_there_means_surely_not_sent(session: aiohttp.ClientSession, clock: HandClock) -> None:
    gone = DiscordNotifier(
        session, token="canary", clock=clock, agent=AGENT, strikes=Strikes(), api_url="http://127.0.0.1:9"
    )
    with pytest.raises(Deferred) as caught:
        await gone.send(NEWS, gone.to_payload(message()), KEY)
    assert "canary" not in str(caught.value)
    with pytest.raises(LookupUnavailable):
        await gone.find(NEWS, {}, KEY, clock.now())
    with pytest.raises(Deferred):
        await gone.probe(NEWS)


async def test_a_refused_token_is_not_tried_on_every_channel(
    server: DiscordServer, discord: DiscordNotifier, clock: HandClock
) -> None:
    server.token_revoked = True
    for channel in range(50):
        with pytest.raises(DestinationDown) as caught:
            await discord.send(to(f"discord:{channel}"), discord.to_payload(message()), KEY)
        assert caught.value.scope is Scope.ACCOUNT
    assert len(server.requests) == 1
    server.token_revoked = False
    clock.move(minutes=2)
    await discord.send(NEWS, discord.to_payload(message()), KEY)


async def test_bad_requests_stop_long_before_a_ban(
    server: DiscordServer, discord: DiscordNotifier, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.notifiers.discord_api.INVALID_MOST", 3)
    server.set_permissions("200", deny=["SEND_MESSAGES"])
    for _ in range(3):
        with pytest.raises(DestinationDown):
            await discord.send(NEWS, discord.to_payload(message()), KEY)
    with pytest.raises(Deferred) as caught:
        await discord.send(NEWS, discord.to_payload(message()), KEY)
    assert caught.value.retry_after is not None
    assert len(server.requests) == 3
    server.set_permissions("200")
    clock.move(minutes=11)
    await discord.send(NEWS, discord.to_payload(message()), KEY)


async def test_bad_requests_are_counted_by_our_address_whoever_made_them(
    server: DiscordServer, session: aiohttp.ClientSession, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.notifiers.discord_api.INVALID_MOST", 2)
    server.set_permissions("200", deny=["SEND_MESSAGES"])
    strikes = Strikes()
    for last in (False, False, True):
        fresh = DiscordNotifier(  # as a change of the settings makes one
            session, token=server.bot_token, clock=clock, agent=AGENT, strikes=strikes, api_url=server.api_url
        )
        with pytest.raises(Deferred if last else DestinationDown):
            await fresh.send(NEWS, fresh.to_payload(message()), KEY)
    hook = DiscordWebhookNotifier(
        session, urls={"team": server.add_webhook("200")}, clock=clock, agent=AGENT, strikes=strikes
    )
    with pytest.raises(Deferred):
        await hook.send(to("discord-webhook:team"), hook.to_payload(message()), KEY)
    assert len(server.requests) == 2


async def test_an_empty_bucket_is_waited_for(server: DiscordServer, discord: DiscordNotifier, clock: HandClock) -> None:
    for after, slept in (("1.5", [timedelta(seconds=1.5)]), ("60", [])):
        headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": after, "Content-Type": "application/json"}
        server.faults.add(Fault(kind="status", match="POST", status=200, body='{"id": "1"}', headers=headers))
        await discord.send(NEWS, discord.to_payload(message()), KEY)
        clock.slept.clear()
        if not slept:
            with pytest.raises(Deferred) as caught:
                await discord.send(NEWS, discord.to_payload(message()), KEY)
            assert caught.value.throttled
            continue
        await discord.send(NEWS, discord.to_payload(message()), KEY)
        assert [round(one.total_seconds(), 3) for one in clock.slept] == [one.total_seconds() for one in slept]


async def test_without_the_right_to_embed_the_plain_form_gets_through(
    server: DiscordServer, discord: DiscordNotifier
) -> None:
    server.set_permissions("200", deny=["EMBED_LINKS"])
    with pytest.raises(MessageRejected, match="EMBED_LINKS"):
        await discord.send(NEWS, discord.to_payload(message()), KEY)
    await discord.send(NEWS, discord.to_payload(message(), plain=True), KEY)
    assert server.messages[0].content == "A title — <https://www.example.org/posts/1>"


async def test_a_webhook_posts_and_edits(
    server: DiscordServer, session: aiohttp.ClientSession, clock: HandClock
) -> None:
    hook = DiscordWebhookNotifier(
        session, urls={"team": server.add_webhook("200")}, clock=clock, agent=AGENT, strikes=Strikes()
    )
    there = to("discord-webhook:team")
    receipt = await hook.send(there, hook.to_payload(message()), KEY)
    assert receipt.remote_ref == server.messages[0].id
    await hook.edit(there, hook.to_payload(message(entry(title="Better"))), receipt.remote_ref)
    assert server.messages[0].embeds[0]["title"] == "Better"
    assert (await hook.probe(there)).name == "feedbell"
    with pytest.raises(LookupImpossible):
        await hook.find(there, {}, KEY, clock.now())
    with pytest.raises(MessageRejected):
        await hook.edit(there, hook.to_payload(message()), "1")


async def test_a_webhooks_failures_keep_its_address_secret(
    server: DiscordServer, session: aiohttp.ClientSession, clock: HandClock
) -> None:
    urls = {"gone": f"{server.api_url}/webhooks/1/canary", "off": "http://127.0.0.1:9/webhooks/canary"}
    hook = DiscordWebhookNotifier(session, urls=urls, clock=clock, agent=AGENT, strikes=Strikes())
    for name, kind in (("gone", DestinationDown), ("off", Deferred), ("unset", DestinationDown)):
        with pytest.raises(kind) as caught:
            await hook.send(to(f"discord-webhook:{name}"), hook.to_payload(message()), KEY)
        assert "canary" not in str(caught.value)
        assert getattr(caught.value, "scope", Scope.DESTINATION) is Scope.DESTINATION
    with pytest.raises(Deferred):
        await hook.probe(to("discord-webhook:off"))
