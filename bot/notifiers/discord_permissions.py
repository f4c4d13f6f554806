"""What the bot may do in a channel: Discord tells it nowhere, so it is computed from roles and overwrites.

Source: Discord's documentation, Permissions. An empty history means nothing without it: where READ_MESSAGE_HISTORY
is missing, the list is empty, and no error.
"""

import re
from collections.abc import Sequence

BITS = {
    "VIEW_CHANNEL": 1 << 10,
    "SEND_MESSAGES": 1 << 11,
    "EMBED_LINKS": 1 << 14,
    "READ_MESSAGE_HISTORY": 1 << 16,
    "SEND_MESSAGES_IN_THREADS": 1 << 38,
}
_NUMBER = re.compile(r"[0-9]{1,20}")  # there are far fewer rights than 64
_ADMINISTRATOR = 1 << 3
_THREADS = (10, 11, 12)
_DIRECT = (1, 3)
_FORUMS = (15, 16)

Json = dict[str, object]


def is_direct(channel: Json) -> bool:
    return channel.get("type") in _DIRECT


def is_forum(channel: Json) -> bool:
    return channel.get("type") in _FORUMS


def is_thread(channel: Json) -> bool:
    return channel.get("type") in _THREADS


def permissions_of(*, me: str, guild: str, roles: object, member: object, channel: object) -> int:
    """Return the bot's permissions; `channel` is the parent for a thread."""
    own = {guild, *_strings(member, "roles")}
    base = 0
    for role in _rows(roles):
        if role.get("id") in own:
            base |= _bits(role.get("permissions"))
    if base & _ADMINISTRATOR:
        return ~0
    overwrites = _rows(channel.get("permission_overwrites") if isinstance(channel, dict) else None)
    # In this order, each over the one before: everybody, all of our roles together, ourselves.
    for ids in ({guild}, own - {guild}, {me}):
        chosen = [row for row in overwrites if row.get("id") in ids]
        for row in chosen:
            base &= ~_bits(row.get("deny"))
        for row in chosen:
            base |= _bits(row.get("allow"))
    return base if base & BITS["VIEW_CHANNEL"] else 0


def missing(permissions: int, *, thread: bool) -> list[str]:
    """Return the names of what is needed and not given."""
    unneeded = "SEND_MESSAGES" if thread else "SEND_MESSAGES_IN_THREADS"
    return [name for name, bit in BITS.items() if name != unneeded and not permissions & bit]


def _bits(value: object) -> int:
    return int(value) if isinstance(value, str | int) and _NUMBER.fullmatch(str(value)) else 0


def _rows(value: object) -> Sequence[Json]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _strings(value: object, name: str) -> list[str]:
    found = value.get(name) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
