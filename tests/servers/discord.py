"""A strict Discord: the REST API under /api/v10, webhooks, interactions, and the gateway.

async with DiscordServer() as discord:
    discord.api_url, discord.messages, discord.set_permissions("200", deny=["READ_MESSAGE_HISTORY"])
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from tests.servers.discord_body import answer, read_json
from tests.servers.discord_gateway import Gateway
from tests.servers.discord_interactions import Interactions
from tests.servers.discord_messages import Messages, Webhook
from tests.servers.discord_state import (
    APPLICATION,
    BOT,
    BOT_ROLE,
    FORUM,
    GUILD,
    PERMISSIONS,
    TEXT,
    DiscordError,
    DiscordMessage,
    Guild,
    user_json,
)
from tests.servers.faults import Fault, Json
from tests.servers.journal import Clock, Journal, wall_clock
from tests.servers.loopback import LoopbackServer
from tests.servers.rates import RateLimit

Api = Callable[[web.Request], Awaitable[Any]]
AGENT = re.compile(r"DiscordBot \(\S+?,? \S+\).*")  # documented with a comma; clients that leave it out are let in
PROVEN_BY_PATH = re.compile(r"/api/v10/(?:webhooks/\d+/|interactions/)")
NONCE_WINDOW = 300.0  # seconds; the documentation says "the past few minutes"


class DiscordServer(LoopbackServer):
    """One guild (100) with channel 200 for text and 201 for forum posts, one bot (900), people 500 and 501."""

    name = "discord"

    def __init__(
        self,
        *,
        port: int = 0,
        journal: Journal | None = None,
        clock: Clock = wall_clock,
        bot_token: str = "discord-test-bot-token",
        nonce_window: float = NONCE_WINDOW,
    ) -> None:
        super().__init__(port=port, journal=journal, clock=clock)
        self.bot_token = bot_token
        self.nonce_window = nonce_window
        self.token_revoked = False
        self.history_lag = 0.0  # seconds until a stored message shows in the history
        self.limit = RateLimit(clock, burst=5)  # messages, each channel and webhook by itself
        self.invalid_requests = 0  # 401, 403 and 429: 10,000 in ten minutes ban an address
        self.guild = Guild()
        self.guild.add_channel("200", "news")
        self.guild.add_channel("201", "forum", type=FORUM)
        self.posts = Messages(self)
        self.users = Interactions(self)
        self.gateway = Gateway(self)

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/v10"

    @property
    def messages(self) -> list[DiscordMessage]:
        """All that stands in channels now, oldest first; not what only one person sees."""
        return [message for message in self.guild.messages if not message.deleted and not message.is_ephemeral]

    @property
    def pings(self) -> list[str]:
        return [ping for message in self.guild.messages for ping in message.pings]

    def in_channel(self, channel: str) -> list[DiscordMessage]:
        return [message for message in self.messages if message.channel == channel]

    def messages_json(self) -> list[Json]:
        return [message.to_json() for message in self.guild.messages]

    def add_channel(self, id: str, name: str = "news", type: int = TEXT) -> Json:
        return self.guild.add_channel(id, name, type=type).to_json()

    def add_webhook(self, channel: str, id: str = "800", token: str = "hook-token") -> str:
        """Return the URL of a new webhook."""
        self.posts.webhooks[id] = Webhook(id=id, token=token, channel=channel)
        return f"{self.api_url}/webhooks/{id}/{token}"

    def set_permissions(self, channel: str, *, allow: list[str] | None = None, deny: list[str] | None = None) -> None:
        """Set the overwrites of the bot's role in a channel, by the permissions' names."""
        found = self.guild.channels[channel]
        found.allow = sum(PERMISSIONS[name] for name in allow or ())
        found.deny = sum(PERMISSIONS[name] for name in deny or ())

    def delete_message(self, channel: str, id: str) -> None:
        """Delete a message as a moderator would."""
        self.guild.swap(self.guild.find(channel, id), deleted=True)
        self.note("deleted", channel=channel, id=id)

    def set(
        self,
        *,
        token_revoked: bool = False,
        nonce_window: float = NONCE_WINDOW,
        per_second: float | None = None,
        burst: int = 5,
        sessions_left: int = 1000,
        history_lag: float = 0.0,
        heartbeat_interval: float = 41.25,
    ) -> None:
        """Set all knobs at once; what is left out goes back to normal."""
        self.token_revoked, self.nonce_window = token_revoked, nonce_window
        self.limit.per_second, self.limit.burst = per_second, burst
        self.gateway.sessions_left, self.gateway.heartbeat_interval = sessions_left, heartbeat_interval
        self.history_lag = history_lag

    def actions(self) -> dict[str, Callable[..., object]]:
        return {
            "add_channel": self.add_channel,
            "add_webhook": self.add_webhook,
            "delete_channel": lambda channel: self.guild.channels.pop(channel, None) and None,
            "delete_webhook": lambda id: self.posts.webhooks.pop(id, None) and None,
            "delete_message": self.delete_message,
            "set_permissions": self.set_permissions,
            "set": self.set,
            "command": self.users.command_json,
            "command_over_http": self.users.command_over_http_json,
            "press": self.users.press_json,
            "reconnect": self.gateway.reconnect,
            "invalidate": self.gateway.invalidate,
            "drop": self.gateway.drop,
            "freeze": self.gateway.freeze,
        }

    def routes(self) -> list[web.AbstractRouteDef]:
        table: list[tuple[str, str, Api]] = [
            ("GET", "/users/@me", self._me),
            ("GET", "/users/{id}", self._user),
            ("POST", "/users/@me/channels", self._open_dm),
            ("GET", "/oauth2/applications/@me", self._application),
            ("GET", "/applications/@me", self._application),
            ("GET", "/channels/{channel}", self._channel),
            ("GET", "/guilds/{guild}", self._guild),
            ("GET", "/guilds/{guild}/roles", self._roles),
            ("GET", "/guilds/{guild}/channels", self._channels),
            ("GET", "/guilds/{guild}/members/{member}", self._member),
            ("GET", "/gateway", self.gateway.address),
            ("GET", "/gateway/bot", self.gateway.address_for_bots),
        ]
        table += self.posts.table() + self.users.table()
        routes: list[web.AbstractRouteDef] = [
            web.route(method, "/api/v10" + path, self._guarded(handler)) for method, path, handler in table
        ]
        return [*routes, web.get("/gateway", self.gateway.connect), web.get("/gateway/", self.gateway.connect)]

    def rate_answer(self, retry_after: str | None, *, scope: str = "user", everywhere: bool = False) -> web.Response:
        """Answer 429. In the body the wait is a float; the header is what the fault spells."""
        self.invalid_requests += scope != "shared"
        try:
            seconds = float(retry_after or "")
        except ValueError:
            seconds = 1.0
        headers = {"Via": "1.1 google", "X-RateLimit-Scope": scope}
        if retry_after is not None:
            headers["Retry-After"] = retry_after
        if everywhere:
            headers["X-RateLimit-Global"] = "true"
        body = {"message": "You are being rate limited.", "retry_after": seconds, "global": everywhere}
        return answer(body, 429, headers)

    def error_answer(self, fault: Fault) -> web.Response:
        code = int(fault.error) if fault.error.isdigit() else 0
        self.invalid_requests += fault.status in (401, 403)
        return answer({"message": "made up by a test", "code": code}, fault.status, fault.headers)

    def _guarded(self, handler: Api) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def call(request: web.Request) -> web.StreamResponse:
            try:
                self._authorise(request)
                value = await handler(request)
            except DiscordError as error:
                self.invalid_requests += error.status in (401, 403)
                self.note("answer", line=f"{request.method} {request.path}", status=error.status, code=error.code)
                return answer(error.to_json(), error.status)
            if isinstance(value, web.Response):
                return value
            return web.Response(status=204) if value is None else answer(value, 200, self._rate_headers(request))

        return call

    def _authorise(self, request: web.Request) -> None:
        named = AGENT.fullmatch(request.headers.get("User-Agent", "")) is not None
        if PROVEN_BY_PATH.match(request.path):
            # The documentation wants the agent's name here too, but Discord lets those in that lack it.
            if not named and not request.path.startswith(
                ("/api/v10/interactions/", f"/api/v10/webhooks/{APPLICATION}/")
            ):
                self.violate("a webhook was called without a DiscordBot user agent")
            return
        if not named:
            raise DiscordError(403, 40333, "internal network error")
        if request.path == "/api/v10/gateway":
            return
        if self.token_revoked or request.headers.get("Authorization") != f"Bot {self.bot_token}":
            raise DiscordError(401, 0, "401: Unauthorized")

    def _rate_headers(self, request: web.Request) -> dict[str, str]:
        bucket = re.sub(r"\d{15,}", "id", request.path)
        return {
            "X-RateLimit-Limit": "5",
            "X-RateLimit-Remaining": "4",
            "X-RateLimit-Reset": f"{self.clock() + 1:.3f}",
            "X-RateLimit-Reset-After": "1.000",
            "X-RateLimit-Bucket": f"{hash(bucket) & 0xFFFFFFFF:08x}",
        }

    async def _me(self, request: web.Request) -> Json:
        return user_json(BOT)

    async def _user(self, request: web.Request) -> Json:
        id = request.match_info["id"]
        if id not in self.guild.users | {BOT}:
            raise DiscordError(404, 10013, "Unknown User")
        return user_json(id)

    async def _application(self, request: web.Request) -> Json:
        return {
            "id": APPLICATION,
            "name": "feedbell",
            "description": "",
            "icon": None,
            "bot_public": False,
            "bot_require_code_grant": False,
            "verify_key": self.users.public_key,
            "flags": 0,
            "owner": user_json("501"),
            "team": None,
            "summary": "",
        }

    async def _open_dm(self, request: web.Request) -> Json:
        body = await read_json(request)
        return self.guild.open_dm(str(body.get("recipient_id"))).to_json()

    async def _channel(self, request: web.Request) -> Json:
        return self.guild.visible(request.match_info["channel"]).to_json()

    def _known_guild(self, request: web.Request) -> None:
        if request.match_info["guild"] != GUILD:
            raise DiscordError(404, 10004, "Unknown Guild")

    async def _guild(self, request: web.Request) -> Json:
        self._known_guild(request)
        return {"id": GUILD, "name": "Test Guild", "owner_id": "501", "roles": self.role_rows(), "features": []}

    async def _roles(self, request: web.Request) -> list[Json]:
        self._known_guild(request)
        return self.role_rows()

    async def _channels(self, request: web.Request) -> list[Json]:
        self._known_guild(request)
        return [channel.to_json() for channel in self.guild.channels.values() if channel.guild]

    async def _member(self, request: web.Request) -> Json:
        self._known_guild(request)
        id = request.match_info["member"]
        if id not in self.guild.users | {BOT}:
            raise DiscordError(404, 10007, "Unknown Member")
        return {"user": user_json(id), "roles": [BOT_ROLE] if id == BOT else [], "nick": None, "flags": 0}

    def role_rows(self) -> list[Json]:
        plain: Json = {"color": 0, "hoist": False, "position": 0, "managed": False, "mentionable": False}
        everyone = plain | {"id": GUILD, "name": "@everyone", "permissions": "0"}
        own = plain | {"id": BOT_ROLE, "name": "feedbell", "permissions": str(self.guild.permissions), "managed": True}
        return [everyone, own]
