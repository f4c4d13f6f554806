"""Frozen records as JSON text: only what differs from the defaults, so that older and newer rows read well."""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, TypeVar, get_args, get_origin

from bot.store.sql import span_ms, to_ms, to_time

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    default: object
    encode: Callable[[Any], object] | None
    decode: Callable[[Any], object] | None


_KNOWN: dict[type, tuple[_Field, ...]] = {}


def dump(record: object) -> str:
    """Return the record as JSON, without the fields that have their default."""
    found: dict[str, object] = {}
    for field in _fields(type(record)):
        value = getattr(record, field.name)
        if value != field.default:
            found[field.name] = value if field.encode is None or value is None else field.encode(value)
    return json.dumps(found, separators=(",", ":")) if found else "{}"


def load(kind: type[R], text: str) -> R:
    """Return the record; names it does not know are left out, missing ones have their defaults."""
    if text == "{}":
        return kind()
    stored = json.loads(text)
    known: dict[str, Any] = {}
    for field in _fields(kind):
        if field.name in stored:
            value = stored[field.name]
            known[field.name] = value if field.decode is None or value is None else field.decode(value)
    return kind(**known)


def _fields(kind: type) -> tuple[_Field, ...]:
    found = _KNOWN.get(kind)
    if found is None:
        found = _KNOWN[kind] = tuple(_Field(f.name, f.default, *_codec(f.type)) for f in fields(kind))
    return found


def _codec(annotation: Any) -> tuple[Callable[[Any], object] | None, Callable[[Any], object] | None]:
    options = get_args(annotation) if get_origin(annotation) is not tuple else ()
    for option in options or (annotation,):
        if option is datetime:
            return to_ms, to_time
        if option is timedelta:
            return span_ms, lambda ms: timedelta(milliseconds=ms)
        if get_origin(option) is tuple:
            return list, tuple
        if isinstance(option, type) and issubclass(option, Enum):
            return lambda member: member.value, option
    return None, None
