"""Two workers, two destinations and one state, of which any step may follow any other (F21)."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bot.core.errors import Deferred, LeaseLost, MessageRejected, NotifyError, OutcomeUnknown
from bot.core.model.delivery import Dead, Delivery, DeliveryState, Lane, Owed, Receipt, RetryAt, Sent, Settlement
from bot.core.model.route import DestinationUid
from bot.core.settle import DeliveryRules, settle, settle_look_up
from bot.store.sqlite import SqliteConnection
from bot.store.sqlite_file import open_sqlite
from bot.store.store import Store
from tests.chaos.simulation.database import InlineDatabase
from tests.chaos.simulation.power import Power
from tests.store.builders import LEASE, NOW, X, Y, announced, entry, new, started

T = TypeVar("T")

RULES = DeliveryRules()
MEMORY = Path("/dev/shm")
MOST = 8  # entries in a run: what matters is what becomes of them
COMMITS_LATE = 40.0  # seconds after its answer: between the first look and the second
OPEN = ("pending", "sending", "unknown", "held")
FATES = st.sampled_from(("stored", "lost before", "lost after", "late", "429", "rejected", "never"))
WORKERS = st.sampled_from(("one", "two"))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Everything here answers at once, so that no loop is needed."""
    try:
        while True:
            work.send(None)
    except StopIteration as end:
        value: T = end.value
        return value


@dataclass(slots=True)
class Worker:
    """One process, and how far it has come with the lane it holds."""

    store: Store
    lane: Lane | None = None
    queue: list[Owed] = field(default_factory=list)
    begun_at: float | None = None  # by the clock that nobody sets
    outcome: Receipt | NotifyError | None = None

    @property
    def busy(self) -> bool:
        return self.begun_at is not None or self.outcome is not None

    @property
    def head(self) -> Delivery:
        return self.queue[0].delivery

    def die(self) -> None:
        self.lane, self.queue, self.begun_at, self.outcome = None, [], None, None


