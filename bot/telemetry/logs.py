"""The log: one line for each record, as text for a terminal or as JSON for a collector; no secret in either."""

import json
import logging
import sys
import traceback
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, TextIO

from bot.telemetry.redaction import Redactor

# What libraries say below this is noise at best, and their DEBUG shows headers and bodies.
_LIBRARIES = {
    "aiohttp": logging.INFO,
    "aiohttp.access": logging.WARNING,
    "aiosmtplib": logging.INFO,
    "apscheduler": logging.WARNING,
    "asyncio": logging.INFO,
    "discord": logging.INFO,
    "discord.client": logging.ERROR,  # warns of what it does without: voice
    "psycopg": logging.INFO,
    "slack_sdk": logging.INFO,
    "urllib3": logging.INFO,
}
_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}
LONGEST = 20_000  # characters of one line


def setup_logging(
    level: str = "info",
    format: Literal["text", "json"] = "text",
    redact: Redactor | None = None,
    stream: TextIO | None = None,
) -> None:
    """Send all logging to `stream` (stderr), also warnings and what would crash the process.

    Calling it again replaces what the last call set, so that a reload can change level and form.
    """
    redact = redact or Redactor()
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(redact) if format == "json" else TextFormatter(redact))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name, least in _LIBRARIES.items():
        logging.getLogger(name).setLevel(max(least, root.level))
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # its way of telling shows a record's arguments as they are
    sys.excepthook = _log_crash


class TextFormatter(logging.Formatter):
    """`2026-09-16 12:05:33.120 INFO  bot: feed polled  feed=ai-networking new=1`."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        level = _LEVELS.get(record.levelname, record.levelname)
        parts = [f"{at:%Y-%m-%d %H:%M:%S}.{int(record.msecs):03d} {level:<5} {_name(record)}"]
        parts[0] += f": {self._redact(message_of(record))}"
        parts += [" ".join(f"{n}={_shown(self._redact.fact(n, value))}" for n, value in facts_of(record).items())]
        parts += [self._redact(crash_of(record))]
        return one_line("  ".join(filter(None, parts)))[:LONGEST]


class JsonFormatter(logging.Formatter):
    """One object: at, level, logger, event, the facts, and error where there is one."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        line = {
            "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": _name(record),
            "event": self._redact(message_of(record))[:LONGEST],
        }
        facts = {name: self._clean(name, value) for name, value in facts_of(record).items() if name not in line}
        crash = {"traceback": self._redact(crash_of(record))[:LONGEST]} if record.exc_info or record.stack_info else {}
        return one_line(json.dumps({**line, **facts, **crash}, ensure_ascii=False, default=str))

    def _clean(self, name: str, value: object) -> object:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {str(key): self._clean(str(key), one) for key, one in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._clean(name, one) for one in value]
        return self._redact.fact(name, value)[:LONGEST]


def message_of(record: logging.LogRecord) -> str:
    """Return the event's text; a library that gets its own arguments wrong must not cost us the line."""
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return str(record.msg)


def facts_of(record: logging.LogRecord) -> dict[str, object]:
    """Return what was given as `extra`."""
    return {name: value for name, value in vars(record).items() if name not in _OWN_FIELDS}


def crash_of(record: logging.LogRecord) -> str:
    """Return the traceback, never kept in the record: other handlers would show it as it is."""
    info = record.exc_info
    shown = "".join(traceback.format_exception(*info)) if info and info[0] is not None else ""
    return "\n".join(filter(None, (shown.strip(), record.stack_info or "")))


def one_line(text: str) -> str:
    """Escape all that could end a line, hide a part of it or steer a terminal (T14)."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == " " else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if char in short:
        return short[char]
    # Joiners make emoji and several scripts readable; they steer nothing.
    if char in "\u200c\u200d" or unicodedata.category(char) == "Zs":
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else json.dumps(char)[1:-1]


def _shown(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if not text or any(char in text for char in ' "=') else text


def _name(record: logging.LogRecord) -> str:
    return record.name.removeprefix("bot.")


def _log_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    logging.getLogger("bot").critical("crashed", exc_info=(kind, error, trace))
