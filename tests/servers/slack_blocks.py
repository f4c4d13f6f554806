"""Judges Block Kit as Slack does: one error a fault, with the JSON pointer to it.

Sources: docs.slack.dev, Block Kit reference; slack_sdk.models for lengths that the reference leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tests.servers.faults import Json

MAX_BLOCKS = 50
MAX_BLOCKS_TEXT = 13_200  # undocumented; where msg_blocks_too_long was seen
TEXT_KINDS = ("plain_text", "mrkdwn")

Check = Callable[[Json, str], Iterator[str]]


def block_errors(blocks: object) -> list[str]:
    """Return Slack's complaints about a message's blocks; none when they are good."""
    if not isinstance(blocks, list):
        return ["must be an array [json-pointer:/blocks]"]
    errors = []
    if len(blocks) > MAX_BLOCKS:
        errors.append(f"no more than {MAX_BLOCKS} items allowed [json-pointer:/blocks]")
    for number, block in enumerate(blocks):
        errors += _block(block, f"/blocks/{number}")
    ids = [block["block_id"] for block in blocks if isinstance(block, dict) and "block_id" in block]
    if len(ids) != len(set(ids)):
        errors.append("block_id already exists [json-pointer:/blocks]")
    markdown = sum(len(block.get("text", "")) for block in blocks if _is(block, "markdown"))
    if markdown > 12_000:
        errors.append("markdown blocks hold no more than 12000 characters together [json-pointer:/blocks]")
    return errors


def blocks_text_size(value: object) -> int:
    """Count the characters of all strings a reader could see or follow."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(blocks_text_size(item) for key, item in value.items() if key not in ("type", "block_id"))
    return sum(map(blocks_text_size, value)) if isinstance(value, list) else 0


def _is(value: object, kind: str) -> bool:
    return isinstance(value, dict) and value.get("type") == kind


def _at(text: str, pointer: str) -> str:
    return f"{text} [json-pointer:{pointer}]"


def _block(block: object, at: str) -> Iterator[str]:
    if not isinstance(block, dict):
        yield _at("must be an object", at)
        return
    known = BLOCKS.get(str(block.get("type")))
    if known is None:
        yield _at(f"unsupported type: {block.get('type')}", f"{at}/type")
        return
    keys, check = known
    yield from _keys(block, at, {"type", "block_id", *keys})
    if "block_id" in block:
        yield from _string(block["block_id"], f"{at}/block_id", 255)
    yield from check(block, at)


def _keys(value: Json, at: str, allowed: set[str]) -> Iterator[str]:
    for odd in sorted(set(value) - allowed):
        yield _at(f"invalid additional property: {odd}", at)


def _string(value: object, at: str, longest: int) -> Iterator[str]:
    if not isinstance(value, str):
        yield _at("must provide a string", at)
    elif not value:
        yield _at("must be more than 0 characters", at)
    elif len(value) > longest:
        yield _at(f"must be less than {longest + 1} characters", at)


def _url(value: object, at: str, longest: int = 3000) -> Iterator[str]:
    yield from _string(value, at, longest)
    if isinstance(value, str) and not re.fullmatch(r"(?:https?|mailto|tel|slack|ftp):[^\s\x00-\x1f<>|]+", value, re.I):
        yield _at("must be a valid URL", at)


def _text(value: object, at: str, longest: int, kinds: tuple[str, ...] = TEXT_KINDS) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _at("must provide an object", at)
        return
    if value.get("type") not in kinds:
        yield _at(f"must be one of {', '.join(kinds)}", f"{at}/type")
        return
    more = {"emoji"} if value["type"] == "plain_text" else {"verbatim"}
    yield from _keys(value, at, {"type", "text", *more})
    yield from _string(value.get("text"), f"{at}/text", longest)
    for key in more & set(value):
        if not isinstance(value[key], bool):
            yield _at("must be a boolean", f"{at}/{key}")


def _items(value: object, at: str, most: int) -> Iterator[str]:
    if not isinstance(value, list) or not value:
        yield _at("must have at least 1 item", at)
    elif len(value) > most:
        yield _at(f"no more than {most} items allowed", at)


def _section(block: Json, at: str) -> Iterator[str]:
    if "text" not in block and "fields" not in block:
        yield _at("missing required field: text", at)
    if "text" in block:
        yield from _text(block["text"], f"{at}/text", 3000)
    if "fields" in block:
        yield from _items(block["fields"], f"{at}/fields", 10)
        for number, item in enumerate(block["fields"] if isinstance(block["fields"], list) else ()):
            yield from _text(item, f"{at}/fields/{number}", 2000)
    if "accessory" in block:
        yield from _element(block["accessory"], f"{at}/accessory", {"button", "image", "overflow", "static_select"})


def _header(block: Json, at: str) -> Iterator[str]:
    yield from _text(block.get("text"), f"{at}/text", 150, ("plain_text",))


def _divider(block: Json, at: str) -> Iterator[str]:
    yield from ()


def _image(block: Json, at: str) -> Iterator[str]:
    if ("image_url" in block) == ("slack_file" in block):
        yield _at("must have exactly one of image_url, slack_file", at)
    if "image_url" in block:
        yield from _url(block["image_url"], f"{at}/image_url")
    yield from _string(block.get("alt_text"), f"{at}/alt_text", 2000)
    if "title" in block:
        yield from _text(block["title"], f"{at}/title", 2000, ("plain_text",))


def _context(block: Json, at: str) -> Iterator[str]:
    yield from _items(block.get("elements"), f"{at}/elements", 10)
    for number, item in enumerate(block.get("elements") or ()):
        spot = f"{at}/elements/{number}"
        if _is(item, "image"):
            yield from _image(item, spot)
        else:
            yield from _text(item, spot, 3000)


