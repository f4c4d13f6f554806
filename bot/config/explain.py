"""pydantic's errors in our words: what is wrong, what is allowed, and the nearest right name."""

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from bot.config.errors import quoted
from bot.config.fields import kind_of
from bot.config.places import Fault
from bot.config.settings import Settings
from bot.config.toml_positions import KeyPath
from bot.config.values import did_you_mean


def faults_of(error: ValidationError) -> list[Fault]:
    """Translate pydantic's errors, one fault each."""
    return [_fault(details) for details in error.errors(include_url=False)]


def _fault(details: ErrorDetails) -> Fault:
    path: KeyPath = details["loc"]
    kind, context = details["type"], details.get("ctx", {})
    value = details["input"]
    if kind == "extra_forbidden":
        return _unknown_key(path)
    if kind == "missing":
        return Fault(path=path, message=f"missing; {_called(path)} needs it")
    if path[-1:] == ("[key]",):
        return Fault(path=path[:-1], message=_message(kind, context, value), at="key")
    return Fault(path=path, message=f"{_message(kind, context, value)}{_written(kind, path, value)}")


def _message(kind: str, context: Mapping[str, Any], value: object) -> str:
    match kind:
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return _not_one_of(str(context["expected"]), value)
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
    wanted = {
        "string_type": "text in quotes is",
        "int_type": "a whole number is",
        "bool_type": "true or false is",
        "tuple_type": "a list is",
        "dict_type": "a table is",
        "model_type": "a table is",
    }.get(kind)
    return f"{wanted} wanted, not {kind_of(value)}" if wanted else "not allowed here"


def _written(kind: str, path: KeyPath, value: object) -> str:
    """Say how a table is written whose brackets are those of the other kind."""
    name = ".".join(part for part in path if isinstance(part, str))
    if kind == "tuple_type" and isinstance(value, dict) and path in (("feeds",), ("routes",)):
        return f"; write [[{name}]]"
    is_doubled = kind == "model_type" and isinstance(value, list) and isinstance(path[-1], str)
    return f"; write [{name}]" if is_doubled else ""


def _not_one_of(expected: str, value: object) -> str:
    allowed = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
    if not isinstance(value, str):
        return f"text in quotes is wanted, not {kind_of(value)}"
    words = ", ".join(f'"{word}"' for word in allowed)
    return f"{quoted(value)} is not allowed; allowed: {words}{did_you_mean(value, allowed)}"


def _called(path: KeyPath) -> str:
    """Return what lacks a key, as the operator would call it."""
    return f"each [[{path[0]}]]" if len(path) == 3 and isinstance(path[1], int) else "this table"


def _unknown_key(path: KeyPath) -> Fault:
    known = keys_at(path[:-1])
    hint = did_you_mean(str(path[-1]), known)
    if not hint and len(path) > 1 and path[-1] in keys_at(()):
        hint = " here; it belongs to the top of the file, before the first table"
    message = f"unknown key{hint}" if hint else f"unknown key; known here: {', '.join(known)}"
    secrets = keys_at(path[:-1], secret=True)
    is_like_secret = "auth" in path or bool(did_you_mean(str(path[-1]), secrets))
    return Fault(path=path, message=message, at="key", hide=is_like_secret)


def keys_at(path: KeyPath, *, secret: bool = False) -> list[str]:
    """Return the keys that may stand in the table at a key path, or those that may only come from elsewhere."""
    model: type[BaseModel] = Settings
    for part in path:
        if isinstance(part, str):
            info = next((i for name, i in model.model_fields.items() if part in (name, i.alias)), None)
            found = _model_in(info.annotation) if info else None
            if found is None:
                return []
            model = found
    return [info.alias or name for name, info in model.model_fields.items() if _is_secret(info.annotation) is secret]


def _is_secret(annotation: object) -> bool:
    return annotation is SecretStr or any(_is_secret(arg) for arg in get_args(annotation))


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _model_in(arg))), None)
