"""The Discord notifiers against a strict local Discord."""

import re
from collections.abc import AsyncIterator
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
from bot.core.model.delivery import DeliveryKind, Options, Owed
from bot.core.model.route import OnEdit
from bot.core.render import render_list, render_owed
from bot.notifiers.discord import DiscordNotifier, DiscordWebhookNotifier, user_agent
from bot.notifiers.discord_errors import to_error
from bot.notifiers.discord_layout import nonce_of
from bot.notifiers.discord_permissions import BITS, permissions_of
from bot.notifiers.http import Answer
from tests.core.messages import BERLIN, SEEN, delivery, digest, entry, message
from tests.edge.notifying import HandClock, to
from tests.servers.discord import DiscordServer
from tests.servers.discord_state import FORUM
from tests.servers.faults import Fault

NEWS = to("discord:200")
KEY = delivery().idem
AGENT = user_agent("https://example.org/bot", "1.0")


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as running:
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
def discord(server: DiscordServer, session: aiohttp.ClientSession, clock: HandClock) -> DiscordNotifier:
    return DiscordNotifier(session, token=server.bot_token, clock=clock, agent=AGENT, api_url=server.api_url)


async def test_a_message_is_an_embed_that_links_and_pings_nobody(
    server: DiscordServer, discord: DiscordNotifier
) -> None:
    receipt = await discord.send(NEWS, discord.to_payload(message()), KEY)
    (stored,) = server.in_channel("200")
    assert (receipt.remote_ref, receipt.remote_id) == (stored.id, "200")
    assert stored.allowed_mentions == {"parse": []}
    assert stored.embeds == [
        {
            "title": "A title",
            "url": "https://www.example.org/posts/1",
            "description": "bgp · 16 Sep 2026 10:05 CEST\nA short summary.",
            "footer": {"text": "Example News"},
        }
    ]


async def test_only_configured_mentions_ping_and_stand_in_the_content(
    server: DiscordServer, discord: DiscordNotifier
) -> None:
    options = Options(mentions=("<@500>", "<@&700>"))
    said = message(entry(title="@everyone <@501> <@&701>", summary_html="@here &lt;@501&gt;"), options=options)
    await discord.send(NEWS, discord.to_payload(said), KEY)
    await discord.send(NEWS, discord.to_payload(said, plain=True), "other")
    for stored in server.in_channel("200")[:1]:
        assert stored.content == "<@500> <@&700>"
        assert stored.allowed_mentions == {"parse": [], "users": ["500"], "roles": ["700"]}
    assert set(server.pings) == {"<@500>", "<@&700>"}


async def test_a_feeds_everyone_does_not_ride_on_the_routes_in_the_plain_form(
    server: DiscordServer, discord: DiscordNotifier
) -> None:
    said = message(entry(title="@everyone look"), options=Options(mentions=("@here",)))
    await discord.send(NEWS, discord.to_payload(said, plain=True), KEY)
    assert server.pings == []
    await discord.send(NEWS, discord.to_payload(message(options=Options(mentions=("@here",)), idem="a" * 32)), "a")
    assert server.pings == ["@here"]


async def test_a_person_gets_a_direct_message(server: DiscordServer, discord: DiscordNotifier) -> None:
    receipt = await discord.send(to("discord-user:500"), discord.to_payload(message()), KEY)
    assert receipt.remote_id == "7500"
    server.guild.closed_to_dms.add("501")
    with pytest.raises(DestinationDown, match="direct messages"):
        await discord.send(to("discord-user:501"), discord.to_payload(message()), KEY)
    with pytest.raises(DestinationDown):
        await discord.send(to("discord-user:502"), discord.to_payload(message()), KEY)


async def test_the_same_key_makes_one_message(server: DiscordServer, discord: DiscordNotifier) -> None:
    payload = discord.to_payload(message())
    first = await discord.send(NEWS, payload, KEY)
    assert await discord.send(NEWS, payload, KEY) == first
    assert len(server.messages) == 1
    assert payload["nonce"] == nonce_of(KEY)
    assert len(nonce_of(KEY)) == 25


