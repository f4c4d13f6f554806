"""PostgreSQL: replicas that start together, race, and lose their server for a while."""

import asyncio
from datetime import timedelta

import pytest

from bot.core.errors import StoreUnavailable, StoreUnusable, UsageError
from bot.core.model.route import DestinationUid
from bot.store.store import Store, open_store
from tests.store.builders import LEASE, NOW, OPS, announced, entry, new, plan, started
from tests.store.conftest import Server


async def replicas(url: str, count: int) -> list[Store]:
    return list(await asyncio.gather(*(open_store(url, ops=OPS) for _ in range(count))))


async def closed(stores: list[Store]) -> None:
    await asyncio.gather(*(store.close(now=NOW) for store in stores))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:s3c%zzretpw@h/d",
        "postgresql://u:s3cretpw%00@h/d",
        "postgresql://u:s3cretpw@[::1/d",
        "postgresql://u:s3cretpw@[::1]x/d",
        'postgresql://u:s3cr"etpw@[]/d',
        "postgresql://u@h/d?password=s3c%zzretpw",
        "postgresql://u:s3cr@etpw@h/d",
        "postgresql://u:s3c/retpw@h/d",
    ],
)
async def test_an_address_that_cannot_be_read_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(StoreUnusable, match="can't read the address") as caught:
        await open_store(url)
    assert not any(part in str(caught.value) for part in ("s3c", "etpw"))
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("count", [3, 8])
async def test_replicas_may_start_on_an_empty_database_at_once(postgres_url: str, count: int) -> None:
    stores = await replicas(postgres_url, count)
    await started(stores[0])
    assert [len(await store.feeds()) for store in stores] == [1] * count
    await closed(stores)


async def test_replicas_share_feeds_and_lanes_without_meeting(postgres_url: str) -> None:
    stores = await replicas(postgres_url, 3)
    names = [f"feed{number}" for number in range(30)]
    uids = tuple(DestinationUid(f"slack:#{number}") for number in range(20))
    await started(stores[0], *names, destinations=uids)

    async def poll(store: Store) -> list[str]:
        found = []
        while states := await store.claim_feeds(now=NOW, lease=LEASE, limit=4):
            # Each names its destinations in another order, as careless code might.
            plans = [
                plan(state, new(entry(1, of=state.feed.id), *uids[state.no % 20 :], *uids[: state.no % 20]))
                for state in states
            ]
            await asyncio.gather(*(store.commit_intake(each, urgent=True) for each in plans))
            found += [state.feed.id for state in states]
        return found

    polled = await asyncio.gather(*(poll(store) for store in stores))
    assert sorted(name for found in polled for name in found) == sorted(names)

    async def lanes(store: Store) -> list[str]:
        found = []
        while lane := await store.claim_lane(now=NOW, lease=LEASE, limit=50):
            found.append(lane.destination.uid)
            assert [owed.delivery.seq for owed in lane.owed] == sorted(owed.delivery.seq for owed in lane.owed)
            assert len(lane.owed) == 30
        return found

    claimed = await asyncio.gather(*(lanes(store) for store in stores))
    assert sorted(uid for found in claimed for uid in found) == sorted(uids)
    await closed(stores)


async def test_a_server_that_restarts_is_found_again(postgres_url: str, server: Server) -> None:
    store = await open_store(postgres_url)
    await started(store)
    server.stop()
    with pytest.raises(StoreUnavailable):
        await store.put_meta("a", "b")
    with pytest.raises(StoreUnavailable):
        await store.feeds()
    with pytest.raises(StoreUnavailable):
        await open_store(postgres_url)
    server.start()
    await store.put_meta("a", "b")
    assert len(await store.feeds()) == 1
    await announced(store, new(entry(1)))
    await store.close(now=NOW)


async def test_a_session_that_the_server_ends_costs_one_answer(postgres_url: str) -> None:
    first, second = await replicas(postgres_url, 2)
    await started(first)
    await second._db.write(
        lambda tx: tx.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    )
    with pytest.raises(StoreUnavailable):
        await first.put_meta("a", "b")
    await first.put_meta("a", "b")
    await closed([first, second])


async def test_a_server_that_takes_no_writes_for_a_while_is_written_to_when_it_does_again(postgres_url: str) -> None:
    import psycopg

    store = await open_store(postgres_url)
    await started(store)
    with psycopg.connect(postgres_url, autocommit=True) as operator:
        operator.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
        try:
            ours = "FROM pg_stat_activity WHERE application_name = 'feedbell'"
            operator.execute(f"SELECT pg_terminate_backend(pid) {ours}")
            for _ in range(3):
                with pytest.raises(StoreUnavailable):
                    await store.put_meta("a", "b")
        finally:
            operator.execute("ALTER DATABASE postgres RESET default_transaction_read_only")
    await store.put_meta("a", "c")
    assert await store.meta("a") == "c"
    await store.close(now=NOW)


async def test_a_backup_is_the_servers_own_business(postgres_url: str, tmp_path: object) -> None:
    store = await open_store(postgres_url)
    with pytest.raises(UsageError, match="pg_dump"):
        await store.backup(tmp_path)  # type: ignore[arg-type]
    await store.close(now=NOW)


async def test_a_lease_stolen_in_a_long_pause_is_seen_by_its_old_holder(postgres_url: str) -> None:
    first, second = await replicas(postgres_url, 2)
    await started(first)
    (old,) = await first.claim_feeds(now=NOW, lease=LEASE, limit=1)
    later = NOW + LEASE + timedelta(seconds=1)
    (taken,) = await second.claim_feeds(now=later, lease=LEASE, limit=1)
    results = await asyncio.gather(
        first.commit_intake(plan(old, new(entry(1))), urgent=True),
        second.commit_intake(plan(taken, new(entry(1))), urgent=True),
        return_exceptions=True,
    )
    assert [type(result).__name__ for result in results] == ["LeaseLost", "Committed"]
    await closed([first, second])
