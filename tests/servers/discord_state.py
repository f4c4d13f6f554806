"""Discord in memory: guild, channels, permissions, messages, webhooks, and whom a message pings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tests.servers.faults import Json

EPOCH_MS = 1_420_070_400_000
PERMISSIONS = {
    "ADMINISTRATOR": 1 << 3,
    "VIEW_CHANNEL": 1 << 10,
    "SEND_MESSAGES": 1 << 11,
    "MANAGE_MESSAGES": 1 << 13,
    "EMBED_LINKS": 1 << 14,
    "READ_MESSAGE_HISTORY": 1 << 16,
    "MENTION_EVERYONE": 1 << 17,
    "SEND_MESSAGES_IN_THREADS": 1 << 38,
}
NORMAL = sum(PERMISSIONS[name] for name in PERMISSIONS if name not in ("ADMINISTRATOR", "MANAGE_MESSAGES"))
GUILD, BOT, BOT_ROLE, APPLICATION = "100", "900", "901", "900"
TEXT, DIRECT, THREAD, FORUM = 0, 1, 11, 15


class DiscordError(Exception):
    """An answer that is not 2xx."""

    def __init__(self, status: int, code: int, message: str, errors: Json | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.errors = errors

    def to_json(self) -> Json:
        body: Json = {"message": str(self), "code": self.code}
        return body | ({"errors": self.errors} if self.errors else {})


@dataclass(slots=True, kw_only=True)
class DiscordChannel:
    id: str
    name: str = ""
    type: int = TEXT
    guild: bool = True
    allow: int = 0  # an overwrite for the bot's role, as Discord keeps it
    deny: int = 0
    recipient: str | None = None
    last_message_id: str | None = None

    def to_json(self) -> Json:
        shown: Json = {"id": self.id, "type": self.type, "last_message_id": self.last_message_id}
        if self.recipient:
            return shown | {"recipients": [user_json(self.recipient)]}
        overwrites = [{"id": BOT_ROLE, "type": 0, "allow": str(self.allow), "deny": str(self.deny)}]
        return shown | {
            "guild_id": GUILD,
            "name": self.name,
            "position": 0,
            "nsfw": False,
            "rate_limit_per_user": 0,
            "parent_id": None,
            "topic": None,
            "permission_overwrites": overwrites if self.allow or self.deny else [],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordMessage:
    """One message as it stands now; `edits` holds what it was before, oldest first."""

    channel: str
    id: str
    content: str = ""
    embeds: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    nonce: str | None = None
    author: str = BOT
    webhook_id: str | None = None
    via: str = "api"  # api, webhook, interaction
    flags: int = 0
    pings: tuple[str, ...] = ()
    allowed_mentions: Json | None = None
    stored_at: float = 0.0
    edited_at: float | None = None
    edits: tuple[Json, ...] = ()
    deleted: bool = False

    @property
    def is_ephemeral(self) -> bool:
        return bool(self.flags & 64)

    def to_json(self) -> Json:
        return {name: getattr(self, name) for name in self.__slots__}

    def to_api(self, *, with_nonce: bool = False) -> Json:
        shown: Json = {
            "id": self.id,
            "channel_id": self.channel,
            "type": 0,
            "content": self.content,
            "embeds": [{"type": "rich"} | embed for embed in self.embeds],
            "components": self.components,
            "author": user_json(self.author),
            "timestamp": iso(self.stored_at),
            "edited_timestamp": None if self.edited_at is None else iso(self.edited_at),
            "tts": False,
            "mention_everyone": any(ping in ("@everyone", "@here") for ping in self.pings),
            "mentions": [],
            "mention_roles": [],
            "attachments": [],
            "pinned": False,
            "flags": self.flags,
        }
        if self.webhook_id:
            shown["webhook_id"] = self.webhook_id
        return shown | ({"nonce": self.nonce} if with_nonce and self.nonce else {})


def user_json(id: str) -> Json:
    return {
        "id": id,
        "username": "feedbell" if id == BOT else f"user{id}",
        "discriminator": "0",
        "global_name": None,
        "avatar": None,
        "bot": id == BOT,
    }


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")


class Guild:
    """One guild with the bot in it, its direct messages, and what everybody may do."""

    def __init__(self) -> None:
        self.permissions = NORMAL  # of the bot's role in the whole guild
        self.channels: dict[str, DiscordChannel] = {}
        self.messages: list[DiscordMessage] = []
        self.users = {"500", "501"}
        self.closed_to_dms: set[str] = set()
        self._last = 0

    def add_channel(self, id: str, name: str = "news", *, type: int = TEXT) -> DiscordChannel:
        self.channels[id] = DiscordChannel(id=id, name=name, type=type)
        return self.channels[id]

    def next_id(self, now: float) -> str:
        self._last = max(self._last + 1, (int(now * 1000) - EPOCH_MS) << 22)
        return str(self._last)

    def allowed(self, channel: DiscordChannel) -> int:
        """Compute the bot's permissions in a channel as Discord does."""
        if channel.recipient or self.permissions & PERMISSIONS["ADMINISTRATOR"]:
            return ~0
        rights = (self.permissions & ~channel.deny) | channel.allow
        return rights if rights & PERMISSIONS["VIEW_CHANNEL"] else 0

    def may(self, channel: DiscordChannel, name: str) -> bool:
        return bool(self.allowed(channel) & PERMISSIONS[name])

    def visible(self, id: str) -> DiscordChannel:
        channel = self.channels.get(id)
        if channel is None:
            raise DiscordError(404, 10003, "Unknown Channel")
        if not self.may(channel, "VIEW_CHANNEL"):
            raise DiscordError(403, 50001, "Missing Access")
        return channel

    def to_post_in(self, id: str) -> DiscordChannel:
        channel = self.visible(id)
        if channel.type == FORUM:
            raise DiscordError(400, 50008, "Cannot send messages in a non-text channel")
        if channel.recipient in self.closed_to_dms:
            raise DiscordError(403, 50007, "Cannot send messages to this user")
        right = "SEND_MESSAGES_IN_THREADS" if channel.type == THREAD else "SEND_MESSAGES"
        if not self.may(channel, right):
            raise DiscordError(403, 50013, "Missing Permissions")
        return channel

    def open_dm(self, user: str) -> DiscordChannel:
        if user not in self.users:
            raise DiscordError(400, 50033, "Invalid Recipient(s)")
        id = f"7{user}"
        made = DiscordChannel(id=id, type=DIRECT, guild=False, recipient=user)
        return self.channels.setdefault(id, made)

    def find(self, channel: str, id: str) -> DiscordMessage:
        for message in self.messages:
            if (message.channel, message.id, message.deleted) == (channel, id, False):
                return message
        raise DiscordError(404, 10008, "Unknown Message")

    def swap(self, old: DiscordMessage, **changes: object) -> DiscordMessage:
        new = replace(old, **changes)  # type: ignore[arg-type]  # the callers name real fields
        self.messages[self.messages.index(old)] = new
        return new

    def listed(self, channel: str, *, until: float) -> list[DiscordMessage]:
        """Return what the history holds of what was stored until then, newest first."""
        found = [m for m in self.messages if m.channel == channel and not m.deleted and not m.is_ephemeral]
        found = [message for message in found if message.stored_at <= until]
        return sorted(found, key=lambda message: int(message.id), reverse=True)


def message_pings(content: str, allowed: Json | None, *, via: str, everyone: bool) -> tuple[str, ...]:
    """Return whom the content notifies. Embeds notify nobody; without `allowed` a bot's message notifies all it names.

    Markdown is ignored on purpose: a mention that only a backslash holds back is one too many.
    """
    if allowed is None:
        parse = {"users", "roles", "everyone"} if via == "api" else {"users"}
        allowed = {"parse": sorted(parse)}
    parse = set(allowed.get("parse") or [])
    pings = [f"@{name}" for name in re.findall(r"@(everyone|here)", content) if "everyone" in parse and everyone]
    for kind, pattern in (("users", r"<@!?(\d+)>"), ("roles", r"<@&(\d+)>")):
        named = {str(one) for one in allowed.get(kind) or []}
        mark = "@" if kind == "users" else "@&"
        pings += [f"<{mark}{id}>" for id in re.findall(pattern, content) if kind in parse or id in named]
    return tuple(pings)
