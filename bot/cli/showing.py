"""Payloads on a terminal, side by side, each read as its platform reads it."""

import json
from collections.abc import Mapping, Sequence

from markupsafe import Markup
from rich.box import ROUNDED
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bot.core.model.message import Bullets, Payload, Preformatted, Quote, Span
from bot.core.model.message import Text as Words
from bot.core.model.route import DestinationUid
from bot.core.text.blocks import html_to_blocks
from bot.web.looks import discord, slack

COLUMN = 44  # characters; narrower ones are hard to read


def show(payloads: Mapping[DestinationUid, Payload], *, console: Console | None = None) -> None:
    """Print a panel for each destination, as many beside each other as the terminal takes."""
    console = console or Console(highlight=False, emoji=False, markup=False)
    beside = max(1, min(len(payloads), console.width // COLUMN))
    panels = [
        Panel(_text(uid, one), title=Text(uid, style="bold"), title_align="left", box=ROUNDED)
        for uid, one in payloads.items()
    ]
    for start in range(0, len(panels), beside):
        grid = Table.grid(expand=True)
        for _ in range(beside):
            grid.add_column(ratio=1)
        grid.add_row(*panels[start : start + beside])
        console.print(grid)


def _text(uid: str, payload: Payload) -> Text:
    match uid.partition(":")[0]:
        case "slack" | "slack-webhook":
            return _drawn(slack.draw(payload))
        case "discord" | "discord-user" | "discord-webhook":
            return _drawn(discord.draw(payload))
        case "email":
            return _mail(payload)
        case "console":
            return Text(str(payload.get("text", "")))
        case _:
            return Text(json.dumps(payload, ensure_ascii=False, indent=2))


def _mail(payload: Payload) -> Text:
    headers = payload.get("headers")
    named = headers if isinstance(headers, Mapping) else {}
    text = Text()
    for name in ("From", "Subject", "List-Unsubscribe"):
        if name in named:
            text.append(f"{name}: ", style="dim").append(f"{named[name]}\n", style="bold" if name == "Subject" else "")
    return text.append(f"\n{payload.get('text', '')}".rstrip())


def _drawn(markup: Markup) -> Text:
    """What the inbox page draws, in lines."""
    # There a line feed is a line feed, by the page's style.
    blocks = html_to_blocks(str(markup).replace("\n", "<br>"), base_url=None)
    lines: list[Text] = []
    for block in blocks:
        match block:
            case Preformatted():
                lines += [Text(f"    {line}", style="cyan") for line in block.text.split("\n")]
            case Bullets():
                marks = (f"{number}. " if block.ordered else "• " for number in range(1, len(block.items) + 1))
                lines += [Text(mark).append_text(_line(item)) for mark, item in zip(marks, block.items, strict=True)]
            case Quote():
                lines += [Text("│ ", style="dim").append_text(line) for line in _line(block.spans).split("\n")]
            case _:
                lines.append(_line(block.spans))
    return Text("\n").join(lines)


def _line(spans: Sequence[Span]) -> Text:
    line = Text()
    for span in spans:
        if isinstance(span, Words):
            line.append(span.text, style=_style(span))
    return line


def _style(span: Words) -> str:
    marks = {
        "bold": span.bold,
        "italic": span.italic,
        "strike": span.strike,
        "cyan": span.code,
        "underline": span.href is not None,
    }
    return " ".join(mark for mark, on in marks.items() if on)
