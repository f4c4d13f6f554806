"""Steps that tests of lanes share: take one, attempt, give back."""

from dataclasses import replace
from datetime import datetime, timedelta

from bot.core.model.delivery import (
    Delivery,
    Lane,
    Receipt,
    Sent,
    Settlement,
)
from bot.core.model.route import DestinationUid
from bot.store.store import Store
from tests.store.builders import LEASE, NOW, X, announced, entry, new, started

HOUR = timedelta(hours=1)
SENT = Sent(receipt=Receipt(remote_ref="1.2", remote_id="C1"))


async def take(store: Store, at: datetime = NOW, limit: int = 20) -> Lane:
    lane = await store.claim_lane(now=at, lease=LEASE, limit=limit)
    assert lane is not None
    return lane


async def attempt(store: Store, lane: Lane, result: Settlement, *, row: int = 0, at: datetime = NOW) -> Delivery:
    """Send the lane's delivery and settle it so."""
    delivery = replace(lane.owed[row].delivery, rendered_hash="rendered")
    await store.begin(delivery, {"text": "hello"}, epoch=lane.destination.epoch, now=at)
    await store.settle(delivery, result, epoch=lane.destination.epoch, now=at)
    return delivery


async def give_back(store: Store, lane: Lane) -> None:
    await store.release_lane(lane.destination.uid, epoch=lane.destination.epoch)


async def owing(store: Store, count: int = 3, *to: DestinationUid) -> None:
    await started(store)
    await announced(store, *(new(entry(number), *(to or (X,))) for number in range(1, count + 1)))


def titles(lane: Lane) -> list[str]:
    return [owed.entries[0].title for owed in lane.owed]
