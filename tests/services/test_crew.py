"""Who works at destinations: how many at once, and how few questions that takes."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from bot.core.errors import StoreUnavailable
from bot.core.model.delivery import Destination, Lane
from bot.core.model.route import DestinationUid
from bot.services.crew import Crew
from bot.services.pacing import service_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Yard:
    """Lanes that are due, and how they are worked on: each takes a few turns of the loop."""

    def __init__(self, due: Sequence[str], *, lanes: int = 20, per_service: int = 5) -> None:
        self.due = list(due)
        self.crew = Crew(self._claim, self._work, lanes=lanes, per_service=per_service)
        self.claims = 0
        self.looks_past = 0  # claims that had to leave a service out
        self.refuse_at = -1
        self.claim_turns = 0  # of the loop, that a claim takes
        self.work_turns: dict[str, int] = {}  # of lanes that take more than a few
        self.ended: list[str] = []
        self.most: Counter[str] = Counter()
        self._now: Counter[str] = Counter()

    async def _claim(self, skip: frozenset[str]) -> Lane | None:
        self.claims += 1
        self.looks_past += any(":" not in name for name in skip)
        if self.claims == self.refuse_at:
            raise StoreUnavailable("busy")
        for _ in range(self.claim_turns):
            await asyncio.sleep(0)
        uid = next((uid for uid in self.due if service_of(uid) not in skip), None)
        if uid is None:
            return None
        self.due.remove(uid)
        destination = Destination(uid=DestinationUid(uid), epoch=1)
        return Lane(destination=destination, owed=(), waiting=0, oldest_due_at=NOW)

    async def _work(self, lane: Lane) -> None:
        service = service_of(lane.destination.uid)
        for name in (service, "all"):
            self._now[name] += 1
            self.most[name] = max(self.most[name], self._now[name])
        for _ in range(self.work_turns.get(lane.destination.uid, 3)):
            await asyncio.sleep(0)
        for name in (service, "all"):
            self._now[name] -= 1
        self.ended.append(lane.destination.uid)

    async def until_idle(self) -> None:
        while self.crew.is_busy:
            await self.crew.one_ended()
            await asyncio.sleep(0)  # its end is heard of


def channels(count: int, scheme: str = "slack") -> list[str]:
    return [f"{scheme}:C{number:03}" for number in range(count)]


async def test_one_that_ends_makes_room_for_the_next_without_waiting_for_a_tick() -> None:
    yard = Yard(channels(60))
    await yard.crew.fill()
    await yard.until_idle()
    assert yard.ended == channels(60)


async def test_no_service_gets_more_than_its_share_and_all_together_no_more_than_the_whole() -> None:
    yard = Yard([*channels(40), *channels(40, "discord"), *channels(40, "email")], lanes=12, per_service=5)
    await yard.crew.fill()
    await yard.until_idle()
    assert len(yard.ended) == 120
    assert max(yard.most[service] for service in ("slack", "discord", "email")) <= 5
    assert yard.most["all"] <= 12


async def test_one_that_ends_while_another_lane_is_claimed_gives_its_service_no_more_than_its_share() -> None:
    yard = Yard(channels(5), per_service=5)
    yard.work_turns = {**dict.fromkeys(channels(5), 100), "slack:C000": 20}
    await yard.crew.fill()
    assert yard.ended == []
    yard.due, yard.claim_turns = ["email:a@b.example", *channels(15)[5:]], 30
    await yard.crew.fill()
    assert yard.ended[0] == "slack:C000"
    assert yard.most["slack"] == 5


async def test_a_long_queue_of_one_service_is_not_looked_past_at_each_lane_that_ends() -> None:
    yard = Yard(channels(200))
    await yard.crew.fill()
    await yard.until_idle()
    assert len(yard.ended) == 200
    assert yard.looks_past <= 2
    assert yard.claims <= 210


async def test_another_service_is_served_beside_a_full_one() -> None:
    yard = Yard([*channels(50), "email:a@b.example"])
    await yard.crew.fill()
    assert "email:a@b.example" not in yard.due


async def test_lanes_that_were_claimed_are_worked_on_though_the_claim_beside_them_failed() -> None:
    yard = Yard(channels(4))
    yard.refuse_at = 3
    with pytest.raises(StoreUnavailable):
        await yard.crew.fill()
    await yard.until_idle()
    assert sorted(yard.ended) == channels(4)


async def test_whoever_is_stopped_claims_nothing_more() -> None:
    yard = Yard(channels(30))
    await yard.crew.fill()
    await yard.crew.stop(timedelta(seconds=5))
    assert len(yard.ended) + len(yard.due) == 30
    assert yard.due
