"""What comes to Slack's endpoints: only what Slack signed, each once, and never a fault of ours."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.chat.slack import SlackChat
from bot.chat.slack.answers import ResponseUrls
from bot.chat.slack.requests import read_command
from bot.chat.slack.verify import verify
from bot.clock import SystemClock
from bot.core.errors import Forged
from tests.chat_room import Room, RoomClock
from tests.edge.chat.people import CASES
from tests.servers.faults import Json

C097 = json.loads((CASES / "C097-slack-signature-raw-body/requests.json").read_text(encoding="utf-8"))
SECRET = "test-signing-secret"
NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
BODY = urlencode(
    {"command": "/latest", "text": "bgp", "user_id": "U0READER", "channel_id": "C0GENERAL", "response_url": ""}
).encode()


def signed(body: bytes = BODY, *, stamp: str = str(int(NOW.timestamp())), secret: str = SECRET) -> dict[str, str]:
    digest = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}


@pytest.fixture
async def post(room: Room, session: aiohttp.ClientSession) -> AsyncIterator[Callable[..., Awaitable[tuple[int, str]]]]:
    """Post raw bytes to a bot whose clock stands at NOW."""
    clock = RoomClock(NOW)
    chats = {
        secret: SlackChat(
            commands=room.commands,
            clock=clock,
            session=session,
            api_url="https://slack.com/api/",
            signing_secret=secret,
        )
        for secret in (SECRET, C097["signing_secret"])
    }
    app = web.Application(client_max_size=10_000_000)
    app.add_routes(chats[SECRET].routes())
    other = web.Application()
    other.add_routes(chats[C097["signing_secret"]].routes())
    app.add_subapp("/c097", other)
    async with TestServer(app) as server:

        async def send(body: bytes, headers: dict[str, str], path: str = "/slack/commands") -> tuple[int, str]:
            async with session.post(server.make_url(path), data=body, headers=headers) as answer:
                return answer.status, await answer.text()

        yield send
        for chat in chats.values():
            await chat.stop()


Post = Callable[..., Awaitable[tuple[int, str]]]


@pytest.mark.parametrize("case", C097["requests"], ids=lambda case: case["name"])
async def test_case_c097(post: Post, case: Json) -> None:
    body = bytes.fromhex(case["body_hex"]) if "body_hex" in case else case["body"].encode()
    status, text = await post(body, case["headers"], "/c097/slack/commands")
    assert status == 200 if case["expect"] == 200 else status in (401, 403)
    if status == 200:
        assert "no post tagged" in text


@pytest.mark.parametrize(("seconds", "status"), [(-299, 200), (299, 200), (-301, 401), (301, 401)])
async def test_a_request_is_good_for_five_minutes(post: Post, seconds: int, status: int) -> None:
    stamp = str(int((NOW + timedelta(seconds=seconds)).timestamp()))
    assert (await post(BODY, signed(stamp=stamp)))[0] == status


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {**signed(), "X-Slack-Signature": ""},
        {**signed(), "X-Slack-Signature": "v0="},
        {**signed(), "X-Slack-Signature": "v0=" + "é" * 64},
        {**signed(), "X-Slack-Signature": signed()["X-Slack-Signature"].upper()},
        {**signed(), "X-Slack-Signature": signed()["X-Slack-Signature"] + "00"},
        {**signed(), "X-Slack-Request-Timestamp": "x"},
        {**signed(), "X-Slack-Request-Timestamp": "9" * 5_000},
        {**signed(), "X-Slack-Request-Timestamp": "-1779278400"},
        {**signed(), "X-Slack-Request-Timestamp": "1779278400.5"},
        {**signed(), "X-Slack-Request-Timestamp": "١٧٧٩٢٧٨٤٠٠"},
        signed(secret="another"),
        signed(b"another body"),
        signed(stamp="1779278400 "),
    ],
)
async def test_whatever_is_not_signed_is_refused(post: Post, headers: dict[str, str]) -> None:
    for path in ("/slack/commands", "/slack/interactive"):
        assert await post(BODY, headers, path) == (401, "not Slack")


async def test_a_replay_gets_the_same_answer_and_nothing_happens_again(room: Room, post: Post) -> None:
    body = BODY.replace(b"%2Flatest", b"%2Ffeedbell").replace(b"bgp", b"follow+bgp")
    first = await post(body, signed(body))
    await room.store.remove_follow("slack:U0READER", "bgp")  # type: ignore[arg-type]
    assert await post(body, signed(body)) == first
    assert await room.store.follows() == []


async def test_a_body_of_more_than_64_kib_is_too_large(post: Post) -> None:
    body = BODY + b"&x=" + b"x" * (65_536 - len(BODY) - 3)
    assert (await post(body, signed(body)))[0] == 200
    assert (await post(body + b"x", signed(body + b"x")))[0] == 413


async def test_ssl_checks_get_nothing_unless_signed(post: Post) -> None:
    assert (await post(b"ssl_check=1", {}))[0] == 401
    assert await post(b"ssl_check=1", signed(b"ssl_check=1")) == (200, "")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"payload=",
        b"payload=%7B",
        b"payload=[]",
        b"payload=%22x%22",
        b"payload=" + b"[" * 20_000,
        urlencode({"payload": json.dumps({"type": "block_actions"})}).encode(),
        urlencode({"payload": json.dumps({"type": "block_actions", "user": {"id": "U1"}, "actions": [7]})}).encode(),
        b"&".join(b"a=b" for _ in range(1_000)),
        b"\xff\xfe=\xff",
    ],
)
async def test_signed_nonsense_is_refused_too(post: Post, body: bytes) -> None:
    for path in ("/slack/commands", "/slack/interactive"):
        assert (await post(body, signed(body), path))[0] == 401


@pytest.mark.parametrize(
    ("command", "text", "name", "rest"),
    [
        ("/latest", " bgp 3 ", "latest", "bgp 3"),
        ("/latest", "R&amp;D", "latest", "R&D"),
        ("/latest", "R&D", "latest", "R&D"),
        ("/latest", "&amp;lt;b&gt;", "latest", "&lt;b>"),
        ("/feedbell", "", "help", ""),
        ("/feedbell", "tags", "tags", ""),
        ("/feedbell", "search\tone  two", "search", "one  two"),
        ("/feedbell", "\u00a0latest\u00a0bgp", "latest", "bgp"),
        ("/other", "latest\nbgp", "latest", "bgp"),
        ("/feedbell", "add https://x.example/?a=1&amp;b=2", "add", "https://x.example/?a=1&b=2"),
    ],
)
def test_a_command_is_read_as_it_was_typed(command: str, text: str, name: str, rest: str) -> None:
    asked = read_command({"command": command, "text": text, "user_id": "U1", "channel_id": "C1"}).asked
    assert (asked.name, asked.text) == (name, rest)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80), st.text(max_size=120), st.binary(max_size=60), st.booleans())
def test_verification_only_ever_accepts_or_calls_it_forged(stamp: str, signature: str, body: bytes, good: bool) -> None:
    headers = signed(body) if good else {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}
    if good:
        assert verify(SECRET, headers, body, now=NOW)
    else:
        with pytest.raises(Forged):
            verify(SECRET, headers, body, now=NOW)


FORMS = st.dictionaries(
    st.sampled_from(["command", "text", "user_id", "channel_id", "channel_name", "response_url", "payload", "x"]),
    st.one_of(
        st.text(max_size=50),
        st.sampled_from(["/latest", "/feedbell", "U0READER", "C0GENERAL", "follow bgp", "count:99", "tag:“x"]),
    ),
)


async def test_signed_forms_of_any_content_are_answered_or_refused(post: Post) -> None:
    forms: list[dict[str, str]] = []

    @settings(max_examples=150, database=None)
    @given(FORMS)
    def collect(form: dict[str, str]) -> None:
        forms.append(form)

    collect()
    for form in forms:
        body = urlencode(form, errors="replace").encode()
        for path in ("/slack/commands", "/slack/interactive"):
            assert (await post(body, signed(body), path))[0] in (200, 401)


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("https://hooks.slack.com/commands/T/1/x", True),
        ("http://hooks.slack.com/commands/T/1/x", False),
        ("https://hooks.slack.com.evil.example/x", False),
        ("https://hooks.slack.com@evil.example/x", False),
        ("https://evil.example/?hooks.slack.com", False),
        ("http://127.0.0.1:9/x", False),
        ("https://proxy.example/commands/1", True),
        ("", False),
        ("http://[", False),
    ],
)
async def test_answers_go_only_to_slack(session: aiohttp.ClientSession, url: str, is_allowed: bool) -> None:
    urls = ResponseUrls(session, SystemClock(), "https://proxy.example/api/")
    assert urls.is_slacks(url) is is_allowed
