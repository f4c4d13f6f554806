"""Slack's people type over HTTP and Socket Mode, and are answered once, in time, and only they."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.chat.slack import SlackChat
from bot.chat.slack.answers import ResponseUrls
from bot.chat.slack.verify import verify
from bot.clock import SystemClock
from bot.core.errors import Forged
from bot.core.model.feed import Feed, FeedId
from tests.chat_room import Room, RoomClock, feed_of, item
from tests.servers.faults import Json
from tests.servers.slack import SlackServer
from tests.servers.slack_users import SlackAnswer

CASES = Path(__file__).parents[1] / "cases/shared"
C097 = json.loads((CASES / "C097-slack-signature-raw-body/requests.json").read_text(encoding="utf-8"))
C100 = json.loads((CASES / "C100-tag-spelling/inputs.json").read_text(encoding="utf-8"))
PART_2 = "EVPN Multihoming Across Vendors, Part 2: Verifying the Forwarding Plane"
VECTORS = {
    "": PART_2,
    "evpn": PART_2,
    "BGP": "BGP Unnumbered and Router Advertisements: Disabling RA Is Not Silence, It Is Withdrawal",
    "infiniband": "InfiniBand Routing Engines: Adaptive Routing and Credit Loops",
    "infiniband 3": "Link-Layer Troubleshooting with MLXLink and MLXCables",
    "roce": "RoCE on NVIDIA Spectrum-X: Building Lossless Ethernet for AI Fabrics",
    "ospf": "no post tagged ospf; tags: bgp, evpn, infiniband, roce",
}
Type = Callable[..., Awaitable[SlackAnswer]]


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = await Room.open(tmp_path)
    await room.read_seed()
    yield room
    await room.close()


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    async with SlackServer() as server:
        yield server
        assert server.violations == []


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def over_http(room: Room, slack: SlackServer, session: aiohttp.ClientSession) -> AsyncIterator[str]:
    """The address of a bot that is reached over HTTP."""
    chat = SlackChat(
        commands=room.commands,
        clock=SystemClock(),
        session=session,
        api_url=slack.api_url,
        signing_secret=slack.users.signing_secret,
    )
    await chat.start()
    app = web.Application()
    app.add_routes(chat.routes())
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")
        await chat.stop()


@pytest.fixture
async def by_socket(room: Room, slack: SlackServer, session: aiohttp.ClientSession) -> AsyncIterator[SlackChat]:
    """A bot that is connected by Socket Mode."""
    chat = SlackChat(
        commands=room.commands,
        clock=SystemClock(),
        session=session,
        api_url=slack.api_url,
        app_token=slack.app_token,
        signing_secret=slack.users.signing_secret,
    )
    await chat.start()
    async with asyncio.timeout(20):
        await slack.socket.wait_connected()
        while not chat.state().connected:
            await asyncio.sleep(0.01)
    yield chat
    await chat.stop()


@pytest.fixture(params=["HTTP", "Socket Mode"])
def transport(request: pytest.FixtureRequest) -> str:
    """Where a bot takes what people do; "" for Socket Mode."""
    if request.param == "HTTP":
        return str(request.getfixturevalue("over_http"))
    request.getfixturevalue("by_socket")
    return ""


@pytest.fixture
def typed(transport: str, slack: SlackServer) -> Type:
    """Type a command."""

    async def slash(command: str, text: str = "", **more: str) -> SlackAnswer:
        return await slack.users.slash_over_http(f"{transport}/slack/commands", command, text, **more)

    return slash if transport else slack.users.slash


@pytest.fixture
def pressed(transport: str, slack: SlackServer) -> Type:
    """Press a button."""

    async def press(button: Json) -> SlackAnswer:
        return await slack.users.press_over_http(f"{transport}/slack/interactive", button)

    return press if transport else slack.users.press


def text_of(answer: SlackAnswer) -> str:
    return json.dumps(answer.body, ensure_ascii=False)


@pytest.mark.parametrize(("text", "shown"), VECTORS.items())
async def test_latest_answers_by_tag_only_to_the_person_who_asked(typed: Type, text: str, shown: str) -> None:
    answer = await typed("/latest", text)
    assert (answer.late, answer.is_ephemeral) == (False, True)
    assert shown in text_of(answer)


@pytest.mark.parametrize("text", C100["same"])
async def test_every_spelling_is_understood(room: Room, typed: Type, text: str) -> None:
    await room.read(Feed(id=FeedId("tag"), url="https://f.example/tag", tags=("open-source",)), feed_of(item(1)))
    assert "Article 1" in text_of(await typed("/latest", text))


async def test_feedbell_takes_every_command_and_says_help_without_one(typed: Type) -> None:
    assert "search WORDS" in text_of(await typed("/feedbell"))
    assert "RoCE on NVIDIA" in text_of(await typed("/feedbell", "search lossless spectrum"))
    assert PART_2 in text_of(await typed("/feedbell", "latest evpn"))
    assert "all well" in text_of(await typed("/feedbell", "status"))


async def test_public_is_shown_to_the_channel(slack: SlackServer, typed: Type) -> None:
    answer = await typed("/latest", "bgp public")
    assert not answer.is_ephemeral
    assert len(slack.messages) == 1


async def test_feed_text_pings_nobody(room: Room, slack: SlackServer, typed: Type) -> None:
    evil = "&lt;!channel&gt; &lt;@U0READER&gt; *b* [a](b)"
    await room.read(Feed(id=FeedId("evil"), url="https://f.example/evil"), feed_of(item(19, "evil", title=evil)))
    for command in ("/latest", "/feedbell"):
        await typed(command, "evil public" if command == "/latest" else "feeds")
    await typed("/latest", "<!channel> @here public")
    assert slack.pings == []


def button_of(body: Json | None, label: str) -> Json:
    blocks = (body or {}).get("blocks") or []
    elements = [element for block in blocks if block["type"] == "actions" for element in block["elements"]]
    return next(element for element in elements if element["text"]["text"] == label)


async def replies(slack: SlackServer, count: int) -> list[Json]:
    async with asyncio.timeout(10):
        while len(slack.users.responses) < count:
            await asyncio.sleep(0.01)
    return slack.users.responses


async def test_buttons_page_in_place_and_show_in_the_channel(slack: SlackServer, typed: Type, pressed: Type) -> None:
    answer = await typed("/latest", "2")
    assert not (await pressed(button_of(answer.body, "Older"))).late
    older = (await replies(slack, 2))[1]
    assert (older["replace_original"], older["response_type"]) == (True, "ephemeral")
    assert "InfiniBand" in json.dumps(older) or "BGP" in json.dumps(older)
    assert slack.messages == []
    await pressed(button_of(answer.body, "Show in channel"))
    public = (await replies(slack, 3))[2]
    assert (public["replace_original"], public["response_type"]) == (False, "in_channel")
    assert len(slack.messages) == 1


async def test_a_slow_command_is_acknowledged_at_once_and_answered_once(
    room: Room, slack: SlackServer, typed: Type
) -> None:
    gate = asyncio.Event()
    get_page = room.web.get_page

    async def slowly(url: str, *, from_chat: bool) -> object:
        await gate.wait()
        return await get_page(url, from_chat=from_chat)

    room.web.pages["https://site.example/feed"] = feed_of(item(1))
    room.web.get_page = slowly  # type: ignore[method-assign,assignment]  # the page comes when the test says so
    answer = await typed("/feedbell", "add https://site.example/feed", user="U0ADMIN")
    assert (answer.late, answer.body or {}) == (False, {})
    gate.set()
    said = await replies(slack, 1)
    assert "example-feed" in json.dumps(said)
    confirm = button_of(said[0], "Confirm")
    assert confirm["value"] == "r:0:add:https://site.example/feed confirm"
    assert len(said) == 1


# --- Socket Mode -----------------------------------------------------------------------------------------------------


async def test_a_repeated_envelope_is_acknowledged_but_answered_once(slack: SlackServer, by_socket: SlackChat) -> None:
    first = await slack.users.slash("/latest", "bgp", envelope_id="e1")
    again = await slack.users.slash("/latest", "bgp", envelope_id="e1")
    assert first.body
    assert (again.late, again.body or {}) == (False, {})
    assert len(slack.users.responses) == 1


async def test_two_replicas_answer_an_envelope_once(
    room: Room, slack: SlackServer, session: aiohttp.ClientSession
) -> None:
    chats = [
        SlackChat(
            commands=room.commands,
            clock=SystemClock(),
            session=session,
            api_url=slack.api_url,
            app_token=slack.app_token,
            seen=room.store,
        )
        for _ in range(2)
    ]
    for chat in chats:
        await chat.start()
    async with asyncio.timeout(20):
        await slack.socket.wait_connected(2)
    for _ in range(4):
        await slack.users.slash("/latest", "bgp", envelope_id="e1")
    assert len(slack.users.responses) == 1
    for chat in chats:
        await chat.stop()


@pytest.mark.parametrize("reason", ["refresh_requested", "warning", "drop"])
async def test_a_connection_that_ends_is_replaced(slack: SlackServer, by_socket: SlackChat, reason: str) -> None:
    await slack.socket.disconnect(reason)
    async with asyncio.timeout(20):
        while slack.socket.opened < 2 or not slack.socket.connections:
            await asyncio.sleep(0.01)
    assert (await slack.users.slash("/latest", "bgp")).body
    assert by_socket.state().connected


async def test_a_refused_token_is_told_and_nothing_else_stands_still(
    room: Room, session: aiohttp.ClientSession
) -> None:
    async with SlackServer() as slack:
        chat = SlackChat(
            commands=room.commands, clock=SystemClock(), session=session, api_url=slack.api_url, app_token="xapp-wrong"
        )
        await chat.start()
        async with asyncio.timeout(20):
            while "invalid_auth" not in chat.state().why:
                await asyncio.sleep(0.01)
        assert not chat.state().connected
        await chat.stop()


async def test_a_slack_that_is_away_is_connected_to_once_it_is_back(
    room: Room, session: aiohttp.ClientSession, unused_tcp_port: int
) -> None:
    chat = SlackChat(
        commands=room.commands,
        clock=SystemClock(),
        session=session,
        api_url=f"http://127.0.0.1:{unused_tcp_port}/api/",
        app_token="xapp-test-app",
    )
    await chat.start()
    async with asyncio.timeout(30):
        while "can't connect" not in chat.state().why:
            await asyncio.sleep(0.01)
        async with SlackServer(port=unused_tcp_port) as slack:
            await slack.socket.wait_connected()
            assert (await slack.users.slash("/latest", "bgp")).body
            await chat.stop()


@pytest.fixture
def unused_tcp_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# --- signatures ------------------------------------------------------------------------------------------------------

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
