"""A strict Slack: the Web API under /api/, incoming webhooks, response URLs, and Socket Mode.

async with SlackServer() as slack:
    slack.api_url, slack.messages, slack.faults.add(Fault(kind="rst", store=True, match="chat.postMessage"))
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable

from aiohttp import web

from tests.servers.faults import Fault, Json
from tests.servers.journal import Clock, Journal, wall_clock
from tests.servers.loopback import LoopbackServer, Received
from tests.servers.rates import RateLimit
from tests.servers.slack_args import call_arguments
from tests.servers.slack_methods import METHODS, WRITES, make_message
from tests.servers.slack_socket import SocketMode
from tests.servers.slack_state import Channel, SlackError, SlackMessage, Workspace
from tests.servers.slack_users import SlackUsers

SCOPES = frozenset(
    "chat:write commands channels:read channels:history groups:read groups:history im:read im:write im:history".split()
)
WEBHOOK_STATUS = {"action_prohibited": 403, "channel_not_found": 404, "is_archived": 410, "no_service": 404}


class SlackServer(LoopbackServer):
    """One workspace with one app in it. Channels #ai-networking, #ops and #general are there from the start."""

    name = "slack"

    def __init__(
        self,
        *,
        port: int = 0,
        journal: Journal | None = None,
        clock: Clock = wall_clock,
        bot_token: str = "xoxb-test-bot",
        app_token: str = "xapp-test-app",
        signing_secret: str = "test-signing-secret",
        scopes: Iterable[str] = SCOPES,
    ) -> None:
        super().__init__(port=port, journal=journal, clock=clock)
        self.bot_token = bot_token
        self.app_token = app_token
        self.scopes = set(scopes)
        self.auth_error: str | None = None  # token_revoked, account_inactive ... for every call from now on
        self.history_lag = 0.0  # seconds until a stored message shows in the history
        self.edit_window_closed = False
        self.limit = RateLimit(clock)  # chat.postMessage and webhooks, each channel by itself
        self.team = Workspace()
        self.webhooks: dict[str, str] = {}  # path -> channel id
        self.socket = SocketMode(self)
        self.users = SlackUsers(self, signing_secret)
        for name in ("ai-networking", "ops", "general"):
            self.team.add_channel(name)
        for id, person in (("U0FEEDBELL", "feedbell"), ("U0READER", "reader"), ("U0ADMIN", "admin")):
            self.team.add_user(id, person, bot=id == "U0FEEDBELL")

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    @property
    def messages(self) -> list[SlackMessage]:
        """All that stands in channels now, oldest first; not what only one person sees."""
        return [message for message in self.team.messages if not message.deleted and not message.ephemeral_to]

    @property
    def pings(self) -> list[str]:
        return [ping for message in self.team.messages for ping in message.pings]

    def in_channel(self, channel: str) -> list[SlackMessage]:
        """Return what stands in a channel named by id or name, oldest first."""
        wanted = channel.lstrip("#")
        ids = {found.id for found in self.team.channels.values() if wanted in (found.id, found.name)}
        return [message for message in self.messages if message.channel in ids]

    def messages_json(self) -> list[Json]:
        return [message.to_json() for message in self.team.messages]

    def add_webhook(self, channel: str, path: str = "T0TEAM/B0HOOK/secret") -> str:
        """Return the URL of a new incoming webhook to a channel's id."""
        self.webhooks[path] = channel
        return f"{self.url}/services/{path}"

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.route("*", "/api/{method}", self._call),
            web.post("/services/{path:.+}", self._webhook),
            web.post("/commands/{id}", self.users.respond),
            web.get("/link/", self.socket.connect),
        ]

    def need_scope(self, scope: str) -> None:
        if scope not in self.scopes:
            raise SlackError("missing_scope", needed=scope, provided=",".join(sorted(self.scopes)))

    def rate_key(self, received: Received) -> str:
        return f"{received.path} {_channel_of(received)}"

    def rate_answer(self, retry_after: str | None) -> web.Response:
        headers = {} if retry_after is None else {"Retry-After": retry_after}
        return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)

    def error_answer(self, fault: Fault) -> web.Response:
        return web.json_response({"ok": False, "error": fault.error}, headers=fault.headers)

    def actions(self) -> dict[str, Callable[..., object]]:
        return {
            "add_channel": self._add_channel,
            "add_webhook": self.add_webhook,
            "set_channel": self.set_channel,
            "set": self.set,
            "delete": self._delete,
            "disconnect": self.socket.disconnect,
            "freeze": self.socket.freeze,
            "slash": self.users.slash_json,
            "press": self.users.press_json,
            "slash_over_http": self.users.slash_over_http_json,
        }

    def set(
        self,
        *,
        auth_error: str | None = None,
        history_lag: float = 0.0,
        per_second: float | None = None,
        burst: int = 1,
        scopes: list[str] | None = None,
    ) -> None:
        """Set all knobs at once; what is left out goes back to normal."""
        self.auth_error, self.history_lag = auth_error, history_lag
        self.limit.per_second, self.limit.burst = per_second, burst
        self.scopes = set(SCOPES if scopes is None else scopes)

    def set_channel(self, channel: str, **changes: object) -> Json:
        """Change `archived`, `member`, `private`, `name` or `may_post` of a channel."""
        found = self.team.channels[channel]
        for key, value in changes.items():
            if key not in Channel.__slots__:
                raise ValueError(f"a channel has no {key}")
            setattr(found, key, value)
        return found.to_json()

    def _add_channel(self, name: str, **more: object) -> Json:
        return self.team.add_channel(name, **more).to_json()  # type: ignore[arg-type]  # JSON from another process

    def _delete(self, channel: str, ts: str) -> None:
        self.team.swap(self.team.find(channel, ts), deleted=True)
        self.note("deleted", channel=channel, ts=ts)

    async def _call(self, request: web.Request) -> web.Response:
        try:
            answer: Json = {"ok": True, **await self._dispatch(request)}
        except SlackError as error:
            if error.error == "ratelimited":
                return self.rate_answer(str(error.more["retry_after"]))
            answer = {"ok": False, "error": error.error, **error.more}
        self.note("answer", method=request.match_info["method"], ok=answer["ok"], error=answer.get("error"))
        return web.json_response(answer, headers={"x-oauth-scopes": ",".join(sorted(self.scopes))})

    async def _dispatch(self, request: web.Request) -> Json:
        name = request.match_info["method"]
        args = await call_arguments(request)
        bearer = request.headers.get("Authorization", "")
        token = bearer.removeprefix("Bearer ") if bearer else args.get("token")
        if name == "apps.connections.open":
            return self.socket.open(bearer.removeprefix("Bearer "), request.method)
        if name not in METHODS:
            raise SlackError("unknown_method", req_method=name)
        self._authorise(str(token or ""))
        if name in WRITES and request.method != "POST":
            self.violate(f"{name} called by {request.method}")
        if name == "chat.postMessage":
            self._limit(str(args.get("channel")))
        return METHODS[name](self, args)

    def _authorise(self, token: str) -> None:
        if not token:
            raise SlackError("not_authed")
        if token == self.app_token:
            raise SlackError("not_allowed_token_type")
        if token != self.bot_token:
            raise SlackError("invalid_auth")
        if self.auth_error:
            raise SlackError(self.auth_error)

    def _limit(self, channel: str) -> None:
        wait = self.limit.wait_for(channel)
        if wait:
            raise SlackError("ratelimited", retry_after=math.ceil(wait))

    async def _webhook(self, request: web.Request) -> web.Response:
        try:
            await self._post_by_webhook(request)
        except SlackError as error:
            if error.error == "ratelimited":
                return self.rate_answer(str(error.more["retry_after"]))
            text = "channel_is_archived" if error.error == "is_archived" else error.error
            self.note("answer", method="webhook", ok=False, error=text)
            return web.Response(status=WEBHOOK_STATUS.get(error.error, 400), text=text, content_type="text/html")
        return web.Response(text="ok", content_type="text/html")

    async def _post_by_webhook(self, request: web.Request) -> None:
        channel_id = self.webhooks.get(request.match_info["path"])
        if channel_id is None:
            raise SlackError("no_service")
        args = await webhook_arguments(request)
        channel = self.team.visible(channel_id)
        if channel.archived:
            raise SlackError("is_archived")
        self._limit(channel.id)
        if "metadata" in args:
            self.violate("metadata sent to an incoming webhook, which has none")
        if "channel" in args:
            self.violate("an incoming webhook cannot choose its channel")
        make_message(self, channel, {**args, "metadata": None}, via="webhook")


async def webhook_arguments(request: web.Request) -> Json:
    try:
        args = await call_arguments(request)
    except SlackError:
        raise SlackError("invalid_payload") from None
    if isinstance(args.get("payload"), str):
        try:
            args = json.loads(args["payload"])
        except ValueError:
            raise SlackError("invalid_payload") from None
    if not isinstance(args, dict):
        raise SlackError("invalid_payload")
    return args


def _channel_of(received: Received) -> str:
    """Return the channel a call names, for limits that each channel has by itself."""
    try:
        value = json.loads(received.body)
    except ValueError:
        text = received.body.decode("latin-1")
        return next((part for part in text.split("&") if part.startswith("channel=")), "")
    return str(value.get("channel", "")) if isinstance(value, dict) else ""
