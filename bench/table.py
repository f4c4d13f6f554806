"""A row for each goal, and the table they make."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One goal: what was measured against its bar. `held` None: not measured, `note` says why."""

    number: str
    what: str
    measured: str = "–"
    bar: str
    held: bool | None = None
    note: str = ""


_HEADINGS = ("#", "goal", "measured", "bar", "held", "note")
_WORDS = {True: "yes", False: "NO", None: "not measured"}


def as_text(rows: Iterable[Row]) -> str:
    """The table as Markdown, its columns aligned for a terminal."""
    cells = [_HEADINGS, *((r.number, r.what, r.measured, r.bar, _WORDS[r.held], r.note) for r in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS))]
    lines = [_line(line, widths) for line in cells]
    return "\n".join([lines[0], _line(["-" * width for width in widths], widths), *lines[1:]]) + "\n"


def _line(line: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