class OutboxMachine(RuleBasedStateMachine):
    """The service's log is the judge: each key once, in the order of the commits, none without its intent."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None, prefix="feedbell-"))
        self.now, self.elapsed, self.count = NOW, 0.0, 0
        self.told: dict[DestinationUid, list[str]] = {X: [], Y: []}
        self.owed: dict[DestinationUid, list[str]] = {X: [], Y: []}
        self.late: list[tuple[float, DestinationUid, str]] = []
        self.refused: dict[str, str] = {}
        self.workers: dict[str, Worker] = {}
        self.databases: list[InlineDatabase] = []

    @initialize()
    def begin(self) -> None:
        for name in ("one", "two"):
            opened = open_sqlite(self.folder / "bell.db", exclusive=False)
            self.databases.append(InlineDatabase(opened.engine, Power()))
            self.workers[name] = Worker(store=Store(self.databases[-1], opened, owner=name))
        run(started(self.workers["one"].store))
        self.asking = SqliteConnection(self.folder / "bell.db", readonly=True)
        self.publish(count=2, to=(X, Y))

    # --- what happens

    @precondition(lambda self: self.count < MOST)
    @rule(count=st.integers(1, 3), to=st.sampled_from(((X,), (Y,), (X, Y))))
    def publish(self, count: int, to: tuple[DestinationUid, ...]) -> None:
        entries = []
        for _ in range(count):
            self.count += 1
            entries.append(new(entry(self.count, at=self.now), *to, due_at=self.now, created_at=self.now))
        run(announced(self.workers["one"].store, *entries, at=self.now))
        for each in entries:
            for one in each.deliveries:
                self.owed[one.delivery.destination].append(one.delivery.idem)

    @rule(name=WORKERS, steps=st.integers(1, 12), fate=FATES)
    def work(self, name: str, steps: int, fate: str) -> None:
        """A worker goes on for some steps, in the midst of which anything may come; its first send has that fate."""
        for _ in range(steps):
            fate = self._step(self.workers[name], fate)

    @precondition(lambda self: any(worker.lane for worker in self.workers.values()))
    @rule(name=WORKERS)
    def die(self, name: str) -> None:
        self.workers[name].die()

    @rule(seconds=st.sampled_from((1.0, 16.0, 31.0, 70.0, 130.0, 1000.0)))
    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.elapsed += seconds
        for at, uid, key in self.late:
            if at <= self.elapsed:
                self.told[uid].append(key)
        self.late = [each for each in self.late if each[0] > self.elapsed]

    @precondition(lambda self: not self.late and not any(worker.busy for worker in self.workers.values()))
    @rule(hours=st.sampled_from((-24.0, -1.0, -0.01, 0.01, 1.0, 24.0)))
    def set_the_clock(self, hours: float) -> None:
        """Not between an intent and its answer, where a leap beyond the lease is what nobody can promise (C20)."""
        self.now += timedelta(hours=hours)
        run(self.workers["one"].store.set_right(now=self.now))  # as the process does, which notices within a second

    # --- what must hold

    @invariant()
    def nothing_is_told_twice(self) -> None:
        for uid, keys in self.told.items():
            assert [key for key, times in Counter(keys).items() if times > 1] == [], uid

    @invariant()
    def what_is_told_is_in_order(self) -> None:
        for uid, keys in self.told.items():
            free = [key for key in keys if key not in self.refused]
            assert free == [key for key in self.owed[uid] if key in set(free)], uid

    @invariant()
    def what_is_marked_as_sent_was_told(self) -> None:
        if self.workers:
            marked = {row["idem"] for row in self.asking.rows("SELECT idem FROM delivery WHERE state = 'sent'")}
            assert marked <= {key for keys in self.told.values() for key in keys}

    def teardown(self) -> None:
        """The services are well again: what is owed is told or given up, and nothing waits."""
        try:
            if self.workers:
                self._come_to_rest()
        finally:
            for database in self.databases:
                run(database.close())
            if self.workers:
                self.asking.close()
            shutil.rmtree(self.folder)

    def _come_to_rest(self) -> None:
        for worker in self.workers.values():
            worker.die()
        worker, idle = self.workers["two"], 0
        while idle < 3:
            self.wait(130.0)
            self._claim(worker)
            idle = 0 if worker.lane is not None else idle + self._is_at_rest()
            while worker.lane is not None:
                self._step(worker, "stored")
        self.nothing_is_told_twice()
        self.what_is_told_is_in_order()
        for uid, keys in self.owed.items():
            gone = {key for key, fate in self.refused.items() if fate == "never"}
            assert set(keys) - gone == set(self.told[uid]) - gone, f"{uid}: lost"

    def _is_at_rest(self) -> bool:
        """A clock that was set back a day may leave something due later, but never for longer than that."""
        waits = self.asking.row(f"SELECT COUNT(*) AS n FROM delivery WHERE state IN {OPEN}")
        if waits is not None and waits["n"]:
            self.wait(1000.0)
            assert self.elapsed < 1e7, "something waits for ever"
            return False
        return True

    # --- the steps of a worker

    def _step(self, worker: Worker, fate: str) -> str:
        """Return the fate that is left for the next send."""
        if worker.lane is None:
            self._claim(worker)
        elif worker.begun_at is not None:
            self._send(worker, fate)
            return "stored"
        elif worker.outcome is not None:
            self._record(worker)
        elif not worker.queue:
            self._give_back(worker)
        elif worker.head.state is DeliveryState.UNKNOWN:
            self._look(worker)
        else:
            self._intend(worker)
        return fate

    def _claim(self, worker: Worker) -> None:
        worker.lane = run(worker.store.claim_lane(now=self.now, lease=LEASE, limit=5))
        worker.queue = list(worker.lane.owed) if worker.lane is not None else []

    def _intend(self, worker: Worker) -> None:
        try:
            assert worker.lane is not None
            run(worker.store.begin(worker.head, {}, epoch=worker.lane.destination.epoch, now=self.now))
            worker.begun_at = self.elapsed
        except LeaseLost:
            worker.die()

    def _send(self, worker: Worker, fate: str) -> None:
        assert worker.begun_at is not None
        if self.elapsed - worker.begun_at > LEASE.total_seconds() / 2:  # as the outbox: frozen meanwhile
            worker.die()
            return
        worker.begun_at = None
        # "unknown" if its lease ran out meanwhile: whoever took the lane waits for the grace from here.
        assert self._state_of(worker.head.idem) in ("sending", "unknown"), "sent without its intent"
        worker.outcome = self._answer(worker.head, fate)

    def _record(self, worker: Worker) -> None:
        assert worker.lane is not None
        assert worker.outcome is not None
        result = settle(worker.head, worker.lane.destination, worker.outcome, now=self.now, roll=0.5, rules=RULES)
        worker.outcome = None
        self._settle(worker, result)

    def _look(self, worker: Worker) -> None:
        assert worker.lane is not None
        found = Receipt(remote_ref="1") if worker.head.idem in self.told[worker.head.destination] else None
        self._settle(
            worker,
            settle_look_up(worker.head, worker.lane.destination, found, now=self.now, roll=0.5, rules=RULES),
        )

    def _give_back(self, worker: Worker) -> None:
        assert worker.lane is not None
        run(worker.store.release_lane(worker.lane.destination.uid, epoch=worker.lane.destination.epoch))
        worker.die()

    def _answer(self, delivery: Delivery, fate: str) -> Receipt | NotifyError:
        """What the service does, and what it says."""
        if fate in ("rejected", "never"):
            self.refused.setdefault(delivery.idem, fate)
        refused = self.refused.get(delivery.idem)
        if refused == "never" or (refused == "rejected" and not delivery.plain):
            return MessageRejected(refused)
        if fate == "429":
            return Deferred("too many", retry_after=timedelta(seconds=40), throttled=True)
        if fate in ("stored", "rejected", "lost after"):
            self.told[delivery.destination].append(delivery.idem)
        if fate == "late":
            self.late.append((self.elapsed + COMMITS_LATE, delivery.destination, delivery.idem))
        return Receipt(remote_ref="1") if fate in ("stored", "rejected") else OutcomeUnknown(fate)

    def _settle(self, worker: Worker, result: Settlement) -> None:
        lane = worker.lane
        assert lane is not None
        try:
            run(worker.store.settle(worker.head, result, epoch=lane.destination.epoch, now=self.now))
        except LeaseLost:
            worker.die()
            return
        if isinstance(result, RetryAt) and result.plain:
            owed = worker.queue[0]
            worker.queue[0] = replace(owed, delivery=replace(owed.delivery, plain=True, state=DeliveryState.PENDING))
        elif isinstance(result, Sent | Dead):
            worker.queue.pop(0)
        else:
            worker.queue = []  # the destination waits; all that is left is to give it back

    def _state_of(self, idem: str) -> str:
        row = self.asking.row("SELECT state FROM delivery WHERE idem = :idem", idem=idem)
        assert row is not None
        return str(row["state"])
