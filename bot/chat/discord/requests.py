"""What Discord sends becomes what somebody asks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from bot.chat.buttons import to_asked
from bot.core.errors import Forged
from bot.core.model.route import DestinationUid
from bot.services.commands import COMMANDS, Asked, Option, Who
from bot.services.commands.registry import Kind

EPHEMERAL = 64  # the flag of a message that only one person sees
SUBCOMMAND = 1
_ID = re.compile(r"\d{1,20}", re.ASCII)
_TOKEN = re.compile(r"[!-~]{1,1000}")


class InteractionKind(Enum):
    PING = 1
    COMMAND = 2
    PRESS = 3
    AUTOCOMPLETE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What somebody has typed so far into a field that completes "tags" or "feeds"."""

    of: str
    prefix: str
    who: Who


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """One interaction. `asked` is what a command or a button means; `completion` belongs to an autocomplete."""

    id: str
    token: str
    application: str
    kind: InteractionKind
    asked: Asked | None = None
    completion: Completion | None = None
    replaces: bool = False  # the pressed button stands below an answer that only this person sees


def read_interaction(payload: Mapping[str, object]) -> Interaction:
    """Raises Forged for what Discord would not send."""
    id, token, application = (_string(payload.get(name)) for name in ("id", "token", "application_id"))
    try:
        kind = InteractionKind(payload.get("type"))
    except ValueError:
        raise Forged("an interaction of no kind we know") from None
    if not (_ID.fullmatch(id) and _ID.fullmatch(application)):
        raise Forged("an interaction without its ids")
    if kind is InteractionKind.PING:
        return Interaction(id=id, token="", application=application, kind=kind)
    if not _TOKEN.fullmatch(token):
        raise Forged("an interaction without a token")
    who, data = _who(payload), _part(payload, "data")
    if kind is InteractionKind.PRESS:
        asked = to_asked(_string(data.get("custom_id")), who)
        flags = _part(payload, "message").get("flags")
        is_private = isinstance(flags, int) and bool(flags & EPHEMERAL)
        replaces = is_private and not asked.public
        return Interaction(id=id, token=token, application=application, kind=kind, asked=asked, replaces=replaces)
    name, options = _command(data)
    if kind is InteractionKind.AUTOCOMPLETE:
        completion = _completion(name, options, who)
        return Interaction(id=id, token=token, application=application, kind=kind, completion=completion)
    asked = Asked(name=name, text=to_text(name, options), who=who)
    return Interaction(id=id, token=token, application=application, kind=kind, asked=asked)


def to_text(name: str, options: Sequence[Mapping[str, object]]) -> str:
    """Return filled-in fields as they would be typed."""
    given = {_string(option.get("name")): option.get("value") for option in options}
    command = COMMANDS.get(name)
    words = [_typed(option, given.get(option.name)) for option in (command.options if command else ())]
    return " ".join(filter(None, words))


def _typed(option: Option, value: object) -> str:
    if value is None:
        return ""
    if option.kind is Kind.FLAG:
        return f"{option.key}:true" if value is True else ""
    text = str(value).strip()
    if not option.key:
        return text
    if option.kind is Kind.COUNT:
        return f"{option.key}:{text}"
    bare = re.sub(r"[\"“”„]", "", text)
    return f'{option.key}:"{bare}"'


def _command(data: Mapping[str, object]) -> tuple[str, Sequence[Mapping[str, object]]]:
    """Return the name of the command, or the subcommand of `/feedbell`, and its fields."""
    name, options = _string(data.get("name")), _objects(data.get("options"))
    if name == "latest":
        return name, options
    if options and options[0].get("type") == SUBCOMMAND:
        return _string(options[0].get("name")), _objects(options[0].get("options"))
    return "help", ()


def _completion(name: str, options: Sequence[Mapping[str, object]], who: Who) -> Completion:
    focused = next((option for option in options if option.get("focused") is True), {})
    command = COMMANDS.get(name)
    known = command.options if command else ()
    of = next((option.completes for option in known if option.name == focused.get("name")), "")
    return Completion(of=of, prefix=str(focused.get("value") or ""), who=who)


def _who(payload: Mapping[str, object]) -> Who:
    user = _part(_part(payload, "member"), "user") or _part(payload, "user")
    id, channel = _string(user.get("id")), _string(payload.get("channel_id"))
    if not (_ID.fullmatch(id) and _ID.fullmatch(channel)):
        raise Forged("no user or no channel")
    is_direct = payload.get("guild_id") is None
    dm = DestinationUid(f"discord-user:{id}")
    return Who(
        platform="discord",
        user=id,
        place=dm if is_direct else DestinationUid(f"discord:{channel}"),
        dm=dm,
        is_direct=is_direct,
        is_bot=user.get("bot") is True,
    )


def _objects(value: object) -> Sequence[Mapping[str, object]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _part(value: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
