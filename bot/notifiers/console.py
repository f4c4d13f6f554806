"""Messages on a terminal: readable text that can't move the cursor or colour anything."""

import re
from datetime import datetime
from typing import TextIO

from bot.core.errors import Deferred, LookupImpossible, MessageRejected
from bot.core.model.delivery import WITHOUT_HISTORY, Destination, Probe, Receipt
from bot.core.model.message import Card, Message, Payload
from bot.core.render import block_lines
from bot.core.text.graphemes import cut
from bot.notifiers.fit import link_below, meta_line, plain_text, shown_title, written_out

BODY = 600  # characters; a terminal is not for reading articles
LIMIT = 100_000
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class ConsoleNotifier:
    """Implements ports.Notifier for `console`: writes to one text stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        text = plain_text(message, LIMIT, title=BODY) if plain else "\n".join(_lines(message))
        return {"text": _CONTROLS.sub(" ", text)}

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        text = f"{payload.get('text', '')}\n\n"
        encoding = self._stream.encoding or "utf-8"
        try:
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()
        except (OSError, ValueError) as error:  # ValueError: it is closed
            raise Deferred("the console can't be written to") from error
        return Receipt()

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        raise MessageRejected("what was printed can't be changed")

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        raise LookupImpossible(WITHOUT_HISTORY["console"])

    async def probe(self, destination: Destination) -> Probe:
        return Probe(why_not=WITHOUT_HISTORY["console"], name="console")


def _lines(message: Message) -> list[str]:
    lines = [message.heading] if message.heading else []
    lines += block_lines(message.blocks)
    for card in message.cards:
        lines += _card(card)
    for section in message.sections:
        named = [f"[{section.heading}]"] if section.heading else []
        for place, card in enumerate(section.cards):
            lines += [*([""] if lines else []), *(named if place == 0 else []), *_card(card)]
    return lines


def _card(card: Card) -> list[str]:
    if card.custom is not None:
        return written_out(card.custom)
    meta = " · ".join(filter(None, (meta_line(card), card.feed_title)))
    body = "\n".join(block_lines(card.body))
    shown = [shown_title(card), meta, link_below(card), cut(body, BODY) if body else None]
    return [line for line in shown if line]
