"""What commands print: tables for people, JSON for programs, one line for each thing that happened."""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from io import TextIOWrapper
from typing import TYPE_CHECKING

import click

from bot.core.errors import UsageError
from bot.core.model.delivery import Sent
from bot.core.text.amounts import amount
from bot.core.text.characters import clean, one_line

if TYPE_CHECKING:
    from bot.app.once import Round


# Of what json.dumps leaves as it is: DEL and C1 controls, line separators, marks that turn the direction of writing.
_STEERING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def round_lines(done: "Round", now: datetime) -> Iterator[str]:
    """How `once` went, in one line for each thing worth a look and one for the whole."""
    for event in done.polls:
        if event.error is not None or event.outcome == "put off":
            yield f"{event.feed}: {event.error or 'its host asked for peace; not polled now'}"
    for state in done.left:
        words = f"its server asked to be left alone; to be polled {when(state.asked_until, now)}"
        yield f"{state.feed.id}: {words}{f': {state.error}' if state.error else ''}"
    for row in done.destinations:
        if row.destination.parked:
            yield f"{row.destination.uid}: parked: {row.destination.parked}"
        if row.dead:
            yield f"{row.destination.uid}: {row.dead} dead; see `feedbell status`"
    new = sum(event.new for event in done.polls)
    sent = sum(isinstance(event.result, Sent) for event in done.sends)
    waiting = f", {done.waiting} waiting to be retried" if done.waiting else ""
    counts = (amount(len(done.polls), "feed"), amount(new, "new entry", "new entries"), amount(sent, "message"))
    yield f"{counts[0]} polled, {counts[1]}, {counts[2]} sent{waiting}"


@contextmanager
def named_files() -> Iterator[None]:
    """Files that somebody named: what the system says of them is no fault of ours, and one line."""
    try:
        yield
    except OSError as error:
        # The system names a file that can't be opened, but not one that can't be written to its end.
        where = error.filename or "cannot write the file"
        raise UsageError(f"{where}: {(error.strerror or 'failed').lower()}") from error


def open_what_is_closed() -> None:
    """Give a standard stream that was closed before the start something that takes nothing, or holds nothing.

    Python has None for it, and the next file or socket would get its number. What is written to stdout fails, as
    on a full disk: nobody got it. What is written to stderr is let go.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), mode, encoding="utf-8"))


def write_what_can_be_shown() -> None:
    """Show a question mark for what the terminal has no character for, instead of ending there."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


class Progress:
    """A count that grows in place on a terminal; nothing elsewhere."""

    def __init__(self, noun: str, done: str) -> None:
        self._noun, self._done = noun, done
        self._count = 0
        self._shown = sys.stderr.isatty()

    def step(self, _: object) -> None:
        self._count += 1
        if self._shown:
            click.echo(f"\r{amount(self._count, self._noun)} {self._done}", nl=False, err=True)

    def end(self) -> None:
        if self._shown and self._count:
            click.echo("\r" + " " * 40 + "\r", nl=False, err=True)


def when(at: datetime | None, now: datetime) -> str:
    """How long ago, or how soon: "3 min ago", "in 12 min"; "-" for never."""
    if at is None:
        return "-"
    seconds = (at - now).total_seconds()
    size = abs(seconds)
    if size < 1:
        return "now"
    unit, name = next((u, n) for u, n in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")) if size >= u)
    words = f"{size / unit:.0f} {name}"
    return f"in {words}" if seconds > 0 else f"{words} ago"


def say(text: str = "", *, err: bool = False, bold: bool = False) -> None:
    """Print lines; what could steer the terminal is taken out, for feeds and servers wrote a part of them."""
    shown = clean(text)
    if bold and os.environ.get("TERM") != "dumb":  # which shows the marks themselves; click takes out a pipe's
        shown = click.style(shown, bold=True)
    try:
        click.echo(shown, err=err)
    except OSError:
        if not err:  # or there is nobody left to tell, and what was done is no other for that
            raise


def print_json(value: object) -> None:
    """Print a value whole; what could steer a terminal goes as an escape of JSON."""
    takes_all = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(value, ensure_ascii=not takes_all, indent=2)
    click.echo(_STEERING.sub(lambda match: f"\\u{ord(match.group()):04x}", text))


def print_table(rows: Sequence[Mapping[str, str]], *, empty: str) -> None:
    """Print a table; columns are the keys of the first row. Colour and lines only on a terminal."""
    if not rows:
        say(empty)
        return
    rows = [{name: one_line(cell) for name, cell in row.items()} for row in rows]
    if sys.stdout.isatty():
        _print_rich(rows)
        return
    columns = list(rows[0])
    widths = [max(len(name), *(len(row[name]) for row in rows)) for name in columns]
    for cells in ([name.upper() for name in columns], *([row[name] for name in columns] for row in rows)):
        say("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())


def _print_rich(rows: Sequence[Mapping[str, str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row.values()))
    Console().print(table)
