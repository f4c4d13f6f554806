"""The local Slack refuses what Slack refuses, and breaks only when told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from tests.servers.faults import Fault, Json
from tests.servers.journal import SettableClock
from tests.servers.slack import SlackServer

CHANNEL = "C0AINETWORKING"
MARK = {"event_type": "feedbell_entry", "event_payload": {"k": "abc"}}


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    async with SlackServer(clock=SettableClock()) as server:
        yield server


@pytest.fixture
async def sdk(slack: SlackServer) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(slack.bot_token, base_url=slack.api_url, session=session, retry_handlers=[])


def rich(*elements: Json) -> list[Json]:
    return [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(elements)}]}]


async def error_of(sdk: AsyncWebClient, **args: object) -> str:
    with pytest.raises(SlackApiError) as caught:
        await sdk.api_call("chat.postMessage", json={"channel": CHANNEL, **args})
    return str(caught.value.response["error"])


async def test_a_posted_message_is_found_in_the_history_by_its_metadata(
    slack: SlackServer, sdk: AsyncWebClient
) -> None:
    posted = await sdk.chat_postMessage(
        channel="#ai-networking", text="hi", blocks=rich({"type": "text", "text": "hi"}), metadata=MARK
    )
    whole = await sdk.conversations_history(
        channel=CHANNEL, oldest=posted["ts"], inclusive=True, include_all_metadata=True
    )
    bare = await sdk.conversations_history(channel=CHANNEL)
    assert [message["metadata"] for message in whole["messages"]] == [MARK]
    assert bare["messages"][0]["metadata"] == {"event_type": "feedbell_entry"}
    assert slack.messages[0].text == "hi"


async def test_pages_of_the_history_go_back_in_time_without_replies(sdk: AsyncWebClient, slack: SlackServer) -> None:
    stamps = [(await sdk.chat_postMessage(channel=CHANNEL, text=str(n)))["ts"] for n in range(5)]
    await sdk.chat_postMessage(channel=CHANNEL, text="reply", thread_ts=stamps[0])
    seen = []
    async for page in await sdk.conversations_history(channel=CHANNEL, limit=2):
        seen += [message["text"] for message in page["messages"]]
    assert seen == ["4", "3", "2", "1", "0"]


async def test_a_lagging_history_shows_a_message_only_later(sdk: AsyncWebClient, slack: SlackServer) -> None:
    slack.history_lag = 5
    await sdk.chat_postMessage(channel=CHANNEL, text="hi")
    assert not (await sdk.conversations_history(channel=CHANNEL))["messages"]
    assert isinstance(slack.clock, SettableClock)
    slack.clock.move(5)
    assert (await sdk.conversations_history(channel=CHANNEL))["messages"]


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"text": ""}, "no_text"),
        ({"text": "x", "channel": "#nowhere"}, "channel_not_found"),
        ({"text": "x", "channel": "C0SECRET"}, "channel_not_found"),
        ({"text": "x", "channel": "C0RANDOM"}, "not_in_channel"),
        ({"text": "x", "channel": "C0OLD"}, "is_archived"),
        ({"text": "x", "metadata": {"event_type": "x"}}, "invalid_metadata_schema"),
        ({"text": "x", "metadata": {"event_type": "x", "event_payload": {"k": "x" * 4000}}}, "metadata_too_large"),
        ({"blocks": [{"type": "divider"}] * 51}, "invalid_blocks"),
        ({"blocks": [{"type": "footer"}]}, "invalid_blocks"),
        ({"blocks": [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}]}, "invalid_blocks"),
        ({"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}]}, "invalid_blocks"),
        ({"blocks": rich()}, "invalid_blocks"),
        ({"blocks": rich({"type": "text", "text": ""})}, "invalid_blocks"),
        ({"blocks": rich({"type": "shout", "text": "x"})}, "invalid_blocks"),
        ({"blocks": rich({"type": "link", "url": "javascript:alert(1)"})}, "invalid_blocks"),
        ({"blocks": rich({"type": "text", "text": "x" * 13_201})}, "msg_blocks_too_long"),
        ({"blocks": "[{"}, "invalid_blocks_format"),
    ],
)
async def test_what_slack_refuses_is_refused(slack: SlackServer, sdk: AsyncWebClient, args: Json, error: str) -> None:
    slack.team.add_channel("secret", private=True, member=False)
    slack.team.add_channel("random", member=False)
    slack.team.add_channel("old", archived=True)
    assert await error_of(sdk, **args) == error
    assert not slack.messages


async def test_tokens_and_scopes_are_checked(slack: SlackServer, sdk: AsyncWebClient) -> None:
    slack.scopes.discard("chat:write")
    assert await error_of(sdk, text="x") == "missing_scope"
    slack.auth_error = "token_revoked"
    assert await error_of(sdk, text="x") == "token_revoked"
    sdk.token = slack.app_token
    assert await error_of(sdk, text="x") == "not_allowed_token_type"


async def test_every_way_to_ping_is_counted_and_escaped_text_is_not(slack: SlackServer, sdk: AsyncWebClient) -> None:
    await sdk.chat_postMessage(channel=CHANNEL, text="&lt;!channel&gt; @here <#C1>", parse="none")
    assert slack.pings == []
    await sdk.chat_postMessage(
        channel=CHANNEL, text="<!channel> <@U1|x>", blocks=rich({"type": "user", "user_id": "U2"})
    )
    section = [{"type": "section", "text": {"type": "mrkdwn", "text": "<!subteam^S1> @here"}}]
    await sdk.chat_postMessage(channel=CHANNEL, text="x", blocks=section)
    assert slack.pings == ["!channel", "@U1", "U2", "!subteam^S1", "@here"]


async def test_an_edit_keeps_one_message_and_what_it_was(slack: SlackServer, sdk: AsyncWebClient) -> None:
    posted = await sdk.chat_postMessage(channel=CHANNEL, text="teh", metadata=MARK)
    await sdk.chat_update(channel=CHANNEL, ts=posted["ts"], text="the")
    (message,) = slack.messages
    assert (message.text, message.metadata, message.edits[0]["text"]) == ("the", MARK, "teh")


@pytest.mark.parametrize("kind", ["rst", "fin"])
@pytest.mark.parametrize("stored", [True, False])
async def test_a_cut_answer_leaves_the_message_stored_or_not(
    slack: SlackServer, sdk: AsyncWebClient, kind: str, stored: bool
) -> None:
    slack.faults.add(Fault(kind=kind, store=stored, match="chat.postMessage"))
    with pytest.raises(aiohttp.ClientError):
        await sdk.chat_postMessage(channel=CHANNEL, text="hi")
    assert len(slack.messages) == stored
    await sdk.chat_postMessage(channel=CHANNEL, text="again")


async def test_half_an_answer_does_not_read_as_one(slack: SlackServer, sdk: AsyncWebClient) -> None:
    slack.faults.add(Fault(kind="fin", store=True, at=None))
    with pytest.raises(aiohttp.ClientError):
        await sdk.chat_postMessage(channel=CHANNEL, text="hi")


async def test_rate_limits_hold_and_an_early_return_is_noted(slack: SlackServer, sdk: AsyncWebClient) -> None:
    slack.limit.per_second = 1
    await sdk.chat_postMessage(channel=CHANNEL, text="1")
    assert await error_of(sdk, text="2") == "ratelimited"
    assert slack.violations == []
    assert await error_of(sdk, text="3") == "ratelimited"
    assert len(slack.violations) == 1
    await sdk.chat_postMessage(channel="#ops", text="4")


async def test_webhooks_answer_in_plain_words(slack: SlackServer) -> None:
    url = slack.add_webhook(CHANNEL)
    async with aiohttp.ClientSession() as session:

        async def post(**body: object) -> tuple[int, str]:
            async with session.post(url, json=body) as answer:
                return answer.status, await answer.text()

        assert await post(text="hi") == (200, "ok")
        assert await post() == (400, "no_text")
        assert await post(blocks=[{"type": "x"}]) == (400, "invalid_blocks")
        slack.set_channel(CHANNEL, archived=True)
        assert await post(text="hi") == (410, "channel_is_archived")
        slack.webhooks.clear()
        assert await post(text="hi") == (404, "no_service")


async def test_the_sdk_serves_commands_over_socket_mode(sdk: AsyncWebClient) -> None:
    async with SlackServer() as slack, aiohttp.ClientSession() as session:
        web = AsyncWebClient(base_url=slack.api_url, session=session)
        client = SocketModeClient(app_token=slack.app_token, web_client=web, auto_reconnect_enabled=True)
        seen: list[str] = []

        async def listen(client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
            seen.append(request.envelope_id)
            answer = SocketModeResponse(envelope_id=request.envelope_id, payload={"text": request.payload["text"]})
            await client.send_socket_mode_response(answer)

        client.socket_mode_request_listeners.append(listen)
        await client.connect()  # type: ignore[no-untyped-call]
        await slack.socket.wait_connected()
        answer = await slack.users.slash("/latest", "bgp", envelope_id="e1")
        assert (answer.body, answer.late) == ({"text": "bgp"}, False)
        await slack.users.slash("/latest", "bgp", envelope_id="e1")
        await slack.socket.disconnect()
        await asyncio.wait_for(reconnected(slack), 20)
        assert (await slack.users.slash("/latest", "evpn")).body == {"text": "evpn"}
        assert seen[:2] == ["e1", "e1"]
        assert slack.violations == []
        await client.close()  # type: ignore[no-untyped-call]


async def reconnected(slack: SlackServer) -> None:
    while slack.socket.opened < 2:
        await asyncio.sleep(0.05)
    await slack.socket.wait_connected()


async def test_a_response_url_lives_for_five_uses(slack: SlackServer) -> None:
    slack.violations.clear()
    answer = await slack.users.slash("/latest")  # nobody is connected: the command is lost, its URL lives
    assert answer.late
    async with aiohttp.ClientSession() as session:
        statuses = []
        for _ in range(6):
            async with session.post(answer.response_url, json={"text": "hi"}) as reply:
                statuses.append(reply.status)
    assert statuses == [200, 200, 200, 200, 200, 404]
    assert slack.messages == []
    assert len(slack.users.responses) == 5


async def test_a_frozen_connection_hears_nothing_and_a_new_one_does(slack: SlackServer) -> None:
    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {slack.app_token}"}
        async with session.post(f"{slack.api_url}apps.connections.open", headers=headers) as opened:
            url = (await opened.json())["url"]
        async with session.ws_connect(url, autoping=False) as socket:
            assert (await socket.receive_json())["type"] == "hello"
            await socket.ping(b"1")
            assert (await socket.receive()).type == aiohttp.WSMsgType.PONG
            slack.socket.freeze()
            await socket.ping(b"2")
            with pytest.raises(TimeoutError):
                await socket.receive(timeout=0.1)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)
