"""Builds the golden payloads; run as a program, writes them. Look at the difference before you commit it."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bot.core.model.delivery import Options, Owed
from bot.core.model.entry import Entry
from bot.core.model.message import Payload
from bot.core.render import render_owed
from bot.notifiers import discord_layout, email_layout, slack_layout
from bot.notifiers.console import ConsoleNotifier
from bot.notifiers.webhook import to_payload as webhook_payload
from tests.core.messages import BERLIN, delivery, read_entries
from tests.golden.thirty import thirty

HERE = Path(__file__).parent
SEED = HERE.parent / "feeds" / "seed" / "ai-networking.xml"
PLATFORMS = ("slack", "discord", "email", "console", "webhook")
UNSUBSCRIBE = "https://bell.example.org/unsubscribe/t0ken"


def seed_entries() -> list[Entry]:
    return read_entries(SEED)


def seed_payloads() -> Iterator[tuple[str, list[Payload]]]:
    """Yield each platform with its payloads of the seed, oldest entry first."""
    made = [payloads_of(one) for one in reversed(seed_entries())]
    for platform in PLATFORMS[:3]:
        yield platform, [payloads[platform] for payloads in made]


def thirty_payloads() -> Iterator[tuple[str, list[Payload]]]:
    """Yield each platform with its payloads of the thirty."""
    made = [payloads_of(one, unsubscribe_url=UNSUBSCRIBE) for one in thirty()]
    for platform in PLATFORMS:
        yield platform, [payloads[platform] for payloads in made]


def payloads_of(one: Entry, *, unsubscribe_url: str | None = None) -> Mapping[str, Payload]:
    """Return what each platform gets of an entry, its picture included."""
    owed = Owed(delivery=delivery(idem=f"{one.id:032x}", options=Options(image=True)), entries=(one,))
    said = render_owed(owed, timezone=BERLIN)
    mail = render_owed(owed, timezone=BERLIN, unsubscribe_url=unsubscribe_url)
    return {
        "slack": slack_layout.to_payload(said),
        "discord": discord_layout.to_payload(said),
        "email": email_layout.to_payload(mail, sender="news@example.org"),
        "console": ConsoleNotifier(io.StringIO()).to_payload(said),
        "webhook": webhook_payload(said),
    }


def to_text(payloads: Sequence[Payload]) -> str:
    return json.dumps(payloads, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for folder, rendered in ((HERE, seed_payloads()), (HERE / "thirty", thirty_payloads())):
        folder.mkdir(exist_ok=True)
        for name, made in rendered:
            (folder / f"{name}.json").write_text(to_text(made), encoding="utf-8")
