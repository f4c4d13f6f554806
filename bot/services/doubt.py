"""After an unclean stop or a restored backup, what waits may have been told all the same (R-15)."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from bot.core.errors import LookupImpossible, NotifyError
from bot.core.model.delivery import (
    DeliveryKind,
    DeliveryState,
    Destination,
    Owed,
    Receipt,
    RetryAt,
    Sent,
    Settlement,
)
from bot.core.model.message import Message, Payload
from bot.core.model.route import DestinationUid
from bot.core.settle import DeliveryRules, retry_delay
from bot.ports import History, Notifier

STALE = timedelta(minutes=10)  # since the last write: the state may be a copy of a former one
LASTS = timedelta(hours=1)  # after the start; by then every feed was polled, and has brought again what a copy forgot
LOOKS = 5  # that fail in a row; then what is owed is sent, for a history that never answers must not silence us
ROWS = 1000  # looked for at once; a longer queue is looked for in parts


class Doubt:
    """Asks each destination's history, once for all that is owed there, what it holds already.

    A kill loses nothing that was committed, but a power cut on a disk that lies, or a copy that was put back, do; and
    from inside they look alike.
    """

    def __init__(self, *, since: datetime, until: datetime) -> None:
        self._since = since
        self._until = until
        self._looked: set[str] = set()
        self._failures: Counter[str] = Counter()
        self._told_until: dict[DestinationUid, int] = {}

    @classmethod
    def at_start(cls, *, was_clean: bool, last_write: datetime | None, now: datetime) -> "Doubt | None":
        """None: the state is surely as it was left."""
        is_stale = last_write is not None and now - last_write > STALE
        if was_clean and not is_stale:
            return None
        return cls(since=min(last_write or now, now), until=now + LASTS)

    def may_ask(self, destination: Destination, notifier: Notifier | None, *, now: datetime) -> bool:
        """Whether a history can still be asked there; if not, nothing has to be read for it."""
        return now < self._until and isinstance(notifier, History) and self._failures[destination.uid] < LOOKS

    def is_about(self, owed: Sequence[Owed]) -> bool:
        """Whether any of these may have been told before this start."""
        return any(self._is_open(one) for one in owed)

    def told_until(self, uid: DestinationUid) -> int:
        """The place of the newest entry there that was told before this start, and is not known to be; 0: none."""
        return self._told_until.get(uid, 0)

    async def settle(
        self,
        destination: Destination,
        owed: Sequence[Owed],
        *,
        notifier: Notifier | None,
        render: Callable[[Owed], Message],
        record: Callable[[Owed, Settlement], Awaitable[None]],
        now: datetime,
        roll: float,
        rules: DeliveryRules,
    ) -> bool:
        """Record what of `owed` was told already; True: something was, or nobody could say and the queue must wait."""
        if not isinstance(notifier, History) or not self.may_ask(destination, notifier, now=now):
            return False
        open_rows = [one for one in owed if self._is_open(one)]
        if not open_rows:
            return False
        payloads = partial(_rendered, open_rows, lambda one: notifier.to_payload(render(one)))
        try:
            found = await self._told(notifier, destination, open_rows, payloads)
        except NotifyError as error:
            again = self._look_again_at(destination, error, now=now, roll=roll, rules=rules)
            await record(open_rows[0], RetryAt(at=again, why=str(error), throttled=True))
            return True
        for one in open_rows:
            if (receipt := found.get(one.delivery.idem)) is not None:
                await record(one, Sent(receipt=receipt, how="found"))
                if one.delivery.kind is DeliveryKind.ENTRY:
                    uid = destination.uid
                    self._told_until[uid] = max(self.told_until(uid), one.delivery.seq)
            self._looked.add(one.delivery.idem)  # not before: what could not be recorded is looked for again
        return bool(found)

    def _look_again_at(
        self, destination: Destination, error: NotifyError, *, now: datetime, roll: float, rules: DeliveryRules
    ) -> datetime:
        """Later each time. Who says when to come again has answered: that is no failed look (Slack: 50 a minute)."""
        failed, asked = self._failures[destination.uid], error.retry_after
        if asked is not None:
            del self._failures[destination.uid]
        wait = retry_delay(max(destination.failures, failed - 1), roll=roll, asked=asked, rules=rules)
        return min(now + wait, self._until)

    async def _told(
        self,
        history: History,
        destination: Destination,
        rows: Sequence[Owed],
        payloads: Callable[[], Mapping[str, Payload]],
    ) -> Mapping[str, Receipt]:
        since = min(self._since, *(one.delivery.created_at for one in rows))
        keys = {one.delivery.idem for one in rows}
        self._failures[destination.uid] += 1
        try:
            # Hundreds of them are made in a thread: people who ask must get in between.
            found = await history.told(destination, keys, partial(asyncio.to_thread, payloads), since)
        except LookupImpossible:
            found = {}
        del self._failures[destination.uid]
        return found

    def _is_open(self, one: Owed) -> bool:
        """Not looked for yet; an edit repeated changes nothing, and needs no look.

        What was tried and is to be tried again counts too: a copy may have been made between its tries.
        """
        delivery = one.delivery
        waits = delivery.state is DeliveryState.PENDING and delivery.kind is not DeliveryKind.EDIT
        return waits and delivery.idem not in self._looked


def _rendered(rows: Sequence[Owed], render: Callable[[Owed], Payload]) -> Mapping[str, Payload]:
    """What cannot be rendered was never sent; what becomes of it is told when it is tried."""
    found: dict[str, Payload] = {}
    for one in rows:
        with suppress(ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
            found[one.delivery.idem] = render(one)
    return found
