"""Builds the golden payloads; run as a program, writes them. Look at the difference before you commit it."""

import json
from collections.abc import Iterator
from pathlib import Path

from bot.core.model.delivery import Owed
from bot.core.model.entry import Entry
from bot.core.model.message import Payload
from bot.core.render import render_owed
from bot.notifiers import discord_layout, email_layout, slack_layout
from tests.core.messages import BERLIN, delivery, read_entries

SEED = Path(__file__).parent.parent / "feeds" / "seed" / "ai-networking.xml"
PLATFORMS = ("slack", "discord", "email")


def seed_entries() -> list[Entry]:
    return read_entries(SEED)


def seed_payloads() -> Iterator[tuple[str, list[Payload]]]:
    """Yield each platform with its payloads, oldest entry first."""
    messages = [
        render_owed(Owed(delivery=delivery(idem=f"{one.id:032x}"), entries=(one,)), timezone=BERLIN)
        for one in reversed(seed_entries())
    ]
    yield "slack", [slack_layout.to_payload(said) for said in messages]
    yield "discord", [discord_layout.to_payload(said) for said in messages]
    yield "email", [email_layout.to_payload(said, sender="news@example.org") for said in messages]


def to_text(payloads: list[Payload]) -> str:
    return json.dumps(payloads, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for platform, made in seed_payloads():
        Path(__file__).with_name(f"{platform}.json").write_text(to_text(made), encoding="utf-8")
