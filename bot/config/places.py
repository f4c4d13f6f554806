"""From a fault at a key path to a problem at a line, or at the variable or secret file that set the value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from bot.config.errors import Problem, has_secret_shape, mask, quoted
from bot.config.toml_positions import KeyPath, Place, Position, locate, within


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong at a key path; `offset` counts characters into the value, `hide` keeps that from being shown."""

    path: KeyPath
    message: str
    at: Literal["key", "value"] = "value"
    offset: int | None = None
    severity: Literal["error", "warning"] = "error"
    hide: bool = False


@dataclass(frozen=True, kw_only=True)
class Source:
    """The text of the file, and which values came from elsewhere; places are sought when the first problem asks."""

    path: str = "config.toml"
    text: str = ""
    origins: Mapping[KeyPath, tuple[str, str]] = field(default_factory=dict)

    @cached_property
    def places(self) -> Mapping[KeyPath, Place]:
        """Where each key of the file stands."""
        return locate(self.text)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines of the file."""
        return tuple(self.text.split("\n"))

    def problem(self, fault: Fault) -> Problem:
        """Return the fault with its place: that of the nearest enclosing key, where its own is not written."""
        for length in range(len(fault.path), 0, -1):
            path = fault.path[:length]
            # What is hidden stands in the file, whatever the environment says of the same key.
            if not fault.hide and (origin := self.origins.get(path)) is not None:
                return Problem(path=origin[0], key=origin[1], message=fault.message, severity=fault.severity)
            if (place := self.places.get(path)) is not None:
                return self._problem_at(
                    place, fault, shown=self._shown(fault.path, length), is_exact=path == fault.path
                )
        return Problem(path=self.path, key=dotted(fault.path), message=fault.message, severity=fault.severity)

    def _shown(self, path: KeyPath, length: int) -> str:
        """Name the key; a single value that stands for a list of one is not given a number."""
        is_single = all(isinstance(part, int) for part in path[length:])
        return dotted(path[:length] if is_single else path)

    def _problem_at(self, place: Place, fault: Fault, *, shown: str, is_exact: bool) -> Problem:
        position = place.key if fault.at == "key" and is_exact else place.value
        if is_exact and fault.offset is not None:
            position = within(self.text, position, fault.offset)
        return Problem(
            path=self.path,
            line=position.line,
            column=position.column,
            key=shown,
            message=fault.message,
            source_line=self._line(position, hide=fault.hide),
            severity=fault.severity,
        )

    def _line(self, position: Position, *, hide: bool) -> str:
        line = self.lines[position.line - 1]
        sign = line.find("=", position.column - 1) if hide else -1
        return mask(line if sign < 0 else f"{line[: sign + 1]} ***")


def dotted(path: KeyPath) -> str:
    """Write a key path as people do: feeds[0].auth.password."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            is_bare = part.replace("-", "").replace("_", "").isalnum() and part.isascii() and not has_secret_shape(part)
            name = part if is_bare else quoted(part)
            text += f".{name}" if text else name
    return text