async def test_a_message_that_was_deleted_since_counts_as_sent(server: DiscordServer, discord: DiscordNotifier) -> None:
    payload = discord.to_payload(message())
    receipt = await discord.send(NEWS, payload, KEY)
    server.delete_message("200", receipt.remote_ref or "")
    assert (await discord.send(NEWS, payload, KEY)).remote_ref is None
    assert server.messages == []


async def test_fifty_entries_make_a_digest_within_every_limit(server: DiscordServer, discord: DiscordNotifier) -> None:
    link = "https://www.example.org/posts/a-rather-long-name-of-a-post-number"
    titles = [f"Post [{n}]" if n % 2 else f"Post {n} *x*" for n in range(50)]
    entries = tuple(entry(title=title, link=f"{link}-{n}", tags=("bgp",)) for n, title in enumerate(titles))
    await discord.send(NEWS, discord.to_payload(digest(entries, more_url="https://bell.example/")), KEY)
    text = "\n".join(embed["description"] for embed in server.messages[0].embeds)
    shown = re.findall(r"number-(\d+)", text)
    assert shown == [str(n) for n in range(len(shown))]
    left = 50 - len(shown)
    assert len(shown) > 35
    assert not left or f"… and {left} more: <https://bell.example/>" in text


async def test_an_answer_with_ten_entries_fits(server: DiscordServer, discord: DiscordNotifier) -> None:
    long = entry(title="*" * 400, summary_html="_" * 900, text="_" * 900)
    said = render_list([long] * 10, timezone=BERLIN, now=SEEN, heading="Latest", words="10 entries", more=2)
    await discord.send(NEWS, discord.to_payload(said), "")
    (stored,) = server.messages
    assert f"… and {12 - len(stored.embeds)} more" in stored.content
    assert [embed.get("url") for embed in stored.embeds][1:] == [None] * (len(stored.embeds) - 1)


async def test_a_link_that_discord_would_refuse_is_shown_as_text(
    server: DiscordServer, discord: DiscordNotifier
) -> None:
    await discord.send(NEWS, discord.to_payload(message(entry(link="http://localhost/x"))), KEY)
    (embed,) = server.messages[0].embeds
    assert "url" not in embed
    assert embed["description"].endswith("http://localhost/x")


# --- what became of it --------------------------------------------------------------------------------------------


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
    gone = DiscordNotifier(session, token="canary", clock=clock, agent=AGENT, api_url="http://127.0.0.1:9")
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


# --- look-ups -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", [False, True])
async def test_a_stored_message_is_found_by_what_it_shows(
    server: DiscordServer, discord: DiscordNotifier, clock: HandClock, plain: bool
) -> None:
    payload = discord.to_payload(message(), plain=plain)
    receipt = await discord.send(NEWS, payload, KEY)
    await discord.send(NEWS, discord.to_payload(message(entry(title="Another"), idem="b" * 32)), "b")
    assert await discord.find(NEWS, payload, KEY, clock.now()) == receipt
    absent = discord.to_payload(message(entry(title="Never sent")))
    assert await discord.find(NEWS, absent, KEY, clock.now()) is None


async def test_what_others_wrote_is_never_ours(
    server: DiscordServer, discord: DiscordNotifier, clock: HandClock
) -> None:
    hook = server.add_webhook("200")
    other = DiscordWebhookNotifier(discord._api._session, urls={"x": hook}, clock=clock, agent=AGENT)
    await other.send(to("discord-webhook:x"), other.to_payload(message()), KEY)
    assert await discord.find(NEWS, discord.to_payload(message()), KEY, clock.now()) is None


async def test_a_digest_is_found_by_its_text(server: DiscordServer, discord: DiscordNotifier, clock: HandClock) -> None:
    payload = discord.to_payload(digest((entry(), entry(title="Two"))))
    receipt = await discord.send(NEWS, payload, KEY)
    assert await discord.find(NEWS, payload, KEY, clock.now()) == receipt
    assert await discord.find(NEWS, discord.to_payload(digest((entry(),))), KEY, clock.now()) is None


