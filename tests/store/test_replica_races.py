"""PostgreSQL: what two replicas write in the very same moment, step by step."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest

from bot.store import intake, lanes
from bot.store.sql import Tx
from bot.store.store import Store
from tests.store.builders import LEASE, NOW, X, announced, claimed, entry, new, next_due_at, plan, started
from tests.store.lane_steps import owing, take
from tests.store.test_postgres import closed, replicas

WAITS = "SELECT 1 AS one FROM pg_locks WHERE NOT granted LIMIT 1"
PATIENCE = 10.0  # seconds that a replica may take to run into the other one's lock


class Between:
    """A transaction in which something happens before its first statement of a kind."""

    def __init__(self, tx: Tx, kind: str, happens: Callable[[], object]) -> None:
        self._tx = tx
        self._kind = kind
        self._happens: Callable[[], object] | None = happens

    def run(self, sql: str, **params: Any) -> int:
        if sql.startswith(self._kind) and self._happens is not None:
            happens, self._happens = self._happens, None
            happens()
        return self._tx.run(sql, **params)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)


async def test_a_release_that_comes_late_leaves_the_lane_to_whoever_has_taken_it(postgres_url: str) -> None:
    first, second = await replicas(postgres_url, 2)
    await owing(first, 1)
    lane, loop = await take(first), asyncio.get_running_loop()

    def release(tx: Tx) -> None:
        stolen = lambda: asyncio.run_coroutine_threadsafe(take(second, NOW + LEASE), loop).result()  # noqa: E731
        lanes.release(Between(tx, "UPDATE", stolen), first.owner, X, lane.destination.epoch)

    await first._db.write(release)
    assert await first.claim_lane(now=NOW + LEASE, lease=LEASE, limit=1) is None
    await closed([first, second])


async def _sync(store: Store) -> None:
    await store.sync_destinations([X], now=NOW)


async def _set_right(store: Store) -> None:
    await store.set_right(now=NOW)


@pytest.mark.parametrize("look", [_sync, _set_right])
async def test_a_replica_that_starts_does_not_put_off_what_another_one_just_owes(
    postgres_url: str, look: Callable[[Store], Coroutine[Any, Any, None]]
) -> None:
    first, second = await replicas(postgres_url, 2)
    await started(first, destinations=(X,))
    await announced(first, new(entry(1), X, due_at=NOW + timedelta(hours=20)))
    state, loop = await claimed(first), asyncio.get_running_loop()
    looking: list[Any] = []

    def poll(tx: Tx) -> None:
        intake.commit(tx, plan(state, new(entry(2), X)), owner=first.owner, ops=None)
        looking.append(asyncio.run_coroutine_threadsafe(look(second), loop))
        until = time.monotonic() + PATIENCE
        while tx.row(WAITS) is None and time.monotonic() < until:
            tx.row("SELECT pg_sleep(0.01)")

    await first._db.write(poll)
    await asyncio.wrap_future(looking[0])
    assert await next_due_at(first) == NOW
    assert (await take(first)).owed[0].entries[0].title == "Post 2"
    await closed([first, second])
