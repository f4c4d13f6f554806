"""A Slack workspace in memory: channels, people, messages, and who may see them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from tests.servers.faults import Json

TS = re.compile(r"\d{1,12}(?:\.\d{1,6})?")


class SlackError(Exception):
    """The `error` of an answer with `ok: false`."""

    def __init__(self, error: str, **more: object) -> None:
        super().__init__(error)
        self.error = error
        self.more = more


@dataclass(slots=True, kw_only=True)
class Channel:
    id: str
    name: str
    private: bool = False
    member: bool = True
    archived: bool = False
    user: str | None = None  # the other side of a direct message
    may_post: bool = True

    def to_json(self) -> Json:
        if self.user:
            return {"id": self.id, "created": 1, "is_im": True, "is_org_shared": False, "user": self.user}
        return {
            "id": self.id,
            "name": self.name,
            "name_normalized": self.name,
            "is_channel": not self.private,
            "is_group": False,
            "is_im": False,
            "is_mpim": False,
            "is_private": self.private,
            "is_archived": self.archived,
            "is_member": self.member,
            "is_general": self.name == "general",
            "is_shared": False,
            "created": 1,
            "creator": "U0CREATOR",
            "num_members": 3,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackMessage:
    """One message as it stands now; `edits` holds what it was before, oldest first."""

    channel: str
    ts: str
    text: str = ""
    blocks: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    metadata: Json | None = None
    thread_ts: str | None = None
    via: str = "api"  # api, webhook, response
    pings: tuple[str, ...] = ()
    unfurl_links: object = None
    unfurl_media: object = None
    mrkdwn: object = None
    parse: object = None
    ephemeral_to: str | None = None
    edited_ts: str | None = None
    edits: tuple[Json, ...] = ()
    deleted: bool = False
    visible_at: float = 0.0

    @property
    def is_edited(self) -> bool:
        return self.edited_ts is not None

    def to_json(self) -> Json:
        return {name: getattr(self, name) for name in self.__slots__}

    def to_history(self, *, bot_user: str, all_metadata: bool) -> Json:
        shown: Json = {
            "type": "message",
            "user": bot_user,
            "bot_id": "B0FEEDBELL",
            "app_id": "A0FEEDBELL",
            "team": "T0TEAM",
            "ts": self.ts,
            "text": self.text,
        }
        if self.via == "webhook":
            shown |= {"subtype": "bot_message"}
            del shown["user"]
        if self.blocks:
            shown["blocks"] = [{"block_id": f"b{number}"} | block for number, block in enumerate(self.blocks)]
        if self.thread_ts:
            shown["thread_ts"] = self.thread_ts
        if self.edited_ts:
            shown["edited"] = {"user": bot_user, "ts": self.edited_ts}
        if self.metadata:
            shown["metadata"] = self.metadata if all_metadata else {"event_type": self.metadata["event_type"]}
        return shown


class Workspace:
    """All that is in the team; methods raise SlackError as the API would answer."""

    def __init__(self) -> None:
        self.channels: dict[str, Channel] = {}
        self.users: dict[str, Json] = {}
        self.messages: list[SlackMessage] = []
        self._last_ts = 0

    def add_channel(
        self, name: str, *, id: str | None = None, private: bool = False, member: bool = True, archived: bool = False
    ) -> Channel:
        made = id or "C0" + re.sub(r"[^A-Z0-9]", "", name.upper())
        channel = Channel(id=made, name=name.lstrip("#"), private=private, member=member, archived=archived)
        self.channels[made] = channel
        return channel

    def add_user(self, id: str, name: str, *, bot: bool = False) -> None:
        self.users[id] = {
            "id": id,
            "team_id": "T0TEAM",
            "name": name,
            "deleted": False,
            "is_bot": bot,
            "tz": "Europe/Berlin",
        }

    def visible(self, channel: str) -> Channel:
        """Return the channel of this id; a private one that the bot is not in does not exist for it."""
        found = self.channels.get(channel)
        if found is None or (found.private and not found.member):
            raise SlackError("channel_not_found")
        return found

    def to_post_in(self, channel: str, *, public: bool = False) -> Channel:
        """Return the channel that an id, a name or a user's id means, if the bot may post there."""
        found = self._by_any_name(channel)
        if found.archived:
            raise SlackError("is_archived")
        if not found.member and not public:
            raise SlackError("not_in_channel")
        if not found.may_post:
            raise SlackError("restricted_action")
        return found

    def open_im(self, user: str) -> Channel:
        if user not in self.users:
            raise SlackError("user_not_found")
        made = "D" + user[1:]
        return self.channels.setdefault(made, Channel(id=made, name="", private=True, user=user))

    def _by_any_name(self, channel: str) -> Channel:
        if channel in self.channels:
            return self.visible(channel)
        if channel in self.users:
            return self.open_im(channel)
        name = channel.removeprefix("#")
        for found in self.channels.values():
            if found.name == name and not found.user:
                return self.visible(found.id)
        raise SlackError("channel_not_found")

    def next_ts(self, now: float) -> str:
        self._last_ts = max(self._last_ts + 1, int(now * 1_000_000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def store(self, message: SlackMessage) -> SlackMessage:
        self.messages.append(message)
        return message

    def find(self, channel: str, ts: str) -> SlackMessage:
        for message in self.messages:
            if (message.channel, message.ts, message.deleted) == (channel, ts, False) and not message.ephemeral_to:
                return message
        raise SlackError("message_not_found")

    def swap(self, old: SlackMessage, **changes: object) -> SlackMessage:
        new = replace(old, **changes)  # type: ignore[arg-type]  # the callers name real fields
        self.messages[self.messages.index(old)] = new
        return new

    def listed(self, channel: str, now: float) -> list[SlackMessage]:
        """Return what the history shows now, newest first: no replies, nothing deleted, nothing too fresh."""
        seen = [
            message
            for message in self.messages
            if message.channel == channel
            and not message.deleted
            and not message.ephemeral_to
            and message.thread_ts in (None, message.ts)
            and message.visible_at <= now
        ]
        return sorted(seen, key=lambda message: float(message.ts), reverse=True)
