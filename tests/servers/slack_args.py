"""Reads the arguments of a Slack call from query, form or JSON, and judges those that make a message."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qsl

from aiohttp import web

from tests.servers.faults import Json
from tests.servers.slack_blocks import MAX_BLOCKS_TEXT, block_errors, blocks_text_size
from tests.servers.slack_state import TS, SlackError

NESTED = ("blocks", "attachments", "metadata")
MAX_TEXT = 40_000  # chat.postMessage cuts here
MAX_UPDATE_TEXT = 4_000  # chat.update refuses above
MAX_METADATA = 4_000  # reported for metadata_too_large; the documentation names no number


async def call_arguments(request: web.Request) -> Json:
    """Return all arguments; nested ones decoded."""
    args: Json = dict(request.query)
    if request.method == "POST":
        args |= _body(request.headers.get("Content-Type"), await request.read())
    for key in NESTED:
        if isinstance(args.get(key), str):
            args[key] = _nested(key, args[key])
    return args


def _body(kind: str | None, body: bytes) -> Json:
    if not body:
        return {}
    if kind is None:
        raise SlackError("missing_post_type")
    media, _, params = kind.partition(";")
    charset = re.search(r'charset="?([\w-]+)', params)
    if charset and charset[1].lower() not in ("utf-8", "iso-8859-1"):
        raise SlackError("invalid_charset")
    media = media.strip().lower()
    if media == "application/json":
        return _json_body(body)
    if media == "application/x-www-form-urlencoded":
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    raise SlackError("invalid_post_type")


def _json_body(body: bytes) -> Json:
    try:
        value = json.loads(body)
    except ValueError:
        raise SlackError("invalid_json") from None
    if not isinstance(value, dict):
        raise SlackError("json_not_object")
    return value


def _nested(key: str, text: str) -> object:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        error = {"blocks": "invalid_blocks_format", "metadata": "invalid_metadata_format"}
        raise SlackError(error.get(key, "invalid_attachments")) from None


def flag(args: Json, name: str, default: bool = False) -> bool:
    value = args.get(name, default)
    return value if isinstance(value, bool) else str(value).lower() in ("true", "1")


def whole_number(args: Json, name: str, default: int, most: int) -> int:
    value = args.get(name, default)
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", str(value)):
        raise SlackError("invalid_limit")
    if not 1 <= int(value) <= most:
        raise SlackError("invalid_limit")
    return int(value)


def timestamp(args: Json, name: str) -> float | None:
    value = args.get(name)
    if value in (None, ""):
        return None
    if not TS.fullmatch(str(value)):
        raise SlackError(f"invalid_ts_{name}")
    return float(str(value))


def judge_message(args: Json, *, update: bool = False) -> None:
    """Raise what Slack would answer to the contents of a message; no word on where it goes."""
    text, blocks, attachments = args.get("text"), args.get("blocks"), args.get("attachments")
    if text is not None and not isinstance(text, str):
        raise SlackError("invalid_arguments")
    _judge_markdown(args)
    if not (str(text or "").strip() or blocks or attachments or args.get("markdown_text")):
        raise SlackError("no_text")
    if update and len(text or "") > MAX_UPDATE_TEXT:
        raise SlackError("msg_too_long")
    if isinstance(attachments, list) and len(attachments) > 100:
        raise SlackError("too_many_attachments")
    if blocks is not None:
        judge_blocks(blocks)
    if args.get("metadata") is not None:
        judge_metadata(args["metadata"], update=update)


def _judge_markdown(args: Json) -> None:
    if args.get("markdown_text") and (args.get("text") or args.get("blocks")):
        raise SlackError("markdown_text_conflict")
    if len(str(args.get("markdown_text") or "")) > 12_000:
        raise SlackError("msg_too_long")


def judge_blocks(blocks: object) -> None:
    if not isinstance(blocks, list):
        raise SlackError("invalid_blocks_format")
    errors = block_errors(blocks)
    if errors:
        messages = {"messages": [f"[ERROR] {error}" for error in errors]}
        raise SlackError("invalid_blocks", errors=errors, response_metadata=messages)
    if blocks_text_size(blocks) > MAX_BLOCKS_TEXT:
        raise SlackError("msg_blocks_too_long")


def judge_metadata(metadata: object, *, update: bool = False) -> None:
    if not isinstance(metadata, dict):
        raise SlackError("invalid_metadata_format")
    if update and not metadata:
        return  # removes what was there
    kind, payload = metadata.get("event_type"), metadata.get("event_payload")
    if not isinstance(kind, str) or not re.fullmatch(r"[\w.]{1,255}", kind) or not isinstance(payload, dict):
        raise SlackError("invalid_metadata_schema")
    if set(metadata) - {"event_type", "event_payload", "entities"}:
        raise SlackError("invalid_metadata_schema")
    if len(json.dumps(metadata, ensure_ascii=False).encode()) > MAX_METADATA:
        raise SlackError("metadata_too_large")
