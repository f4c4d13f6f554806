"""What is looked for before it is sent, after an unclean stop or a restored backup (R-15)."""

from collections.abc import Mapping, Set
from datetime import datetime, timedelta
from itertools import pairwise

from bot.core.errors import Deferred, LookupUnavailable, NotifyError
from bot.core.lanes import bind
from bot.core.model.delivery import Destination, Receipt
from bot.ports import Payloads
from bot.services.doubt import LASTS, LOOKS, Doubt
from tests.services.fakes import FakeNotifier, Got
from tests.services.flow import HOUR, MINUTE, Flow, X, flows

DAY = timedelta(days=1)


class Remembering(FakeNotifier):
    """Implements ports.History too; `answers` are used up one by one."""

    def __init__(self, flow: Flow) -> None:
        super().__init__("slack", flow.clock)
        self.answers: list[NotifyError] = []
        self.asked: list[float] = []

    async def told(
        self, destination: Destination, keys: Set[str], payloads: Payloads, since: datetime
    ) -> Mapping[str, Receipt]:
        self.asked.append(self._clock.monotonic())
        if self.answers:
            raise self.answers.pop(0)
        return {message.key: Receipt(remote_ref="found") for message in self.stored if message.key in keys}


async def _doubting(flow: Flow, *answers: NotifyError) -> Remembering:
    """A bot that has just started on a copy of its state, and owes one message."""
    flow.slack = slack = Remembering(flow)
    slack.answers = list(answers)
    await flow.go_by(flow.rules)
    page = await flow.follow()
    now = flow.clock.now()
    flow.outbox.doubt = Doubt.at_start(was_clean=True, last_write=now - DAY, now=flow.clock.now())
    await flow.publish(page, "post 2")
    return slack


@flows
async def test_a_history_that_asks_for_patience_gets_it_and_nothing_is_sent_unseen(flow: Flow) -> None:
    busy = LookupUnavailable("slow down", retry_after=timedelta(minutes=1))
    slack = await _doubting(flow, *[busy] * (LOOKS + 2))
    await flow.run((LOOKS + 1) * MINUTE)
    assert slack.tried == []
    await flow.run(3 * MINUTE)
    assert slack.titles() == ["post 2"]
    assert all(later - earlier >= MINUTE for earlier, later in pairwise(slack.asked))
    assert len(slack.asked) == LOOKS + 3


@flows
async def test_a_history_that_asks_for_a_day_keeps_messages_no_longer_than_the_doubt_lasts(flow: Flow) -> None:
    slack = await _doubting(flow, LookupUnavailable("slow down", retry_after=DAY))
    await flow.run(LASTS.total_seconds() + MINUTE)
    assert slack.titles() == ["post 2"]
    assert len(slack.asked) == 1


@flows
async def test_a_history_that_never_answers_is_asked_less_and_less_and_then_no_more(flow: Flow) -> None:
    flow.clock.rolls = 0.9
    slack = await _doubting(flow, *[LookupUnavailable("down")] * 50)
    await flow.run(HOUR / 2)
    assert slack.titles() == ["post 2"]
    gaps = [later - earlier for earlier, later in pairwise(slack.asked)]
    assert len(slack.asked) == LOOKS
    assert gaps == sorted(gaps)
    assert gaps[-1] > 10


@flows
async def test_what_was_found_is_not_sent_because_the_store_could_not_take_it_down_at_once(flow: Flow) -> None:
    slack = await _doubting(flow)
    [owed] = await flow.store.recent(destination=X, limit=1)
    slack.stored.append(Got(at=0, uid=X, titles=("post 2",), key=owed.delivery.idem))
    flow.break_store("settle")
    await flow.run(5)
    assert len(slack.asked) > 0
    flow.mend_store()
    await flow.run(10 * MINUTE)
    assert slack.tried == []
    assert await flow.store.waiting(now=flow.clock.now()) == 0


@flows
async def test_the_digest_of_a_backlog_that_a_copy_has_forgotten_is_made_again_and_found(flow: Flow) -> None:
    flow.slack = slack = Remembering(flow)
    await flow.go_by(flow.rules)
    page = await flow.follow()
    slack.verdict = lambda uid, titles, plain: Deferred("down")
    for number in (2, 10, 18):
        await flow.publish(page, *(f"post {each}" for each in range(number, number + 8)))
        await flow.run(10 * MINUTE)
    owed = await flow.store.due_rows(X, now=flow.clock.now())
    digest = bind(owed[1:-10], now=flow.clock.now()).digest
    told = [owed[0], digest, *owed[-10:]]  # as the life did that the copy has forgotten
    slack.stored = [Got(at=0, uid=X, titles=(), key=row.idem) for row in told]
    slack.verdict, slack.tried = (lambda uid, titles, plain: None), []
    flow.outbox.doubt = Doubt.at_start(was_clean=True, last_write=flow.clock.now() - DAY, now=flow.clock.now())
    await flow.run(HOUR / 2)
    assert slack.tried == []
    assert await flow.store.waiting(now=flow.clock.now()) == 0


@flows
async def test_what_no_digest_has_told_is_told_though_newer_ones_were(flow: Flow) -> None:
    flow.slack = slack = Remembering(flow)
    await flow.go_by(flow.rules)
    page = await flow.follow()
    await flow.publish(page, "post 2", "post 3", "post 4")
    newest = (await flow.store.due_rows(X, now=flow.clock.now()))[-1]
    slack.stored = [Got(at=0, uid=X, titles=("post 4",), key=newest.idem)]
    flow.outbox.doubt = Doubt.at_start(was_clean=True, last_write=flow.clock.now() - DAY, now=flow.clock.now())
    await flow.run(HOUR / 2)
    assert slack.titles() == ["post 4", "post 2, post 3"]
