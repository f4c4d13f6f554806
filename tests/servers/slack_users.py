"""People in Slack: they type slash commands and press buttons, over HTTP or Socket Mode, and see the answers."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from tests.servers.faults import Json
from tests.servers.slack_methods import make_message
from tests.servers.slack_socket import DEADLINE
from tests.servers.slack_state import SlackError

if TYPE_CHECKING:
    from tests.servers.slack import SlackServer

URL_LIFE = 30 * 60.0
URL_USES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackAnswer:
    """What became of a command: `late` is what the person reads as operation_timeout."""

    status: int
    body: Json | None
    seconds: float
    late: bool
    response_url: str
    text: str = ""

    @property
    def is_ephemeral(self) -> bool:
        return bool((self.body or {}).get("response_type", "ephemeral") == "ephemeral")


@dataclass(slots=True)
class _ResponseUrl:
    channel: str
    user: str
    made_at: float
    uses: int = 0


class SlackUsers:
    """Acts for the people of the workspace and serves the response URLs of what they did."""

    def __init__(self, slack: SlackServer, signing_secret: str) -> None:
        self.signing_secret = signing_secret
        self.responses: list[Json] = []  # immediate answers and what came to response URLs, in order
        self._slack = slack
        self._urls: dict[str, _ResponseUrl] = {}
        self._count = itertools.count(1)

    async def slash(
        self,
        command: str,
        text: str = "",
        *,
        user: str = "U0READER",
        channel: str = "C0GENERAL",
        envelope_id: str | None = None,
    ) -> SlackAnswer:
        """Type a command; it travels by Socket Mode. The same `envelope_id` again is Slack's own repetition."""
        payload = self._command(command, text, user, channel)
        return await self._by_socket("slash_commands", payload, envelope_id)

    async def press(
        self, action: Json, *, user: str = "U0READER", channel: str = "C0GENERAL", envelope_id: str | None = None
    ) -> SlackAnswer:
        """Press a button, given as the element that stands in the message; it travels by Socket Mode."""
        return await self._by_socket("interactive", self._press(action, user, channel), envelope_id)

    async def slash_over_http(
        self, url: str, command: str, text: str = "", *, user: str = "U0READER", channel: str = "C0GENERAL"
    ) -> SlackAnswer:
        """Type a command; it is posted to `url` with a signature."""
        payload = self._command(command, text, user, channel)
        return await self._by_http(url, urlencode(payload).encode(), payload["response_url"])

    async def press_over_http(
        self, url: str, action: Json, *, user: str = "U0READER", channel: str = "C0GENERAL"
    ) -> SlackAnswer:
        payload = self._press(action, user, channel)
        body = urlencode({"payload": json.dumps(payload)}).encode()
        return await self._by_http(url, body, payload["response_url"])

    def sign(self, body: bytes, *, at: float | None = None) -> dict[str, str]:
        """Return the headers of a request that Slack would send with this body."""
        stamp = str(int(self._slack.clock() if at is None else at))
        digest = hmac.new(self.signing_secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
        return {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={digest.hexdigest()}",
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        }

    async def slash_json(self, **args: str) -> Json:
        return asdict(await self.slash(**args))

    async def press_json(self, action: Json, **args: str) -> Json:
        return asdict(await self.press(action, **args))

    async def slash_over_http_json(self, **args: str) -> Json:
        return asdict(await self.slash_over_http(**args))

    async def respond(self, request: web.Request) -> web.Response:
        """Serve a response URL: five uses in thirty minutes."""
        known = self._urls.get(request.match_info["id"])
        if known is None or self._slack.clock() - known.made_at > URL_LIFE:
            return web.json_response({"ok": False, "error": "expired_url"}, status=404)
        if known.uses >= URL_USES:
            return web.json_response({"ok": False, "error": "used_url"}, status=404)
        try:
            body = json.loads(await request.read())
            self._store(body, known)
        except ValueError:
            return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
        except SlackError as error:
            return web.json_response({"ok": False, "error": error.error, **error.more}, status=400)
        known.uses += 1
        return web.Response(text="ok", content_type="text/html")

    def _store(self, body: Json, known: _ResponseUrl) -> None:
        if not isinstance(body, dict):
            raise ValueError("not an object")
        self.responses.append(body)
        if body.get("delete_original"):
            return
        channel = self._slack.team.visible(known.channel)
        public = body.get("response_type") == "in_channel"
        make_message(self._slack, channel, body, via="response", to=None if public else known.user)

    def _command(self, command: str, text: str, user: str, channel: str) -> dict[str, str]:
        found = self._slack.team.channels[channel]
        return {
            "token": "legacy-verification-token",
            "team_id": "T0TEAM",
            "team_domain": "test",
            "channel_id": channel,
            "channel_name": "directmessage" if found.user else found.name,
            "user_id": user,
            "user_name": str(self._slack.team.users[user]["name"]),
            "command": command,
            "text": text,
            "api_app_id": "A0FEEDBELL",
            "is_enterprise_install": "false",
            "response_url": self._new_url(channel, user),
            "trigger_id": f"1.2.{next(self._count)}",
        }

    def _press(self, action: Json, user: str, channel: str) -> Json:
        done = {"action_ts": f"{self._slack.clock():.6f}", "block_id": "b0", **action}
        return {
            "type": "block_actions",
            "team": {"id": "T0TEAM", "domain": "test"},
            "user": {"id": user, "username": self._slack.team.users[user]["name"], "team_id": "T0TEAM"},
            "api_app_id": "A0FEEDBELL",
            "token": "legacy-verification-token",
            "container": {"type": "message", "channel_id": channel, "is_ephemeral": True, "message_ts": "1.000001"},
            "channel": {"id": channel, "name": self._slack.team.channels[channel].name},
            "trigger_id": f"1.2.{next(self._count)}",
            "response_url": self._new_url(channel, user),
            "actions": [done],
        }

    def _new_url(self, channel: str, user: str) -> str:
        number = f"T0TEAM-{next(self._count)}"
        self._urls[number] = _ResponseUrl(channel, user, self._slack.clock())
        return f"{self._slack.url}/commands/{number}"

    async def _by_socket(self, kind: str, payload: Json, envelope_id: str | None) -> SlackAnswer:
        envelope = {
            "envelope_id": envelope_id or f"envelope-{next(self._count)}",
            "type": kind,
            "payload": payload,
            "accepts_response_payload": True,
        }
        loop = asyncio.get_running_loop()
        start = loop.time()
        body = await self._slack.socket.deliver(envelope)
        seconds = loop.time() - start
        if body:
            self._show(body, payload["response_url"])
        return SlackAnswer(
            status=0 if body is None else 200,
            body=body,
            seconds=seconds,
            late=body is None,
            response_url=payload["response_url"],
        )

    async def _by_http(self, url: str, body: bytes, response_url: str) -> SlackAnswer:
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=DEADLINE)) as session,
                session.post(url, data=body, headers=self.sign(body)) as answer,
            ):
                status, text = answer.status, await answer.text()
        except (ClientError, TimeoutError) as error:
            self._slack.violate(f"no answer to a command: {type(error).__name__}")
            return SlackAnswer(status=0, body=None, seconds=loop.time() - start, late=True, response_url=response_url)
        value = json.loads(text) if text.startswith("{") else None
        if value:
            self._show(value, response_url)
        seconds = loop.time() - start
        return SlackAnswer(status=status, body=value, seconds=seconds, late=False, response_url=response_url, text=text)

    def _show(self, body: Json, response_url: str) -> None:
        """Put an immediate answer before the person, with the rules of any other message."""
        try:
            self._store(body, self._urls[response_url.rpartition("/")[2]])
        except SlackError as error:
            self._slack.violate(f"an immediate answer was refused: {error.error} {error.more.get('errors', '')}")
