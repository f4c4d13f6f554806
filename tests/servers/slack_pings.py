"""Finds whom a Slack message would notify: feed text must never notify anybody."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.servers.faults import Json

# Only a raw `<` makes these; `&lt;!channel&gt;` is text.
RAW = re.compile(r"<(![a-z]+(?:\^[^>|]+)?|@[UW][A-Z0-9]*)(?:\|[^>]*)?>")
NAMES = re.compile(r"(?<![\w@])@(channel|here|everyone|group)\b", re.I)
QUIET = ("!date",)  # <!date^…> is no ping


def raw_pings(text: str) -> list[str]:
    return [found for found in RAW.findall(text) if not found.startswith(QUIET)]


def message_pings(args: Json) -> list[str]:
    """Return every ping of a message's text, blocks and attachments, in order."""
    text = str(args.get("text") or "")
    pings = raw_pings(text)
    if args.get("parse") in ("full", "client") or args.get("link_names") in (True, "true", "1", 1):
        pings += [f"@{name}" for name in NAMES.findall(text)]
    for part in ("blocks", "attachments"):
        pings += _walk(args.get(part))
    return pings + raw_pings(str(args.get("markdown_text") or ""))


def _walk(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _walk(item)
    elif isinstance(value, dict):
        yield from _own(value)
        for key, item in value.items():
            if key != "metadata":
                yield from _walk(item)


def _own(part: Json) -> list[str]:
    kind, text = part.get("type"), part.get("text")
    if kind in ("user", "usergroup", "broadcast"):
        return [str(part.get("user_id") or part.get("usergroup_id") or f"!{part.get('range')}")]
    if not isinstance(text, str) or kind not in ("mrkdwn", "markdown", None):
        return []
    # Without `verbatim` Slack also turns some bare names into mentions.
    bare = [] if kind == "mrkdwn" and part.get("verbatim") is True else [f"@{name}" for name in NAMES.findall(text)]
    return raw_pings(text) + bare
