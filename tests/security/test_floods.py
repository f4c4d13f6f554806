"""T30: a feed with new names in each document, for thirty days: few digests, and a state that stops growing."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.core.model.delivery import Destination, Receipt
from bot.core.model.feed import Feed, FeedId
from bot.core.model.message import Message, Payload
from bot.core.model.route import DestinationUid, Route
from bot.core.render import render_owed
from bot.core.settle import DeliveryRules
from bot.core.telling import MAX_DIGESTS_PER_DAY
from bot.services.means import Means
from bot.services.outbox import Outbox
from bot.services.pacing import Pacer
from tests.chat_room import Room, RoomClock, feed_of

DAYS, POLLS, ITEMS, KEPT = 30, 2, 60, 200
NEWS = DestinationUid("slack:#news")


def document(poll: int) -> bytes:
    """Neither a guid nor a link nor a word of it was ever seen before."""
    names = [f"{poll}-{number}" for number in range(ITEMS)]
    return feed_of(
        "".join(
            f"<item><title>Made up {name}</title><link>https://www.example.org/{name}</link><guid>{name}</guid>"
            f"<category>tag {name}</category><description>{name} words</description></item>"
            for name in names
        )
    )


class Slack:
    """A channel that takes everything; counts the digests of each day."""

    def __init__(self, clock: RoomClock) -> None:
        self.clock = clock
        self.digests: Counter[str] = Counter()

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        return {"kind": message.kind.value}

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        self.digests[f"{self.clock.now():%Y-%m-%d}"] += payload["kind"] == "digest"
        return Receipt()


class Unhurried(RoomClock):
    """Whoever sleeps for long sleeps until the test is over: leases need no renewal here."""

    async def sleep(self, delay: timedelta) -> None:
        if delay > timedelta(seconds=30):
            await asyncio.Event().wait()


def outbox_of(room: Room, slack: Slack) -> Outbox:
    means = Means(
        notifiers={"slack": slack},  # type: ignore[dict-item]  # nothing but these two is asked of it
        render=lambda owed: render_owed(owed, timezone=ZoneInfo("UTC")),
        rules=DeliveryRules(),
        pacer=Pacer(room.clock, destinations={}, services={}),
    )
    return Outbox(store=room.store, clock=room.clock, means=means, observe=lambda event: None)


async def test_thirty_days_of_random_names_make_few_digests_and_a_bounded_state(tmp_path: Path) -> None:
    room = await Room.open(tmp_path, Unhurried())
    slack = Slack(room.clock)
    outbox = outbox_of(room, slack)
    room.routing.routes = (Route(name="routes[0]", to=(NEWS,)),)
    feed = Feed(id=FeedId("flood"), url="https://www.example.org/feed.xml")
    await room.store.sync_destinations([NEWS], now=room.clock.now())
    entries = []
    for poll in range(DAYS * POLLS):
        room.feeds.clear()
        await room.read(feed, document(poll))
        await outbox.drain()
        room.clock.advance(timedelta(days=1) / POLLS)
        if poll % POLLS == POLLS - 1:
            await room.store.prune(now=room.clock.now(), keep_keys=KEPT)
            entries.append((await room.store.sizes())["entry"])
    assert max(entries) <= KEPT + POLLS * ITEMS
    assert entries[-1] <= entries[5]
    assert len(await room.store.tags()) <= entries[-1]
    assert 1 <= max(slack.digests.values()) <= MAX_DIGESTS_PER_DAY
    await room.close()
