"""The methods of the Web API, by name: each takes the call's arguments and returns the answer without `ok`."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.servers.faults import Json
from tests.servers.slack_args import (
    MAX_TEXT,
    flag,
    judge_message,
    timestamp,
    whole_number,
)
from tests.servers.slack_pings import message_pings
from tests.servers.slack_state import Channel, SlackError, SlackMessage

if TYPE_CHECKING:
    from tests.servers.slack import SlackServer

BOT_USER = "U0FEEDBELL"


def needed(args: Json, name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str) or not value:
        raise SlackError(
            "invalid_arguments", response_metadata={"messages": [f"[ERROR] missing required field: {name}"]}
        )
    return value


def make_message(slack: SlackServer, channel: Channel, args: Json, *, via: str, to: str | None = None) -> SlackMessage:
    """Judge and store what was sent."""
    judge_message(args)
    now = slack.clock()
    message = SlackMessage(
        channel=channel.id,
        ts=slack.team.next_ts(now),
        text=str(args.get("text") or args.get("markdown_text") or "")[:MAX_TEXT],
        blocks=args.get("blocks") or [],
        attachments=args.get("attachments") or [],
        metadata=args.get("metadata"),
        thread_ts=args.get("thread_ts"),
        via=via,
        pings=tuple(message_pings(args)),
        unfurl_links=args.get("unfurl_links"),
        unfurl_media=args.get("unfurl_media"),
        mrkdwn=args.get("mrkdwn"),
        parse=args.get("parse"),
        ephemeral_to=to,
        visible_at=now + slack.history_lag,
    )
    slack.note("stored", message=message.to_json())
    return slack.team.store(message)


def post_message(slack: SlackServer, args: Json) -> Json:
    slack.need_scope("chat:write")
    channel = slack.team.to_post_in(needed(args, "channel"), public="chat:write.public" in slack.scopes)
    if args.get("thread_ts"):
        try:
            slack.team.find(channel.id, str(args["thread_ts"]))
        except SlackError:
            raise SlackError("thread_not_found") from None
    message = make_message(slack, channel, args, via="api")
    shown = message.to_history(bot_user=BOT_USER, all_metadata=True)
    return {"channel": channel.id, "ts": message.ts, "message": shown}


def post_ephemeral(slack: SlackServer, args: Json) -> Json:
    slack.need_scope("chat:write")
    channel = slack.team.to_post_in(needed(args, "channel"))
    user = needed(args, "user")
    if user not in slack.team.users:
        raise SlackError("user_not_in_channel")
    return {"message_ts": make_message(slack, channel, args, via="api", to=user).ts}


def update(slack: SlackServer, args: Json) -> Json:
    slack.need_scope("chat:write")
    channel = slack.team.visible(needed(args, "channel"))  # an id: a name is channel_not_found here
    if channel.archived:
        raise SlackError("is_inactive")
    old = slack.team.find(channel.id, needed(args, "ts"))
    if old.via != "api":
        raise SlackError("cant_update_message")
    if slack.edit_window_closed:
        raise SlackError("edit_window_closed")
    judge_message(args, update=True)
    before = {"text": old.text, "blocks": old.blocks, "metadata": old.metadata}
    new = slack.team.swap(
        old,
        text=str(args.get("text") or ""),
        blocks=old.blocks if args.get("blocks") is None else args["blocks"],
        metadata=old.metadata if args.get("metadata") is None else (args["metadata"] or None),
        pings=old.pings + tuple(message_pings(args)),
        edited_ts=slack.team.next_ts(slack.clock()),
        edits=(*old.edits, before),
    )
    slack.note("edited", message=new.to_json())
    shown = new.to_history(bot_user=BOT_USER, all_metadata=True)
    return {"channel": channel.id, "ts": new.ts, "text": new.text, "message": shown}


def delete(slack: SlackServer, args: Json) -> Json:
    slack.need_scope("chat:write")
    channel = slack.team.visible(needed(args, "channel"))
    old = slack.team.find(channel.id, needed(args, "ts"))
    slack.team.swap(old, deleted=True)
    slack.note("deleted", channel=channel.id, ts=old.ts)
    return {"channel": channel.id, "ts": old.ts}


def permalink(slack: SlackServer, args: Json) -> Json:
    channel = slack.team.visible(needed(args, "channel"))
    found = slack.team.find(channel.id, needed(args, "message_ts"))
    return {"channel": channel.id, "permalink": f"{slack.url}/archives/{channel.id}/p{found.ts.replace('.', '')}"}


def _readable(slack: SlackServer, args: Json) -> Channel:
    channel = slack.team.visible(needed(args, "channel"))
    if not channel.member:
        raise SlackError("not_in_channel")
    kind = "im" if channel.user else "groups" if channel.private else "channels"
    slack.need_scope(f"{kind}:history")
    return channel


def history(slack: SlackServer, args: Json) -> Json:
    channel = _readable(slack, args)
    limit = whole_number(args, "limit", 100, 999)
    oldest, latest = timestamp(args, "oldest"), timestamp(args, "latest")
    inclusive = flag(args, "inclusive")
    found = [
        message
        for message in slack.team.listed(channel.id, slack.clock())
        if _within(float(message.ts), oldest, latest, inclusive)
    ]
    if args.get("cursor"):
        start = _cursor_ts(str(args["cursor"]))
        found = [message for message in found if float(message.ts) <= start]
    shown = found[:limit]
    all_metadata = flag(args, "include_all_metadata")
    answer: Json = {
        "messages": [message.to_history(bot_user=BOT_USER, all_metadata=all_metadata) for message in shown],
        "has_more": len(found) > limit,
        "pin_count": 0,
    }
    if len(found) > limit:
        mark = base64.b64encode(f"next_ts:{found[limit].ts.replace('.', '')}".encode()).decode()
        answer["response_metadata"] = {"next_cursor": mark}
    return answer


def _within(ts: float, oldest: float | None, latest: float | None, inclusive: bool) -> bool:
    if oldest is not None and (ts < oldest or (ts == oldest and not inclusive)):
        return False
    return latest is None or ts < latest or (ts == latest and inclusive)


def _cursor_ts(cursor: str) -> float:
    try:
        text = base64.b64decode(cursor, validate=True).decode("ascii")
    except ValueError:
        raise SlackError("invalid_cursor") from None
    found = re.fullmatch(r"next_ts:(\d+)(\d{6})", text)
    if not found:
        raise SlackError("invalid_cursor")
    return float(f"{found[1]}.{found[2]}")


def replies(slack: SlackServer, args: Json) -> Json:
    channel = _readable(slack, args)
    parent = slack.team.find(channel.id, needed(args, "ts"))
    thread = [m for m in slack.team.messages if m.channel == channel.id and m.thread_ts == parent.ts and not m.deleted]
    all_metadata = flag(args, "include_all_metadata")
    shown = [m.to_history(bot_user=BOT_USER, all_metadata=all_metadata) for m in (parent, *thread)]
    return {"messages": shown, "has_more": False}


def info(slack: SlackServer, args: Json) -> Json:
    channel = slack.team.visible(needed(args, "channel"))
    kind = "im" if channel.user else "groups" if channel.private else "channels"
    slack.need_scope(f"{kind}:read")
    return {"channel": channel.to_json()}


def list_channels(slack: SlackServer, args: Json) -> Json:
    limit = whole_number(args, "limit", 100, 1000)
    kinds = str(args.get("types") or "public_channel").replace(" ", "").split(",")
    if set(kinds) - {"public_channel", "private_channel", "mpim", "im"}:
        raise SlackError("invalid_types")
    for kind, scope in (("public_channel", "channels"), ("private_channel", "groups"), ("im", "im")):
        if kind in kinds:
            slack.need_scope(f"{scope}:read")
    found = [channel for channel in slack.team.channels.values() if _kind(channel) in kinds]
    found = [channel for channel in found if channel.member or not channel.private]
    if flag(args, "exclude_archived"):
        found = [channel for channel in found if not channel.archived]
    return _page("channels", [channel.to_json() for channel in found], args, limit)


def _kind(channel: Channel) -> str:
    return "im" if channel.user else "private_channel" if channel.private else "public_channel"


def _page(name: str, rows: list[Json], args: Json, limit: int) -> Json:
    cursor = str(args.get("cursor") or "")
    start = 0
    if cursor:
        if not re.fullmatch(r"dXNlcjp\d+", cursor):
            raise SlackError("invalid_cursor")
        start = int(cursor[7:])
    more = f"dXNlcjp{start + limit}" if start + limit < len(rows) else ""
    return {name: rows[start : start + limit], "response_metadata": {"next_cursor": more}}


def open_conversation(slack: SlackServer, args: Json) -> Json:
    slack.need_scope("im:write")
    users = str(args.get("users") or "").split(",")
    if not users[0]:
        raise SlackError("users_list_not_supplied")
    if len(users) > 1:
        raise SlackError("missing_scope", needed="mpim:write", provided=",".join(sorted(slack.scopes)))
    channel = slack.team.open_im(users[0])
    return {"channel": channel.to_json() if flag(args, "return_im") else {"id": channel.id}}


def join(slack: SlackServer, args: Json) -> Json:
    slack.need_scope("channels:join")
    channel = slack.team.visible(needed(args, "channel"))
    if channel.private:
        raise SlackError("method_not_supported_for_channel_type")
    channel.member = True
    return {"channel": channel.to_json()}


def auth_test(slack: SlackServer, args: Json) -> Json:
    return {
        "url": f"{slack.url}/",
        "team": "Test Team",
        "user": "feedbell",
        "team_id": "T0TEAM",
        "user_id": BOT_USER,
        "bot_id": "B0FEEDBELL",
        "is_enterprise_install": False,
    }


def user_info(slack: SlackServer, args: Json) -> Json:
    slack.need_scope("users:read")
    found = slack.team.users.get(needed(args, "user"))
    if found is None:
        raise SlackError("user_not_found")
    return {"user": found}


def user_list(slack: SlackServer, args: Json) -> Json:
    slack.need_scope("users:read")
    return _page("members", list(slack.team.users.values()), args, whole_number(args, "limit", 100, 1000))


METHODS: dict[str, Callable[[SlackServer, Json], Json]] = {
    "auth.test": auth_test,
    "chat.delete": delete,
    "chat.getPermalink": permalink,
    "chat.postEphemeral": post_ephemeral,
    "chat.postMessage": post_message,
    "chat.update": update,
    "conversations.history": history,
    "conversations.info": info,
    "conversations.join": join,
    "conversations.list": list_channels,
    "conversations.open": open_conversation,
    "conversations.replies": replies,
    "users.info": user_info,
    "users.list": user_list,
}
WRITES = frozenset({"chat.delete", "chat.postEphemeral", "chat.postMessage", "chat.update", "conversations.join"})
