"""One mistake in the configuration, with its place and its line, as it is shown to the operator."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

SHOWN_WIDTH = 160  # columns of a source line; a longer one is cut around the caret

# Each pattern keeps its group `keep` and hides the rest of what it finds (T16). Runs are bounded, so that no line takes
# time by the square of its length.
_SECRET_SHAPES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<keep>)\bxox[a-z]-[\w.-]+",
        r"(?P<keep>)\bxapp-[\w.-]+",
        r"(?P<keep>)\b[MNO][\w-]{22,29}\.[\w-]{6,7}\.[\w-]{27,}",
        r"(?P<keep>\bhooks\.slack(?:-gov)?\.com/\w+/)[\w/+.-]+",
        r"(?P<keep>/services/)T\w+/B\w+/\w+",
        r"(?P<keep>/api/(?:v\d+/)?webhooks/\d+/)[\w-]+",
        r"(?P<keep>://)[^\s\"'/?#:]{0,200}:[^\s\"']{0,400}(?=@)",
    )
)
# Where a NAME should stand: refused there in other words, so no more than hidden here.
_HOOK = re.compile(r"(?P<keep>\bwebhook:)https?://[^\s\"']+")
_SECRET_KEYS = re.compile(
    r"(?P<keep>(?:token|secret|pass|pwd|api[_-]?key|private_?key|bearer|authorization|cookie)[\w-]{0,60}[\"']?"
    r"\s*=\s*)(?:\"(?:\\.|[^\"\\])*\"?|'[^']*'?|[^\s,}\]]+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A mistake (or a warning) as `config.toml:5:1: error: feeds[0].intervall: unknown key`, then the line and a caret.

    `path` is the file as the operator named it, or "environment"; lines and columns count from 1.
    `source_line` is masked already: a problem may be printed anywhere.
    """

    path: str
    line: int | None = None
    column: int | None = None
    key: str = ""
    message: str
    source_line: str | None = None
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        """Return the headline and, where there is one, the source line with its caret."""
        if self.source_line is None or self.column is None:
            return self.headline
        line, column = _cut_around(self.source_line, self.column)
        return f"{self.headline}\n    {line}\n    {_caret_indent(line, column)}^"

    @property
    def headline(self) -> str:
        """The problem in one line."""
        if self.path == "environment":
            return f"environment: {self.key}: {self.severity}: {self.message}"
        place = self.path if self.line is None else f"{self.path}:{self.line}:{self.column}"
        subject = f"{self.key}: " if self.key else ""
        return f"{place}: {self.severity}: {subject}{self.message}"


def mask(text: str) -> str:
    """Return `text` with everything that has the shape of a secret hidden, and no character that a terminal obeys."""
    for shape in (*_SECRET_SHAPES, _HOOK):
        text = shape.sub(r"\g<keep>***", text)
    text = _SECRET_KEYS.sub(r"\g<keep>***", text)
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def has_secret_shape(text: str) -> bool:
    """Tell whether a value looks like a token, a webhook's address or an address with a password."""
    return any(shape.search(text) for shape in _SECRET_SHAPES)


def quoted(value: object) -> str:
    """Return a value for a message: quoted, short, masked."""
    text = mask(str(value))
    return f'"{text[:57] + "…" if len(text) > 60 else text}"'


def _cut_around(line: str, column: int) -> tuple[str, int]:
    if len(line) <= SHOWN_WIDTH:
        return line, column
    start = max(0, column - 1 - SHOWN_WIDTH // 2)
    return line[start : start + SHOWN_WIDTH], column - start


def _caret_indent(line: str, column: int) -> str:
    """Return white space as wide as what stands before `column`, tabs kept and wide characters doubled."""
    before = line[: column - 1]
    return "".join("\t" if c == "\t" else "  " if unicodedata.east_asian_width(c) in "WF" else " " for c in before)
