"""Answers in Discord's form."""

import re
from collections.abc import Sequence

from bot.chat.buttons import that_fit, to_value
from bot.chat.discord.requests import EPHEMERAL, Interaction
from bot.core.model.message import JsonValue
from bot.core.text.graphemes import cut
from bot.notifiers.discord_layout import escape, to_payload
from bot.notifiers.fit import utf16
from bot.services.commands import Answer, Asked, Button

Json = dict[str, JsonValue]

PONG, MESSAGE, DEFERRED, DEFERRED_UPDATE, UPDATE, CHOICES = 1, 4, 5, 6, 7, 8
CUSTOM_ID = 100  # characters
LABEL = 80
ROW, ROWS = 5, 5
HINT = 250  # characters, escaped; the layout leaves that much of the content
CONTENT = 2_000
_PUBLIC = re.compile(r"(?:^|\s)public(?:\s*:\s*(?:true|yes|1|on))?\s*$", re.IGNORECASE)


def to_message(answer: Answer) -> Json:
    """Return the message, without what says who sees it."""
    payload = to_payload(answer.message, webhook=True)
    content = str(payload.get("content") or "")
    if answer.hint:
        hint = f"-# {escape(cut(answer.hint, HINT, lambda text: utf16(escape(text))))}"
        longer = f"{content}\n{hint}".strip()
        content = longer if utf16(longer) <= CONTENT else content
    return {**payload, "content": content, "components": _rows(that_fit(answer.buttons, CUSTOM_ID))}


def to_callback(answer: Answer, interaction: Interaction) -> Json:
    """Return the first answer to an interaction."""
    message = to_message(answer)
    if interaction.replaces and not answer.public:
        return {"type": UPDATE, "data": message}
    return {"type": MESSAGE, "data": {**message, "flags": 0 if answer.public else EPHEMERAL}}


def to_deferral(interaction: Interaction) -> Json:
    """Return what says that the answer comes later. Who sees that decides who sees the answer."""
    if interaction.replaces:
        return {"type": DEFERRED_UPDATE}
    public = interaction.asked is not None and will_be_public(interaction.asked)
    return {"type": DEFERRED, "data": {"flags": 0 if public else EPHEMERAL}}


def will_be_public(asked: Asked) -> bool:
    """Whether the answer is asked for in public, as far as the text alone can tell."""
    return asked.name == "latest" and (asked.public or _PUBLIC.search(asked.text) is not None)


def to_choices(names: Sequence[str]) -> Json:
    return {"type": CHOICES, "data": {"choices": [{"name": name, "value": name} for name in names]}}


def _rows(buttons: Sequence[Button]) -> list[JsonValue]:
    """Lay buttons out; two that ask the same would have one id, which Discord refuses."""
    unique = list({to_value(button): button for button in buttons}.values())
    starts = range(0, min(len(unique), ROW * ROWS), ROW)
    return [{"type": 1, "components": [_button(button) for button in unique[at : at + ROW]]} for at in starts]


def _button(button: Button) -> Json:
    return {
        "type": 2,
        "style": 1 if button.is_main else 2,
        "label": cut(button.label, LABEL, utf16),
        "custom_id": to_value(button),
    }
