"""Feeds made for proof: every title names its world and its number, and some try to ping everybody."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from xml.sax.saxutils import escape

FIRST = datetime(2026, 9, 1, 8, tzinfo=UTC)
PINGS = ("", "", " @everyone", " &lt;!channel&gt;", " <!here>", " @here <@U0READER>")


def entry_name(world: str, number: int) -> str:
    return f"{world}n{number:05d}"


def feed_of(world: str, count: int, *, title: str = "Proof") -> bytes:
    """Return an RSS document: one old entry to prime with, and `count` entries, the newest first."""
    items = [_item(world, number) for number in reversed(range(count))]
    return "".join(
        (
            '<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel>',
            f"<title>{escape(title)}</title><link>https://news.example.org/</link><description>Proof</description>",
            *items,
            "<item><title>The day before</title><link>https://news.example.org/before</link>",
            f'<guid isPermaLink="false">{world}-before</guid><pubDate>{_date(-1)}</pubDate></item>',
            "</channel></rss>",
        )
    ).encode()


def _item(world: str, number: int) -> str:
    name = entry_name(world, number)
    # The link and the guid hold no name: only what a reader sees counts as told.
    slug = hashlib.sha256(name.encode()).hexdigest()[:12]
    title = escape(f"Item {name} in its order{PINGS[number % len(PINGS)]}")
    return (
        f"<item><title>{title}</title><link>https://news.example.org/{slug}</link>"
        f'<guid isPermaLink="false">{slug}</guid><pubDate>{_date(number)}</pubDate>'
        f"<category>News</category><category>bgp</category><description>What {slug} tells.</description></item>"
    )


def _date(number: int) -> str:
    return format_datetime(FIRST + timedelta(minutes=number))
