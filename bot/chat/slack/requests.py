"""What Slack sends, as a form or an envelope, becomes what somebody asks."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from bot.chat.buttons import to_asked
from bot.core.errors import Forged
from bot.core.model.route import DestinationUid
from bot.services.commands import Asked, Who

MAX_FIELDS = 100
_ID = re.compile(r"[A-Z0-9]{1,40}")
_NO_NAMES = frozenset({"directmessage", "privategroup"})  # what Slack says where it tells no name


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One command or button, and where its answer may go later."""

    asked: Asked
    response_url: str
    is_press: bool = False
    replaces: bool = False  # the pressed button stands below an answer that only this person sees


def read_form(body: bytes) -> dict[str, str]:
    """Raises Forged for what is no form in UTF-8."""
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"))
    except ValueError as error:  # UnicodeDecodeError is one
        raise Forged("the body is no form") from error


def read_command(fields: Mapping[str, object]) -> Request:
    """Read a slash command: `/latest TEXT`, or `/feedbell SUBCOMMAND TEXT` under whatever name. Raises Forged."""
    who = _who(fields.get("user_id"), fields.get("channel_id"), fields.get("channel_name"))
    name, text = _string(fields.get("command")).lstrip("/"), _as_typed(_string(fields.get("text")))
    if name != "latest":
        name, text = (*text.split(maxsplit=1), "", "")[:2]
    asked = Asked(name=name or "help", text=text.strip(), who=who)
    return Request(asked=asked, response_url=_string(fields.get("response_url")))


def read_press(payload: object) -> Request | None:
    """Read a pressed button; None: something else that needs no answer. Raises Forged."""
    if not isinstance(payload, dict):
        raise Forged("the payload is no object")
    if payload.get("type") != "block_actions":
        return None
    user, channel, container = (_part(payload, name) for name in ("user", "channel", "container"))
    who = _who(user.get("id"), channel.get("id"), channel.get("name"))
    actions = payload.get("actions")
    action = actions[0] if isinstance(actions, list) and actions else None
    if not isinstance(action, dict):
        raise Forged("no action")
    if not isinstance(action.get("value"), str):
        return None  # a link that was clicked
    asked = to_asked(action["value"], who)
    return Request(
        asked=asked,
        response_url=_string(payload.get("response_url")),
        is_press=True,
        replaces=not asked.public and container.get("is_ephemeral") is True,
    )


def read_payload(text: str | None) -> object:
    """Raises Forged for what is no JSON."""
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError) as error:
        raise Forged("the payload is no JSON") from error


def _as_typed(text: str) -> str:
    """Undo Slack's escaping of these three, or "R&D" would be no tag and an address with "&" another one."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _who(user: object, channel: object, channel_name: object) -> Who:
    if not (isinstance(user, str) and isinstance(channel, str) and _ID.fullmatch(user) and _ID.fullmatch(channel)):
        raise Forged("no user or no channel")
    name = _string(channel_name)
    is_direct = channel.startswith("D") or name == "directmessage"
    dm = DestinationUid(f"slack:{user}")
    has_name = name and name not in _NO_NAMES and not name.startswith("mpdm-")
    return Who(
        platform="slack",
        user=user,
        place=dm if is_direct else DestinationUid(f"slack:{channel}"),
        dm=dm,
        names=frozenset({DestinationUid(f"slack:#{name}")}) if has_name and not is_direct else frozenset(),
        is_direct=is_direct,
    )


def _part(value: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
