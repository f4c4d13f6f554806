"""Judges Discord payloads as Discord does: the tree of errors of code 50035, or nothing.

Sources: Discord's documentation, Message, Components and Application Commands resources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from urllib.parse import urlsplit

from tests.servers.faults import Json

MAX_EMBEDS_SUM = 6000
EMBED_KEYS = {"title", "type", "description", "url", "timestamp", "color", "footer", "image", "thumbnail"}
EMBED_KEYS |= {"video", "provider", "author", "fields"}
MENTION_KINDS = {"roles", "users", "everyone"}
SNOWFLAKE = re.compile(r"\d{1,20}")


class Errors:
    """Complaints gathered under their paths."""

    def __init__(self) -> None:
        self.tree: Json = {}

    def add(self, path: Iterable[object], code: str, message: str) -> None:
        node = self.tree
        for step in path:
            node = node.setdefault(str(step), {})
        node.setdefault("_errors", []).append({"code": code, "message": message})

    def text(self, value: object, path: tuple[object, ...], longest: int, *, needed: bool = False) -> None:
        if value is None or value == "":
            if needed:
                self.add(path, "BASE_TYPE_REQUIRED", "This field is required")
        elif not isinstance(value, str):
            self.add(path, "STRING_TYPE_CONVERT", f"Could not interpret {value!r} as string.")
        elif len(value.strip()) > longest:
            self.add(path, "BASE_TYPE_MAX_LENGTH", f"Must be {longest} or fewer in length.")
        elif needed and not value.strip():
            self.add(path, "BASE_TYPE_REQUIRED", "This field is required")

    def url(self, value: object, path: tuple[object, ...], *, longest: int = 2048, files: bool = False) -> None:
        if value is None:
            return
        self.text(value, path, longest)
        schemes = ("http", "https", "attachment") if files else ("http", "https")
        try:
            parts = urlsplit(str(value))
            host = parts.hostname
        except ValueError:
            self.add(path, "URL_TYPE_INVALID_URL", "Not a well formed URL.")
            return
        if parts.scheme and parts.scheme not in schemes:
            text = f'Scheme "{parts.scheme}" is not supported. Scheme must be one of {schemes}.'
            self.add(path, "URL_TYPE_INVALID_SCHEME", text)
        elif not parts.scheme or not host or re.search(r"[\s\x00-\x1f<>]", str(value)) or not _is_host(host):
            self.add(path, "URL_TYPE_INVALID_URL", "Not a well formed URL.")

    def count(self, value: object, path: tuple[object, ...], most: int) -> list[Json]:
        """Return the list if it is one, complaining if it is too long."""
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.add(path, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
            return []
        if len(value) > most:
            self.add(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")
        return value


def _is_host(host: str) -> bool:
    return "." in host.strip(".") or ":" in host


def message_errors(body: Json) -> Json:
    """Return the error tree of a message; empty when Discord would take its form."""
    errors = Errors()
    errors.text(body.get("content"), ("content",), 2000)
    if isinstance(body.get("content"), str) and len(body["content"].strip()) <= 2000 < len(body["content"]):
        errors.add(("content",), "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")  # not trimmed here
    nonce = body.get("nonce")
    if nonce is not None and (isinstance(nonce, bool) or not isinstance(nonce, str | int) or len(str(nonce)) > 25):
        errors.add(("nonce",), "NONCE_TYPE_TOO_LONG", "Invalid nonce: Must be 25 or fewer in length.")
    embeds = errors.count(body.get("embeds"), ("embeds",), 10)
    for number, embed in enumerate(embeds):
        _embed(errors, embed, ("embeds", number))
    if sum(map(embed_size, embeds)) > MAX_EMBEDS_SUM:
        errors.add(("embeds",), "MAX_EMBED_SIZE_EXCEEDED", f"Embed size exceeds maximum size of {MAX_EMBEDS_SUM}")
    _components(errors, body.get("components"))
    _mentions(errors, body.get("allowed_mentions"))
    return errors.tree


def embed_size(embed: Json) -> int:
    """Count what the limit of 6,000 counts: title, description, fields, footer and author."""
    parts = [embed.get("title"), embed.get("description")]
    parts += [(embed.get("footer") or {}).get("text"), (embed.get("author") or {}).get("name")]
    for item in embed.get("fields") or []:
        parts += [item.get("name"), item.get("value")]
    return sum(len(part.strip()) for part in parts if isinstance(part, str))


def is_empty_embed(embed: Json) -> bool:
    shown = ("title", "description", "fields", "footer", "author", "image", "thumbnail", "timestamp", "url")
    return not any(embed.get(key) for key in shown)


def _embed(errors: Errors, embed: Json, path: tuple[object, ...]) -> None:
    errors.text(embed.get("title"), (*path, "title"), 256)
    errors.text(embed.get("description"), (*path, "description"), 4096)
    errors.url(embed.get("url"), (*path, "url"))
    for number, item in enumerate(errors.count(embed.get("fields"), (*path, "fields"), 25)):
        errors.text(item.get("name"), (*path, "fields", number, "name"), 256, needed=True)
        errors.text(item.get("value"), (*path, "fields", number, "value"), 1024, needed=True)
    _embed_parts(errors, embed, path)
    color = embed.get("color")
    if color is not None and (not isinstance(color, int) or not 0 <= color <= 0xFFFFFF):
        errors.add((*path, "color"), "NUMBER_TYPE_MAX", "int value should be less than or equal to 16777215.")
    if embed.get("timestamp") is not None:
        try:
            datetime.fromisoformat(str(embed["timestamp"]))
        except ValueError:
            errors.add((*path, "timestamp"), "DATE_TIME_TYPE_PARSE", "Could not parse. Should be ISO8601.")


def _embed_parts(errors: Errors, embed: Json, path: tuple[object, ...]) -> None:
    footer, author = embed.get("footer") or {}, embed.get("author") or {}
    if footer:
        errors.text(footer.get("text"), (*path, "footer", "text"), 2048, needed=True)
        errors.url(footer.get("icon_url"), (*path, "footer", "icon_url"), files=True)
    if author:
        errors.text(author.get("name"), (*path, "author", "name"), 256, needed=True)
        errors.url(author.get("url"), (*path, "author", "url"))
        errors.url(author.get("icon_url"), (*path, "author", "icon_url"), files=True)
    for part in ("image", "thumbnail"):
        if embed.get(part):
            errors.url(embed[part].get("url"), (*path, part, "url"), files=True)


def _components(errors: Errors, components: object) -> None:
    seen: list[str] = []
    for number, row in enumerate(errors.count(components, ("components",), 5)):
        path = ("components", number)
        if row.get("type") != 1:
            errors.add((*path, "type"), "UNION_TYPE_CHOICES", "Value of field type must be one of (1,).")
            continue
        items = errors.count(row.get("components"), (*path, "components"), 5)
        if not items:
            errors.add((*path, "components"), "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
        for index, item in enumerate(items):
            _component(errors, item, (*path, "components", index))
            seen += [item["custom_id"]] if "custom_id" in item else []
    if len(seen) != len(set(seen)):
        errors.add(("components",), "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")


def _component(errors: Errors, item: Json, path: tuple[object, ...]) -> None:
    if item.get("type") == 3:
        errors.text(item.get("custom_id"), (*path, "custom_id"), 100, needed=True)
        return
    if item.get("type") != 2:
        errors.add((*path, "type"), "UNION_TYPE_CHOICES", "Value of field type must be one of (2, 3).")
        return
    if item.get("style") not in range(1, 7):
        errors.add((*path, "style"), "BASE_TYPE_CHOICES", "Value must be one of {1, 2, 3, 4, 5, 6}.")
    errors.text(item.get("label"), (*path, "label"), 80)
    if not item.get("label") and not item.get("emoji"):
        errors.add(path, "BUTTON_COMPONENT_LABEL_OR_EMOJI_REQUIRED", "A button must have a label or an emoji")
    if item.get("style") == 5:
        if "custom_id" in item:
            errors.add(path, "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", "A custom id and url cannot both be")
        errors.url(item.get("url", ""), (*path, "url"), longest=512)
    else:
        errors.text(item.get("custom_id"), (*path, "custom_id"), 100, needed=True)


def _mentions(errors: Errors, allowed: object) -> None:
    path = ("allowed_mentions",)
    if allowed is None:
        return
    if not isinstance(allowed, dict):
        errors.add(path, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
        return
    parse = allowed.get("parse") or []
    for odd in sorted(set(allowed) - {"parse", "roles", "users", "replied_user"}):
        errors.add((*path, odd), "BASE_TYPE_CHOICES", "allowed_mentions has no such key")
    for kind in set(parse) - MENTION_KINDS:
        errors.add((*path, "parse"), "BASE_TYPE_CHOICES", f"Value {kind!r} must be one of {sorted(MENTION_KINDS)}.")
    for kind in ("roles", "users"):
        _mention_ids(errors, allowed.get(kind) or [], kind, parsed=kind in parse)


def _mention_ids(errors: Errors, ids: list[object], kind: str, *, parsed: bool) -> None:
    path = ("allowed_mentions",)
    if parsed and ids:
        text = f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.'
        errors.add(path, "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", text)
    if len(set(map(str, ids))) != len(ids):
        errors.add((*path, kind), "SET_TYPE_ALREADY_CONTAINS_VALUE", "The set already contains this value")
    if len(ids) > 100:
        errors.add((*path, kind), "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer in length.")
    if not all(SNOWFLAKE.fullmatch(str(one)) for one in ids):
        errors.add((*path, kind), "NUMBER_TYPE_COERCE", "Value is not snowflake.")


def command_errors(commands: object) -> Json:
    """Judge a bulk overwrite of application commands."""
    errors = Errors()
    chat_input = errors.count(commands, ("commands",), 115)
    if sum(command.get("type", 1) == 1 for command in chat_input) > 100:
        errors.add((), "APPLICATION_COMMAND_TOO_MANY", "Maximum number of application commands reached (100).")
    for number, command in enumerate(chat_input):
        _command(errors, command, (number,))
    return errors.tree


def _command(errors: Errors, command: Json, path: tuple[object, ...]) -> None:
    name = command.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[-_'\w]{1,32}", name) or name != name.lower():
        errors.add((*path, "name"), "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    if command.get("type", 1) == 1 or len(path) > 1:
        errors.text(command.get("description"), (*path, "description"), 100, needed=True)
    optional_seen = False
    for number, option in enumerate(errors.count(command.get("options"), (*path, "options"), 25)):
        spot = (*path, "options", number)
        _command(errors, option, spot)
        optional_seen |= not option.get("required")
        if option.get("required") and optional_seen and option.get("type") not in (1, 2):
            errors.add(spot, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options must be placed first")
        if option.get("autocomplete") and option.get("choices"):
            errors.add(spot, "APPLICATION_COMMAND_AUTOCOMPLETE_WITH_CHOICES", "Autocomplete excludes choices")
