"""The judge is judged: bots that break one rule each, and are found out."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.model.delivery import (
    Delivery,
    DeliveryState,
    Destination,
    Lane,
    Owed,
    Receipt,
    RetryAt,
    Sent,
    Settlement,
    Unknown,
)
from bot.services.outbox import Outbox
from tests.chaos.simulation.clock import run_virtually
from tests.chaos.simulation.scene import Scale
from tests.chaos.simulation.world import Report, World

ROUGH = Scale(days=3, feeds=10, destinations=8, harm=6, kills_per_day=30, jumps_per_day=0, feeds_per_destination=10)


class SendsAgainAtOnce(Outbox):
    """No look-up: what is unknown is sent again."""

    async def _look(self, destination: Destination, delivery: Delivery) -> Settlement:
        return RetryAt(at=self._clock.now(), why="again")


class BelievesInLuck(Outbox):
    """Marked as sent whatever the answer was."""

    async def _attempt(self, destination: Destination, owed: Owed) -> Settlement:
        result = await super()._attempt(destination, owed)
        return Sent(receipt=Receipt()) if isinstance(result, Unknown) else result


class NoGrace(Outbox):
    """Looks at once, and once: a service that commits late is taken for one that did not."""

    async def _look(self, destination: Destination, delivery: Delivery) -> Settlement:
        return await super()._look(destination, replace(delivery, looks=1))

    async def _attempt(self, destination: Destination, owed: Owed) -> Settlement:
        result = await super()._attempt(destination, owed)
        return replace(result, look_at=self._clock.now()) if isinstance(result, Unknown) else result


class GoesOn(Outbox):
    """Whatever becomes of the head, the next one is sent."""

    async def _deliver(self, lane: Lane, owed: Owed, queue: list[Owed]) -> bool:
        await super()._deliver(lane, owed, queue)
        return True


class NoWaiting(Outbox):
    """Retry-After is forgotten."""

    async def _attempt(self, destination: Destination, owed: Owed) -> Settlement:
        result = await super()._attempt(destination, owed)
        throttled = isinstance(result, RetryAt) and result.throttled
        return RetryAt(at=self._clock.now(), why="at once", throttled=True) if throttled else result


class NoIntent(Outbox):
    """Sends before the intent is committed."""

    async def _attempt(self, destination: Destination, owed: Owed) -> Settlement:
        if owed.delivery.state is DeliveryState.PENDING and owed.entries:
            _, payload, _ = self._prepare(destination, owed)
            return Sent(receipt=await self._send(destination, owed, payload))
        return await super()._attempt(destination, owed)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (SendsAgainAtOnce, "is told twice"),
        (BelievesInLuck, "was never told"),
        (NoGrace, "is told twice"),
        (GoesOn, "out of order"),
        (NoWaiting, "too early"),
        (NoIntent, "without a committed intent"),
    ],
)
def test_a_bot_that_breaks_a_rule_is_found_out(folder: Path, broken: type[Outbox], words: str) -> None:
    found: list[str] = []
    for seed in range(8):
        for name in ("bell.db", "bell.db-wal", "bell.db-shm", "bell.db.exists"):
            (folder / name).unlink(missing_ok=True)
        found += _run(folder, broken, seed, until=words).complaints
        if any(words in complaint for complaint in found):
            return
    pytest.fail(f"{broken.__name__} passed: {found[:5]}")


def _run(folder: Path, outbox: type[Outbox], seed: int, *, until: str | None = None) -> Report:
    return run_virtually(lambda loop: World(loop, ROUGH, seed=seed, folder=folder, outbox=outbox, until=until).run())


def test_the_same_rough_days_are_nothing_to_the_real_one(folder: Path) -> None:
    for name in ("bell.db", "bell.db-wal", "bell.db-shm", "bell.db.exists"):
        (folder / name).unlink(missing_ok=True)
    report = _run(folder, Outbox, 0)
    assert report.complaints == (), str(report)
    assert timedelta(days=report.days) == timedelta(days=ROUGH.days)
