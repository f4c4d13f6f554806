"""People in Discord: they type commands and press buttons; and the application's own commands and answers."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import ClientError, ClientSession, ClientTimeout, web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.servers.discord_body import read_json
from tests.servers.discord_limits import command_errors
from tests.servers.discord_messages import judge
from tests.servers.discord_state import APPLICATION, GUILD, NORMAL, DiscordError, DiscordMessage, user_json
from tests.servers.faults import Json

if TYPE_CHECKING:
    from tests.servers.discord import DiscordServer

Api = Callable[[web.Request], Awaitable[Any]]
DEADLINE = 3.0  # seconds until the first answer
TOKEN_LIFE = 15 * 60.0
LOADING = 128  # the flag of a deferred answer
KINDS = {"command": 2, "press": 3, "autocomplete": 4}
FIRST_ANSWERS = {1: (1,), 2: (4, 5, 9), 3: (4, 5, 6, 7, 9), 4: (8,)}  # interaction type -> callback types


@dataclass(slots=True, kw_only=True)
class Asked:
    """One interaction and what became of it; `late` is what the person reads as "did not respond"."""

    id: str
    token: str
    type: int
    channel: str
    at: float
    callback: Json | None = None
    messages: list[str] = field(default_factory=list)  # ids; first what @original means
    seconds: float = 0.0
    late: bool = False
    status: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def to_json(self) -> Json:
        return {name: getattr(self, name) for name in self.__slots__ if name != "done"}


class Interactions:
    """Acts for the people of the guild, and serves what the application answers them."""

    def __init__(self, discord: DiscordServer) -> None:
        self.commands: dict[str, list[Json]] = {}  # guild id or "" -> commands
        self.command_writes = 0
        self._discord = discord
        self._key = Ed25519PrivateKey.generate()
        self._asked: dict[str, Asked] = {}  # by token
        self._count = itertools.count(1)

    @property
    def public_key(self) -> str:
        return self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    def table(self) -> list[tuple[str, str, Api]]:
        own = "/applications/{application}"
        return [
            ("GET", own + "/commands", self._get_commands),
            ("PUT", own + "/commands", self._put_commands),
            ("GET", own + "/guilds/{guild}/commands", self._get_commands),
            ("PUT", own + "/guilds/{guild}/commands", self._put_commands),
            ("POST", "/interactions/{id}/{token}/callback", self._callback),
        ]

    async def command(self, name: str, options: list[Json] | None = None, **more: Any) -> Asked:
        """Type a slash command; it travels over the gateway. Returns after the first answer or three seconds."""
        return await self._by_gateway("command", self._typed(name, options), more)

    async def autocomplete(self, name: str, options: list[Json], **more: Any) -> Asked:
        return await self._by_gateway("autocomplete", self._typed(name, options), more)

    async def press(self, custom_id: str, **more: Any) -> Asked:
        """Press a button that an earlier answer showed."""
        return await self._by_gateway("press", {"custom_id": custom_id, "component_type": 2}, more)

    async def command_over_http(
        self, url: str, name: str, options: list[Json] | None = None, *, kind: str = "command", **more: Any
    ) -> Asked:
        """Type a command (or with `kind` autocomplete, half of one); it is posted to `url`, signed."""
        return await self.post(url, *self.make(kind, self._typed(name, options), **more))

    async def press_over_http(self, url: str, custom_id: str, **more: Any) -> Asked:
        return await self.post(url, *self.make("press", {"custom_id": custom_id, "component_type": 2}, **more))

    async def command_json(self, **args: Any) -> Json:
        return (await self.command(**args)).to_json()

    async def press_json(self, **args: Any) -> Json:
        return (await self.press(**args)).to_json()

    async def command_over_http_json(self, **args: Any) -> Json:
        return (await self.command_over_http(**args)).to_json()

    def sign(self, body: bytes, *, at: float | None = None) -> dict[str, str]:
        """Return the headers of a request that Discord would send with this body."""
        stamp = str(int(self._discord.clock() if at is None else at))
        return {
            "Content-Type": "application/json",
            "X-Signature-Timestamp": stamp,
            "X-Signature-Ed25519": self._key.sign(stamp.encode() + body).hex(),
            "User-Agent": "Discord-Interactions/1.0 (+https://discord.com)",
        }

    def make(self, kind: str, data: Json, *, user: str = "500", channel: str = "200") -> tuple[Asked, Json]:
        """Return a new interaction and its payload, without sending it."""
        now = self._discord.clock()
        id = self._discord.guild.next_id(now)
        token = f"interaction-token-{next(self._count)}"
        asked = Asked(id=id, token=token, type=KINDS[kind], channel=channel, at=now)
        self._asked[token] = asked
        payload: Json = {
            "id": id,
            "application_id": APPLICATION,
            "type": asked.type,
            "data": data,
            "token": token,
            "version": 1,
            "channel_id": channel,
            "channel": self._discord.guild.channels[channel].to_json() | {"permissions": str(NORMAL)},
            "app_permissions": str(NORMAL),
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {"0": GUILD},
            "context": 0,
            "attachment_size_limit": 10_485_760,
        }
        member: Json = {"user": user_json(user), "roles": [], "permissions": str(NORMAL), "joined_at": None, "flags": 0}
        member |= {"deaf": False, "mute": False, "nick": None, "premium_since": None}
        if self._discord.guild.channels[channel].recipient:
            payload |= {"user": user_json(user), "context": 1}
        else:
            payload |= {"guild_id": GUILD, "guild_locale": "en-US", "member": member}
        if kind == "press":
            payload["message"] = self._last_message(channel)
            asked.messages.append(str(payload["message"]["id"]))
        return asked, payload

    async def post(self, url: str, asked: Asked, payload: Json) -> Asked:
        body = json.dumps(payload).encode()
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=DEADLINE)) as session,
                session.post(url, data=body, headers=self.sign(body)) as answer,
            ):
                asked.status, text = answer.status, await answer.text()
        except (ClientError, TimeoutError) as error:
            self._discord.violate(f"no answer to an interaction: {type(error).__name__}")
            asked.late = True
            return asked
        asked.seconds = loop.time() - start
        if asked.status == 200:
            try:
                self._take(asked, json.loads(text))
            except DiscordError as error:
                self._discord.violate(f"an immediate answer was refused: {error} {error.errors}")
        return asked

    def is_token(self, request: web.Request) -> bool:
        return request.match_info["id"] == APPLICATION

    def follow_up(self, request: web.Request, body: Json) -> Json:
        asked = self._alive(request.match_info["token"])
        if asked.callback is None:
            raise DiscordError(404, 10015, "Unknown Webhook")
        judge(body)
        flags = 64 if int(body.get("flags") or 0) & 64 else 0
        return self._store(asked, body, flags).to_api()

    def answered(self, request: web.Request, wanted: str) -> DiscordMessage:
        """Return an answer of an interaction by its id or `@original`; a deferred one comes to life when edited."""
        asked = self._alive(request.match_info["token"])
        if wanted != "@original":
            return self._discord.guild.find(asked.channel, wanted)
        if not asked.messages:
            raise DiscordError(404, 10008, "Unknown Message")
        return self._discord.guild.find(asked.channel, asked.messages[0])

    async def _by_gateway(self, kind: str, data: Json, more: Json) -> Asked:
        asked, payload = self.make(kind, data, **more)
        loop = asyncio.get_running_loop()
        start = loop.time()
        if await self._discord.gateway.dispatch("INTERACTION_CREATE", payload) == 0:
            self._discord.violate("no session for an interaction")
        try:
            await asyncio.wait_for(asked.done.wait(), DEADLINE)
        except TimeoutError:
            asked.late = True
            self._discord.violate(f"no answer to interaction {asked.id} within {DEADLINE} s")
        asked.seconds = loop.time() - start
        self._discord.note("interaction", **asked.to_json())
        return asked

    def _typed(self, name: str, options: list[Json] | None) -> Json:
        """Return a command as typed; it carries the id it was registered under."""
        known = [command for commands in self.commands.values() for command in commands if command["name"] == name]
        return {"id": known[0]["id"] if known else "600", "name": name, "type": 1, "options": options or []}

    def _alive(self, token: str) -> Asked:
        asked = self._asked.get(token)
        if asked is None or asked.late or self._discord.clock() - asked.at > TOKEN_LIFE:
            raise DiscordError(401, 50027, "Invalid Webhook Token")
        return asked

    async def _callback(self, request: web.Request) -> Json | None:
        body = await read_json(request)
        asked = self._asked.get(request.match_info["token"])
        if asked is None or asked.late or asked.id != request.match_info["id"]:
            raise DiscordError(404, 10062, "Unknown interaction")
        self._take(asked, body)
        if request.query.get("with_response", "").lower() not in ("true", "1"):
            return None
        shown: Json = {"interaction": {"id": asked.id, "type": asked.type}}
        if asked.messages:
            message = self._discord.guild.find(asked.channel, asked.messages[-1])
            shown["interaction"]["response_message_id"] = message.id
            shown["resource"] = {"type": body["type"], "message": message.to_api()}
        return shown

    def _take(self, asked: Asked, body: Json) -> None:
        """Judge and perform the first answer."""
        if asked.callback is not None:
            raise DiscordError(400, 40060, "Interaction has already been acknowledged.")
        kind, content = body.get("type"), body.get("data") or {}
        if kind not in FIRST_ANSWERS[asked.type]:
            raise DiscordError(400, 50035, "Invalid Form Body", {"type": {"_errors": [{"code": "BASE_TYPE_CHOICES"}]}})
        if kind in (4, 7):
            judge(content)
        if kind == 8 and len(content.get("choices") or []) > 25:
            raise DiscordError(400, 50035, "Invalid Form Body", {"data": {"choices": {"_errors": []}}})
        asked.callback = body
        if kind in (4, 5):
            asked.messages.clear()
            self._store(asked, content, LOADING if kind == 5 else 0)
        if kind == 7:
            self._discord.posts.change(self._discord.guild.find(asked.channel, asked.messages[0]), content)
        asked.done.set()

    def _store(self, asked: Asked, body: Json, flags: int) -> DiscordMessage:
        channel = self._discord.guild.channels[asked.channel]
        message = self._discord.posts.store(channel, body, via="interaction", flags=flags)
        asked.messages.append(message.id)
        return message

    def _last_message(self, channel: str) -> Json:
        found = [message for message in self._discord.guild.messages if message.channel == channel]
        return found[-1].to_api() if found else {"id": "1", "channel_id": channel}

    def _scope(self, request: web.Request) -> str:
        if request.match_info["application"] != APPLICATION:
            raise DiscordError(404, 10002, "Unknown Application")
        return request.match_info.get("guild", "")

    async def _get_commands(self, request: web.Request) -> list[Json]:
        return self.commands.get(self._scope(request), [])

    async def _put_commands(self, request: web.Request) -> list[Json]:
        scope = self._scope(request)
        try:
            commands = json.loads(await request.read())
        except ValueError:
            raise DiscordError(400, 50109, "The request body contains invalid JSON.") from None
        errors = command_errors(commands)
        if errors:
            raise DiscordError(400, 50035, "Invalid Form Body", errors)
        self.command_writes += 1
        guild = {"guild_id": scope} if scope else {}
        common: Json = {"application_id": APPLICATION, "version": "1", "type": 1, "default_member_permissions": None}
        self.commands[scope] = [
            {"id": str(600 + number), **common, **guild, **command} for number, command in enumerate(commands)
        ]
        self._discord.note("commands", scope=scope, names=[command["name"] for command in commands])
        return self.commands[scope]