async def test_pages_of_the_history_are_read_to_the_end(
    server: DiscordServer, discord: DiscordNotifier, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.notifiers.discord.PAGE", 2)
    for number in range(5):
        await discord.send(NEWS, {"content": f"other {number}"}, "")
    payload = discord.to_payload(message())
    receipt = await discord.send(NEWS, payload, KEY)
    assert await discord.find(NEWS, payload, KEY, clock.now()) == receipt
    for number in range(12):
        await discord.send(NEWS, {"content": f"more {number}"}, "")
    with pytest.raises(LookupImpossible, match="too many"):
        await discord.find(NEWS, discord.to_payload(message(entry(title="Never sent"))), KEY, clock.now())


async def test_an_empty_history_proves_nothing_to_a_bot_that_may_not_read_it(
    server: DiscordServer, discord: DiscordNotifier, clock: HandClock
) -> None:
    payload = discord.to_payload(message())
    assert await discord.find(NEWS, payload, KEY, clock.now()) is None
    await discord.send(NEWS, payload, KEY)
    server.set_permissions("200", deny=["READ_MESSAGE_HISTORY"])
    with pytest.raises(LookupImpossible, match="READ_MESSAGE_HISTORY"):
        await discord.find(NEWS, payload, KEY, clock.now())


async def test_where_rights_can_not_be_learned_the_channels_last_message_tells(
    server: DiscordServer, discord: DiscordNotifier, clock: HandClock
) -> None:
    payload = discord.to_payload(message())
    server.faults.add(Fault(kind="error", match="/roles", status=403, error="50001", times=None))
    assert await discord.find(NEWS, payload, KEY, clock.now()) is None
    await discord.send(NEWS, payload, KEY)
    server.set_permissions("200", deny=["READ_MESSAGE_HISTORY"])
    with pytest.raises(LookupImpossible):
        await discord.find(NEWS, payload, KEY, clock.now())


async def test_a_direct_message_needs_no_right_to_be_looked_up(discord: DiscordNotifier, clock: HandClock) -> None:
    assert await discord.find(to("discord-user:500"), discord.to_payload(message()), KEY, clock.now()) is None


@pytest.mark.parametrize("kind", ["rst", "rate", "status"])
async def test_a_look_up_that_fails_says_nothing(
    server: DiscordServer, discord: DiscordNotifier, clock: HandClock, kind: str
) -> None:
    # aiohttp itself reads once more where a kept connection was dead; twice is a broken service.
    server.faults.add(Fault(kind=kind, match="GET /api/v10/channels/200/messages", retry_after="9", times=2))
    with pytest.raises(LookupUnavailable):
        await discord.find(NEWS, discord.to_payload(message()), KEY, clock.now())


async def test_a_channel_that_may_not_be_seen_can_not_be_searched(
    server: DiscordServer, discord: DiscordNotifier, clock: HandClock
) -> None:
    server.set_permissions("200", deny=["VIEW_CHANNEL"])
    with pytest.raises(LookupImpossible):
        await discord.find(NEWS, {}, KEY, clock.now())


# --- edits and probes ---------------------------------------------------------------------------------------------


async def test_an_edit_changes_the_message_in_place(server: DiscordServer, discord: DiscordNotifier) -> None:
    receipt = await discord.send(NEWS, discord.to_payload(message()), KEY)
    ref = receipt.remote_ref or ""
    await discord.edit(NEWS, discord.to_payload(message(entry(title="Better"))), ref)
    assert server.messages[0].embeds[0]["title"] == "Better"
    await discord.edit(NEWS, discord.to_payload(message(), plain=True), ref)
    assert server.messages[0].embeds == []
    with pytest.raises(MessageRejected, match="gone"):
        await discord.edit(NEWS, discord.to_payload(message()), "1")


def test_a_threaded_edit_answers_the_original(discord: DiscordNotifier) -> None:
    edit = delivery(DeliveryKind.EDIT, options=Options(on_edit=OnEdit.THREAD))
    owed = Owed(delivery=edit, entries=(entry(),), original=delivery(remote_ref="42"))
    payload = discord.to_payload(render_owed(owed, timezone=BERLIN))
    assert payload["message_reference"] == {"message_id": "42", "fail_if_not_exists": False}


async def test_a_probe_tells_what_is_missing(server: DiscordServer, discord: DiscordNotifier) -> None:
    good = await discord.probe(NEWS)
    assert (good.remote_id, good.can_look_up, good.why_not, good.name) == ("200", True, None, "#news")
    server.set_permissions("200", deny=["READ_MESSAGE_HISTORY", "EMBED_LINKS"])
    poor = await discord.probe(NEWS)
    assert (poor.can_look_up, poor.why_not) == (False, "the bot lacks EMBED_LINKS, READ_MESSAGE_HISTORY")
    server.set_permissions("200", deny=["SEND_MESSAGES"])
    with pytest.raises(DestinationDown, match="SEND_MESSAGES"):
        await discord.probe(NEWS)
    with pytest.raises(DestinationDown, match="does not exist"):
        await discord.probe(to("discord:999"))
    assert (await discord.probe(to("discord-user:500"))).can_look_up


async def test_a_forum_channel_is_refused_in_words(server: DiscordServer, discord: DiscordNotifier) -> None:
    assert server.guild.channels["201"].type == FORUM
    with pytest.raises(DestinationDown, match="forum"):
        await discord.probe(to("discord:201"))
    with pytest.raises(DestinationDown, match="forum"):
        await discord.send(to("discord:201"), discord.to_payload(message()), KEY)


VIEW, SEND = BITS["VIEW_CHANNEL"], BITS["SEND_MESSAGES"]


@pytest.mark.parametrize(
    ("roles", "overwrites", "rights"),
    [
        ([{"id": "1", "permissions": str(VIEW | SEND)}], [], VIEW | SEND),
        ([{"id": "1", "permissions": str(VIEW)}, {"id": "8", "permissions": str(SEND)}], [], VIEW),
        ([{"id": "1", "permissions": str(VIEW)}, {"id": "9", "permissions": str(SEND)}], [], VIEW | SEND),
        ([{"id": "9", "permissions": "8"}], [{"id": "1", "deny": str(VIEW)}], ~0),
        ([{"id": "1", "permissions": str(VIEW | SEND)}], [{"id": "1", "deny": str(SEND)}], VIEW),
        (
            [{"id": "1", "permissions": str(VIEW | SEND)}],
            [{"id": "5", "allow": str(SEND)}, {"id": "9", "deny": str(SEND)}, {"id": "1", "deny": str(SEND)}],
            VIEW | SEND,
        ),
        ([{"id": "1", "permissions": str(SEND)}], [], 0),
        (None, None, 0),
    ],
)
def test_rights_are_computed_as_discord_documents_it(roles: object, overwrites: object, rights: int) -> None:
    member, channel = {"roles": ["9"]}, {"permission_overwrites": overwrites}
    assert permissions_of(me="5", guild="1", roles=roles, member=member, channel=channel) == rights


# --- webhooks -----------------------------------------------------------------------------------------------------


async def test_a_webhook_posts_and_edits(
    server: DiscordServer, session: aiohttp.ClientSession, clock: HandClock
) -> None:
    hook = DiscordWebhookNotifier(session, urls={"team": server.add_webhook("200")}, clock=clock, agent=AGENT)
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
    hook = DiscordWebhookNotifier(session, urls=urls, clock=clock, agent=AGENT)
    for name, kind in (("gone", DestinationDown), ("off", Deferred), ("unset", DestinationDown)):
        with pytest.raises(kind) as caught:
            await hook.send(to(f"discord-webhook:{name}"), hook.to_payload(message()), KEY)
        assert "canary" not in str(caught.value)
        assert getattr(caught.value, "scope", Scope.DESTINATION) is Scope.DESTINATION
    with pytest.raises(Deferred):
        await hook.probe(to("discord-webhook:off"))
