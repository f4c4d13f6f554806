"""Looking for, changing and probing without posting, against a strict local Discord."""

from collections.abc import Mapping

import pytest

from bot.core.errors import (
    DestinationDown,
    LookupImpossible,
    LookupUnavailable,
    MessageRejected,
)
from bot.core.model.delivery import DeliveryKind, Options, Owed
from bot.core.model.message import Payload
from bot.core.model.route import OnEdit
from bot.core.render import render_owed
from bot.notifiers.discord import DiscordNotifier, DiscordWebhookNotifier, user_agent
from bot.notifiers.discord_api import Strikes
from bot.notifiers.discord_permissions import BITS, permissions_of
from tests.core.messages import BERLIN, delivery, digest, entry, message
from tests.edge.notifying import HandClock, to
from tests.servers.discord import DiscordServer
from tests.servers.discord_state import FORUM
from tests.servers.faults import Fault

NEWS = to("discord:200")
KEY = delivery().idem
AGENT = user_agent("https://example.org/bot", "1.0")


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
    other = DiscordWebhookNotifier(discord._api._session, urls={"x": hook}, clock=clock, agent=AGENT, strikes=Strikes())
    await other.send(to("discord-webhook:x"), other.to_payload(message()), KEY)
    assert await discord.find(NEWS, discord.to_payload(message()), KEY, clock.now()) is None


async def test_a_digest_is_found_by_its_text(server: DiscordServer, discord: DiscordNotifier, clock: HandClock) -> None:
    payload = discord.to_payload(digest((entry(), entry(title="Two"))))
    receipt = await discord.send(NEWS, payload, KEY)
    assert await discord.find(NEWS, payload, KEY, clock.now()) == receipt
    assert await discord.find(NEWS, discord.to_payload(digest((entry(),))), KEY, clock.now()) is None


async def test_of_many_that_look_alike_each_message_is_found_once(
    server: DiscordServer, discord: DiscordNotifier, clock: HandClock
) -> None:
    keys = ("a" * 32, "b" * 32, "c" * 32)
    wanted = {key: discord.to_payload(message(idem=key)) for key in keys}
    assert len({str(payload["embeds"]) for payload in wanted.values()}) == 1
    sent = {key: await discord.send(NEWS, wanted[key], key) for key in keys[:2]}

    async def payloads() -> Mapping[str, Payload]:
        return wanted

    found = await discord.told(NEWS, set(keys), payloads, clock.now())
    assert len(found) == 2
    assert {receipt.remote_ref for receipt in found.values()} == {receipt.remote_ref for receipt in sent.values()}


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
        ([{"id": "1", "permissions": "9" * 5000}, {"id": "9", "permissions": str(VIEW)}], [], VIEW),
    ],
)
def test_rights_are_computed_as_discord_documents_it(roles: object, overwrites: object, rights: int) -> None:
    member, channel = {"roles": ["9"]}, {"permission_overwrites": overwrites}
    assert permissions_of(me="5", guild="1", roles=roles, member=member, channel=channel) == rights
