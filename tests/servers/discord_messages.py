"""Messages over Discord's REST API: by the bot, by webhooks, and as answers to interactions."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.servers.discord_body import read_json
from tests.servers.discord_limits import EMBED_KEYS, is_empty_embed, message_errors
from tests.servers.discord_state import (
    BOT,
    GUILD,
    DiscordChannel,
    DiscordError,
    DiscordMessage,
    message_pings,
    user_json,
)
from tests.servers.faults import Json

if TYPE_CHECKING:
    from tests.servers.discord import DiscordServer

Api = Callable[[web.Request], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    id: str
    token: str
    channel: str


class Messages:
    """Judges, stores, finds and edits messages."""

    def __init__(self, discord: DiscordServer) -> None:
        self.webhooks: dict[str, Webhook] = {}
        self._discord = discord
        self._nonces: dict[tuple[str, str], tuple[float, str, str]] = {}  # (author, nonce) -> time, channel, id
        self._gone: set[str] = set()  # webhooks that answered 404

    def table(self) -> list[tuple[str, str, Api]]:
        one = "/channels/{channel}/messages/{message}"
        hook = "/webhooks/{id}/{token}"
        return [
            ("POST", "/channels/{channel}/messages", self.create),
            ("GET", "/channels/{channel}/messages", self.history),
            ("GET", one, self.get),
            ("PATCH", one, self.edit),
            ("DELETE", one, self.delete),
            ("POST", hook, self.execute),
            ("GET", hook, self.webhook),
            ("GET", hook + "/messages/{message}", self.get_by_webhook),
            ("PATCH", hook + "/messages/{message}", self.edit_by_webhook),
            ("DELETE", hook + "/messages/{message}", self.delete_by_webhook),
        ]

    async def create(self, request: web.Request) -> Json | web.Response:
        body = await read_json(request)
        channel = self._discord.guild.to_post_in(request.match_info["channel"])
        limited = self._limited(channel.id)
        if limited is not None:
            return limited
        judge(body)
        nonce = None if body.get("nonce") is None else str(body["nonce"])
        if nonce and body.get("enforce_nonce") and (known := self._known(nonce)):
            return known.to_api(with_nonce=True)
        message = self.store(channel, body, via="api")
        if nonce:
            self._nonces[BOT, nonce] = (self._discord.clock(), channel.id, message.id)
        return message.to_api(with_nonce=True)

    def store(
        self, channel: DiscordChannel, body: Json, *, via: str, webhook_id: str | None = None, flags: int = 0
    ) -> DiscordMessage:
        """Store a judged message; embeds vanish where the bot may not embed links."""
        guild, now = self._discord.guild, self._discord.clock()
        embeds = [embed for embed in body.get("embeds") or [] if not is_empty_embed(embed)]
        if via == "api" and not guild.may(channel, "EMBED_LINKS"):
            embeds = []
            if not str(body.get("content") or "").strip():
                raise DiscordError(400, 50006, "Cannot send an empty message")
        for embed in embeds:
            for odd in sorted(set(embed) - EMBED_KEYS):
                self._discord.violate(f"an embed has no {odd!r}; Discord ignores it")
        content, allowed = str(body.get("content") or "").strip(), body.get("allowed_mentions")
        everyone = via != "api" or guild.may(channel, "MENTION_EVERYONE")
        message = DiscordMessage(
            channel=channel.id,
            id=guild.next_id(now),
            content=content,
            embeds=embeds,
            components=_numbered(body.get("components") or []),
            nonce=None if body.get("nonce") is None else str(body["nonce"]),
            author=webhook_id or BOT,
            webhook_id=webhook_id,
            via=via,
            flags=int(body.get("flags") or 0) | flags,
            pings=message_pings(content, allowed, via=via, everyone=everyone),
            allowed_mentions=allowed,
            stored_at=now,
        )
        guild.messages.append(message)
        if not message.is_ephemeral:
            channel.last_message_id = message.id
        self._discord.note("stored", message=message.to_json())
        return message

    async def history(self, request: web.Request) -> list[Json]:
        guild, query = self._discord.guild, request.query
        channel = guild.visible(request.match_info["channel"])
        limit = query.get("limit", "50")
        if not limit.isdigit() or not 1 <= int(limit) <= 100:
            raise DiscordError(400, 50035, "Invalid Form Body", {"limit": {"_errors": [{"code": "NUMBER_TYPE_MAX"}]}})
        for key in ("after", "before", "around"):
            if key in query and not query[key].isdigit():
                raise DiscordError(
                    400, 50035, "Invalid Form Body", {key: {"_errors": [{"code": "NUMBER_TYPE_COERCE"}]}}
                )
        if not guild.may(channel, "READ_MESSAGE_HISTORY"):
            return []  # not an error: the trap that a reader of histories must know
        found = guild.listed(channel.id, until=self._discord.clock() - self._discord.history_lag)
        if "before" in query:
            found = [message for message in found if int(message.id) < int(query["before"])]
        if "after" in query:
            found = [message for message in found if int(message.id) > int(query["after"])][-int(limit) :]
        return [message.to_api() for message in found[: int(limit)]]

    async def get(self, request: web.Request) -> Json:
        guild = self._discord.guild
        channel = guild.visible(request.match_info["channel"])
        if not guild.may(channel, "READ_MESSAGE_HISTORY"):
            raise DiscordError(403, 50001, "Missing Access")
        return guild.find(channel.id, request.match_info["message"]).to_api()

    async def edit(self, request: web.Request) -> Json:
        channel = self._discord.guild.visible(request.match_info["channel"])
        old = self._discord.guild.find(channel.id, request.match_info["message"])
        if old.author != BOT:
            raise DiscordError(403, 50005, "Cannot edit a message authored by another user")
        return self.change(old, await read_json(request)).to_api()

    def change(self, old: DiscordMessage, body: Json) -> DiscordMessage:
        """Edit a message; what the body does not name stays."""
        merged = {"content": old.content, "embeds": old.embeds, "components": old.components, **body}
        judge(merged)
        content = str(merged.get("content") or "").strip()
        allowed = body.get("allowed_mentions")
        new = self._discord.guild.swap(
            old,
            content=content,
            embeds=[embed for embed in merged.get("embeds") or [] if not is_empty_embed(embed)],
            components=_numbered(merged.get("components") or []),
            pings=old.pings + message_pings(content, allowed, via=old.via, everyone=True),
            flags=old.flags & ~128,  # a deferred answer is no longer loading
            edited_at=self._discord.clock(),
            edits=(*old.edits, {"content": old.content, "embeds": old.embeds}),
        )
        self._discord.note("edited", message=new.to_json())
        return new

    async def delete(self, request: web.Request) -> None:
        self._discord.delete_message(request.match_info["channel"], request.match_info["message"])

    async def execute(self, request: web.Request) -> Json | web.Response | None:
        body = await read_json(request)
        if self._discord.users.is_token(request):
            return self._discord.users.follow_up(request, body)
        hook = self._webhook(request)
        limited = self._limited(hook.id)
        if limited is not None:
            return limited
        judge(body)
        if "nonce" in body:
            self._discord.violate("a nonce sent to a webhook, which ignores it")
        channel = self._discord.guild.channels.get(hook.channel)
        if channel is None:
            raise DiscordError(404, 10015, "Unknown Webhook")
        message = self.store(channel, body, via="webhook", webhook_id=hook.id)
        return message.to_api() if request.query.get("wait", "").lower() in ("true", "1") else None

    async def webhook(self, request: web.Request) -> Json:
        hook = self._webhook(request)
        shown = {"id": hook.id, "type": 1, "token": hook.token, "channel_id": hook.channel, "guild_id": GUILD}
        return shown | {"name": "feedbell", "avatar": None, "application_id": None, "user": user_json("501")}

    async def get_by_webhook(self, request: web.Request) -> Json:
        return self._of_webhook(request).to_api()

    async def edit_by_webhook(self, request: web.Request) -> Json:
        old = self._of_webhook(request)
        return self.change(old, await read_json(request)).to_api()

    async def delete_by_webhook(self, request: web.Request) -> None:
        self._discord.guild.swap(self._of_webhook(request), deleted=True)

    def _of_webhook(self, request: web.Request) -> DiscordMessage:
        wanted = request.match_info["message"]
        if self._discord.users.is_token(request):
            return self._discord.users.answered(request, wanted)
        hook = self._webhook(request)
        found = self._discord.guild.find(hook.channel, wanted)
        if found.webhook_id != hook.id:
            raise DiscordError(404, 10008, "Unknown Message")
        return found

    def _webhook(self, request: web.Request) -> Webhook:
        id = request.match_info["id"]
        if id in self._gone:
            self._discord.violate(f"webhook {id} was used again after a 404")
        hook = self.webhooks.get(id)
        if hook is None:
            self._gone.add(id)
            raise DiscordError(404, 10015, "Unknown Webhook")
        if hook.token != request.match_info["token"]:
            raise DiscordError(401, 50027, "Invalid Webhook Token")
        return hook

    def _known(self, nonce: str) -> DiscordMessage | None:
        """Return the message that this nonce made in the past few minutes; one deleted since is an error by design."""
        found = self._nonces.get((BOT, nonce))
        if found is None or self._discord.clock() - found[0] > self._discord.nonce_window:
            return None
        self._discord.note("nonce", nonce=nonce)
        return self._discord.guild.find(found[1], found[2])

    def _limited(self, key: str) -> web.Response | None:
        wait = self._discord.limit.wait_for(key)
        if not wait:
            return None
        return self._discord.rate_answer(f"{wait:.3f}")


def judge(body: Json) -> None:
    errors = message_errors(body)
    if errors:
        raise DiscordError(400, 50035, "Invalid Form Body", errors)
    shown = [embed for embed in body.get("embeds") or [] if not is_empty_embed(embed)]
    if not str(body.get("content") or "").strip() and not shown and not body.get("components"):
        raise DiscordError(400, 50006, "Cannot send an empty message")
    if len(json.dumps(body)) > 25 * 1024 * 1024:
        raise DiscordError(413, 40005, "Request entity too large")


def _numbered(components: list[Json]) -> list[Json]:
    """Give each component the `id` that Discord returns; one that was sent stays."""
    number = 0
    rows = []
    for row in components:
        number += 1
        base = number
        items = []
        for item in row.get("components") or []:
            number += 1
            items.append({"id": number} | item)
        rows.append({"id": base} | row | {"components": items})
    return rows
