"""Buttons on the wire: what pressing one asks stands in the button itself, so that any replica can answer."""

import re
from collections.abc import Sequence

from bot.core.errors import Forged
from bot.services.commands import Asked, Button, Who

_VALUE = re.compile(r"(?P<how>[pr]):(?P<page>\d{1,3}):(?P<name>[a-z]{1,20}):(?P<text>.*)", re.DOTALL)


def to_value(button: Button) -> str:
    return f"{'p' if button.posts else 'r'}:{button.page}:{button.name}:{button.text}"


def that_fit(buttons: Sequence[Button], longest: int) -> Sequence[Button]:
    """Return the buttons whose value a platform can carry; what the others would ask can be typed."""
    return [button for button in buttons if len(to_value(button).encode("utf-16-le")) // 2 <= longest]


def to_asked(value: str, who: Who) -> Asked:
    """Read a value that came back. Raises Forged for one that we never made."""
    found = _VALUE.fullmatch(value)
    if found is None:
        raise Forged("no button of ours has this value")
    return Asked(name=found["name"], text=found["text"], who=who, page=int(found["page"]), public=found["how"] == "p")
