"""Messages posted to a strict local Discord."""

import re

import pytest

from bot.core.errors import (
    DestinationDown,
)
from bot.core.model.delivery import Options
from bot.core.render import render_list
from bot.notifiers.discord import DiscordNotifier, user_agent
from bot.notifiers.discord_layout import nonce_of
from tests.core.messages import BERLIN, SEEN, delivery, digest, entry, message
from tests.edge.notifying import to
from tests.servers.discord import DiscordServer

NEWS = to("discord:200")
KEY = delivery().idem
AGENT = user_agent("https://example.org/bot", "1.0")


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


@pytest.mark.parametrize("plain", [False, True])
async def test_more_mentions_than_a_message_holds_are_cut_and_the_message_is_sent(
    server: DiscordServer, discord: DiscordNotifier, plain: bool
) -> None:
    many = Options(mentions=tuple(f"<@&{10**19 + number}>" for number in range(150)))
    await discord.send(NEWS, discord.to_payload(message(options=many), plain=plain), KEY)
    assert server.in_channel("200")[0].content.startswith(" ".join(many.mentions[:60]))


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


@pytest.mark.parametrize(("length", "mark"), [(60, ""), (60, "*"), (300, "*")])
async def test_each_of_fifty_entries_has_a_line_of_a_digest_though_not_every_link_finds_room(
    server: DiscordServer, discord: DiscordNotifier, length: int, mark: str
) -> None:
    link = "https://www.example.org/posts/" + "x" * length
    titles = [f"Post number {n}{mark * 100}" for n in range(50)]
    entries = tuple(entry(title=title, link=f"{link}-{n}", tags=(f"tag {n // 2}",)) for n, title in enumerate(titles))
    await discord.send(NEWS, discord.to_payload(digest(entries)), KEY)
    text = "\n".join(embed["description"] for embed in server.messages[0].embeds)
    assert re.findall(r"Post number (\d+)", text) == [str(n) for n in range(50)]
    linked = re.findall(r"-(\d+)\)", text)
    assert linked == [str(n) for n in range(len(linked))]
    assert len(linked) > (15 if length < 100 else 5)


@pytest.mark.parametrize("mark", ["x", "*"])
async def test_an_answer_shows_each_of_ten_entries_however_long_they_are(
    server: DiscordServer, discord: DiscordNotifier, mark: str
) -> None:
    tags = tuple(f"{mark * 40} {n}" for n in range(10))
    long = entry(title=mark * 400, summary_html="_" * 900, text="_" * 900, feed_title=mark * 400, tags=tags)
    said = render_list([long] * 10, timezone=BERLIN, now=SEEN, heading="Latest", words="10 entries")
    await discord.send(NEWS, discord.to_payload(said), "")
    (stored,) = server.messages
    assert [bool(embed["title"]) for embed in stored.embeds] == [True] * 10
    assert "more" not in stored.content
    assert [embed.get("url") for embed in stored.embeds][1:] == [None] * 9


async def test_the_texts_of_an_answer_are_as_long_as_all_of_them_can_be(discord: DiscordNotifier) -> None:
    def texts(title: str) -> list[int]:
        found = [entry(title=title, feed_title=title, summary_html="word " * 200, tags=("bgp",))] * 10
        payload = discord.to_payload(render_list(found, timezone=BERLIN, now=SEEN))
        return [len(embed["description"].partition("\n")[2]) for embed in payload["embeds"]]  # type: ignore[union-attr, index, call-overload]

    assert all(250 < length <= 300 for length in texts("Short"))
    assert all(50 < length <= 100 for length in texts("x" * 250))


async def test_a_link_that_discord_would_refuse_is_shown_as_text(
    server: DiscordServer, discord: DiscordNotifier
) -> None:
    await discord.send(NEWS, discord.to_payload(message(entry(link="http://localhost/x"))), KEY)
    (embed,) = server.messages[0].embeds
    assert "url" not in embed
    assert embed["description"].endswith("http://localhost/x")