def _actions(block: Json, at: str) -> Iterator[str]:
    yield from _items(block.get("elements"), f"{at}/elements", 25)
    elements = [item for item in block.get("elements") or () if isinstance(item, dict)]
    for number, item in enumerate(elements):
        yield from _element(item, f"{at}/elements/{number}", {"button", "overflow", "static_select", "datepicker"})
    ids = [item["action_id"] for item in elements if "action_id" in item]
    if len(ids) != len(set(ids)):
        yield _at("action_id already exists", at)


def _element(item: object, at: str, allowed: set[str]) -> Iterator[str]:
    if not isinstance(item, dict) or item.get("type") not in allowed:
        yield _at("unsupported type", f"{at}/type")
        return
    if item["type"] == "image":
        yield from _image(item, at)
    if item["type"] == "button":
        yield from _button(item, at)
    if "action_id" in item:
        yield from _string(item["action_id"], f"{at}/action_id", 255)


def _button(item: Json, at: str) -> Iterator[str]:
    keys = {"type", "text", "action_id", "url", "value", "style", "confirm", "accessibility_label"}
    yield from _keys(item, at, keys)
    yield from _text(item.get("text"), f"{at}/text", 75, ("plain_text",))
    if "url" in item:
        yield from _url(item["url"], f"{at}/url")
    if "value" in item:
        yield from _string(item["value"], f"{at}/value", 2000)
    if item.get("style", "primary") not in ("primary", "danger"):
        yield _at("must be one of primary, danger", f"{at}/style")


def _markdown(block: Json, at: str) -> Iterator[str]:
    yield from _string(block.get("text"), f"{at}/text", 12_000)


def _video(block: Json, at: str) -> Iterator[str]:
    for key in ("video_url", "thumbnail_url"):
        yield from _url(block.get(key), f"{at}/{key}")
    yield from _text(block.get("title"), f"{at}/title", 200, ("plain_text",))


def _rich_text(block: Json, at: str) -> Iterator[str]:
    yield from _items(block.get("elements"), f"{at}/elements", 1000)
    for number, part in enumerate(block.get("elements") or ()):
        yield from _rich_part(part, f"{at}/elements/{number}", set(RICH_PARTS))


def _rich_part(part: object, at: str, allowed: set[str]) -> Iterator[str]:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or kind not in allowed:
        yield _at(f"unsupported type: {kind}", f"{at}/type")
        return
    yield from _keys(part, at, {"type", "elements", *RICH_PARTS[str(kind)]})
    elements = part.get("elements")
    if not isinstance(elements, list) or not elements:
        yield _at("missing element", f"{at}/elements")
        return
    if kind == "rich_text_list" and part.get("style") not in ("bullet", "ordered"):
        yield _at("must be one of bullet, ordered", f"{at}/style")
    for number, element in enumerate(elements):
        spot = f"{at}/elements/{number}"
        if kind == "rich_text_list":
            yield from _rich_part(element, spot, {"rich_text_section"})
        else:
            yield from _rich_element(element, spot)


def _rich_element(element: object, at: str) -> Iterator[str]:
    known = RICH_ELEMENTS.get(str(element.get("type"))) if isinstance(element, dict) else None
    if not isinstance(element, dict) or known is None:
        yield _at("unsupported type", f"{at}/type")
        return
    needed, optional = known
    yield from _keys(element, at, {"type", *needed, *optional})
    for key in needed:
        if key == "url":
            yield from _url(element.get(key), f"{at}/{key}")
        elif key != "timestamp":
            yield from _string(element.get(key), f"{at}/{key}", 40_000)
    if "text" in optional and "text" in element:
        yield from _string(element["text"], f"{at}/text", 40_000)
    if element["type"] == "broadcast" and element.get("range") not in ("here", "channel", "everyone"):
        yield _at("must be one of here, channel, everyone", f"{at}/range")
    yield from _style(element.get("style", {}), f"{at}/style")


def _style(style: object, at: str) -> Iterator[str]:
    marks = {"bold", "italic", "strike", "code", "underline", "highlight", "client_highlight", "unlink"}
    if not isinstance(style, dict) or not all(isinstance(value, bool) for value in style.values()):
        yield _at("must be an object of booleans", at)
    else:
        yield from _keys(style, at, marks)


RICH_PARTS: dict[str, set[str]] = {
    "rich_text_section": set(),
    "rich_text_list": {"style", "indent", "border", "offset"},
    "rich_text_preformatted": {"border", "language"},
    "rich_text_quote": {"border"},
}
RICH_ELEMENTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "broadcast": (("range",), ()),
    "color": (("value",), ()),
    "channel": (("channel_id",), ("style",)),
    "date": (("timestamp", "format"), ("url", "fallback", "style")),
    "emoji": (("name",), ("unicode", "style", "skin_tone", "url")),
    "link": (("url",), ("text", "unsafe", "style")),
    "team": (("team_id",), ("style",)),
    "text": (("text",), ("style",)),
    "user": (("user_id",), ("style",)),
    "usergroup": (("usergroup_id",), ("style",)),
}
BLOCKS: dict[str, tuple[set[str], Check]] = {
    "section": ({"text", "fields", "accessory", "expand"}, _section),
    "header": ({"text", "level"}, _header),
    "divider": (set(), _divider),
    "image": ({"image_url", "slack_file", "alt_text", "title"}, _image),
    "context": ({"elements"}, _context),
    "actions": ({"elements"}, _actions),
    "markdown": ({"text"}, _markdown),
    "rich_text": ({"elements"}, _rich_text),
    "video": (
        {"alt_text", "author_name", "description", "provider_icon_url", "provider_name", "title", "title_url"}
        | {"thumbnail_url", "video_url"},
        _video,
    ),
}
