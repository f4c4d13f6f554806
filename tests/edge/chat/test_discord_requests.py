"""What comes to Discord's endpoint: only what Discord signed, each once, and never a fault of ours."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.chat.discord.requests import read_interaction, to_text
from bot.chat.discord.verify import verify
from bot.core.errors import Forged
from tests.chat_room import Room
from tests.edge.chat.people import fields
from tests.servers.discord import DiscordServer
from tests.servers.faults import Json


@pytest.fixture
def post(discord_over_http: str, session: aiohttp.ClientSession) -> Callable[..., Awaitable[tuple[int, str]]]:
    async def send(body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        async with session.post(discord_over_http, data=body, headers=headers) as answer:
            return answer.status, await answer.text()

    return send


Post = Callable[..., Awaitable[tuple[int, str]]]


async def test_a_ping_is_answered_with_a_pong(post: Post, discord: DiscordServer) -> None:
    body = json.dumps({"id": "1", "application_id": "900", "type": 1, "token": "x", "version": 1}).encode()
    assert await post(body, discord.users.sign(body)) == (200, '{"type": 1}')


async def test_whatever_is_not_signed_is_refused(post: Post, discord: DiscordServer) -> None:
    body = b'{"id": "1", "application_id": "900", "type": 1}'
    good = discord.users.sign(body)
    stamp, signature = good["X-Signature-Timestamp"], good["X-Signature-Ed25519"]
    wrong: list[tuple[bytes, dict[str, str]]] = [
        (body, {}),
        (body + b" ", good),
        (body, {**good, "X-Signature-Ed25519": ""}),
        (body, {**good, "X-Signature-Ed25519": "0" * 128}),
        (body, {**good, "X-Signature-Ed25519": signature[:-1]}),
        (body, {**good, "X-Signature-Ed25519": "é" * 128}),
        (body, {**good, "X-Signature-Timestamp": "9" * 5_000}),
        (body, {**good, "X-Signature-Timestamp": f"0{stamp}"}),
        # A byte that wanders from the body to the timestamp leaves the signature valid.
        (body[1:], {**good, "X-Signature-Timestamp": stamp + "{"}),
        (body, discord.users.sign(body, at=datetime.now(UTC).timestamp() - 302)),
        (body, discord.users.sign(body, at=datetime.now(UTC).timestamp() + 302)),
    ]
    for bad, headers in wrong:
        assert await post(bad, headers) == (401, "not Discord")


@pytest.mark.parametrize("body", [b"", b"[]", b"7", b"{", b'{"type":2}', b'{"type":99}', b"\xff", b"[" * 20_000])
async def test_signed_nonsense_is_refused_too(post: Post, discord: DiscordServer, body: bytes) -> None:
    assert (await post(body, discord.users.sign(body)))[0] == 401


async def test_a_replay_gets_the_same_answer_and_nothing_happens_again(
    room: Room, post: Post, discord: DiscordServer
) -> None:
    options = [{"name": "follow", "type": 1, "options": fields({"tag": "bgp"})}]
    _, payload = discord.users.make("command", {"name": "feedbell", "type": 1, "options": options})
    body = json.dumps(payload).encode()
    first = await post(body, discord.users.sign(body))
    await room.store.remove_follow("discord-user:500", "bgp")  # type: ignore[arg-type]
    assert await post(body, discord.users.sign(body)) == first
    assert await room.store.follows() == []


async def test_a_body_of_more_than_64_kib_is_too_large(post: Post, discord: DiscordServer) -> None:
    body = b'{"x": "' + b"x" * 70_000 + b'"}'
    assert (await post(body, discord.users.sign(body)))[0] == 413


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(max_size=10), st.sampled_from(["latest", "1", "p:0:x:"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "options", "value", "type", "custom_id", "user", "id"]), inner),
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(
    st.fixed_dictionaries(
        {"type": st.sampled_from([1, 2, 3, 4, 5, None, "2", []]), "id": st.sampled_from(["1", "", 7])},
        optional={
            name: JSON
            for name in ("token", "application_id", "data", "member", "user", "channel_id", "message", "guild_id")
        },
    )
)
def test_interactions_of_any_content_are_read_or_called_forged(payload: Json) -> None:
    try:
        read_interaction({"application_id": "9", "token": "t", "channel_id": "2", "user": {"id": "5"}} | payload)
    except Forged:
        return


@settings(max_examples=200)
@given(st.text(max_size=40), st.text(max_size=140), st.binary(max_size=40))
def test_verification_only_ever_accepts_or_calls_it_forged(stamp: str, signature: str, body: bytes) -> None:
    headers = {"X-Signature-Timestamp": stamp, "X-Signature-Ed25519": signature}
    with pytest.raises(Forged):
        verify("ab" * 32, headers, body, now=datetime(2026, 5, 20, tzinfo=UTC))


def test_fields_read_as_they_would_be_typed() -> None:
    assert to_text("latest", fields({"tag": "bgp", "count": 3, "feed": 'a"b', "public": True})) == (
        'bgp count:3 feed:"ab" public:true'
    )
    assert to_text("latest", fields({"public": False})) == ""
    assert to_text("nothing", fields({"tag": "x"})) == ""
