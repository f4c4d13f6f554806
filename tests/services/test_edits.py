"""A changed entry changes its message, answers it, or does nothing: over the real store, to a platform of our own."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.errors import DestinationDown, OutcomeUnknown
from bot.core.model.delivery import DeliveryKind, DeliveryState, Destination, Options, Probe, Receipt
from bot.core.model.entry import Entry
from bot.core.model.message import Message, Payload
from bot.core.model.plan import EntryEdit
from bot.core.model.route import DestinationUid, OnEdit, edit_form
from bot.core.render import render_owed
from bot.core.settle import DeliveryRules
from bot.notifiers import email_layout, slack_layout
from bot.notifiers.webhook import to_payload as webhook_payload
from bot.services.means import Means
from bot.services.outbox import Outbox
from bot.services.pacing import Pacer
from bot.store.store import Store, open_store
from tests.edge.notifying import HandClock
from tests.services.fakes import Page
from tests.services.flow import HOUR, Flow, flows
from tests.store.builders import NOW, announced, claimed, entry, new, plan, started

SLACK, MAIL, HOOK = DestinationUid("slack:C0NEWS"), DestinationUid("email:a@example.org"), DestinationUid("webhook:x")
MINUTE = timedelta(minutes=1)
NOBODY_QUIET: Mapping[str, datetime] = {}


class Hand(HandClock):
    """Only what waits a little moves it: a lease is renewed in the background, which takes no time."""

    async def sleep(self, delay: timedelta) -> None:
        if delay > MINUTE / 2:
            await asyncio.Event().wait()
        await super().sleep(delay)


@dataclass
class Platform:
    """Implements ports.Notifier over the layout of a real one."""

    layout: str
    sent: list[tuple[str, Payload]] = field(default_factory=list)
    edited: list[tuple[str, Payload]] = field(default_factory=list)
    looked: int = 0
    lost_answers: int = 0

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        if self.layout == "slack":
            return slack_layout.to_payload(message, plain=plain)
        if self.layout == "email":
            return email_layout.to_payload(message, sender="news@example.org", plain=plain)
        return webhook_payload(message)

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        self.sent.append((key, payload))
        return Receipt(remote_ref=None if self.layout == "webhook" else f"ref{len(self.sent)}")

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        self.edited.append((remote_ref, payload))
        if self.lost_answers:
            self.lost_answers -= 1
            raise OutcomeUnknown("the answer was lost")
        return Receipt(remote_ref=remote_ref)

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        self.looked += 1
        return Receipt(remote_ref="ref1")

    async def probe(self, destination: Destination) -> Probe:
        return Probe(can_look_up=True)


class Room:
    """A store with one entry that was told everywhere, and an outbox."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = Hand(NOW)
        self.slack, self.mail, self.hook = Platform("slack"), Platform("email"), Platform("webhook")
        self.outbox = Outbox(
            store=store,
            clock=self.clock,
            means=Means(
                notifiers={"slack": self.slack, "email": self.mail, "webhook": self.hook},
                render=lambda owed: render_owed(owed, timezone=UTC),
                rules=DeliveryRules(),
                pacer=Pacer(self.clock, destinations={}, services={}),
            ),
            observe=lambda event: None,
        )

    async def tell(self, on_edit: OnEdit | None) -> Entry:
        await started(self.store, destinations=(SLACK, MAIL, HOOK))
        options = Options(routes=("routes[0]",), on_edit=on_edit)
        (stored,) = await announced(self.store, new(entry(1), SLACK, MAIL, HOOK, options=options))
        await self.outbox.drain()
        return stored

    async def tell_another(self, on_edit: OnEdit) -> Entry:
        options = Options(routes=("routes[0]",), on_edit=on_edit)
        (stored,) = await announced(self.store, new(entry(2), SLACK, options=options))
        await self.outbox.drain()
        return stored

    async def change(self, stored: Entry, quiet: Mapping[str, datetime] = NOBODY_QUIET, **changes: object) -> Entry:
        self.clock.at += MINUTE
        number = stored.edits + 1
        changed = replace(stored, content_hash=f"edit {number}", edits=number, **changes)  # type: ignore[arg-type]
        state = await claimed(self.store, at=self.clock.at)
        edit = EntryEdit(entry=changed, quiet=tuple(quiet.items()))
        await self.store.commit_intake(plan(state, edits=(edit,), at=self.clock.at), urgent=True)
        await self.outbox.drain()
        return changed

    async def edits_of(self, stored: Entry) -> list[tuple[str, str]]:
        rows = await self.store.deliveries_of(stored.id)
        return [(row.destination, row.state.value) for row, _ in rows if row.kind is DeliveryKind.EDIT]


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    store = await open_store(f"sqlite:///{tmp_path}/bell.db", exclusive=True)
    yield Room(store)
    await store.close(now=NOW)


def counts(room: Room) -> tuple[tuple[int, int], ...]:
    return tuple((len(one.sent), len(one.edited)) for one in (room.slack, room.mail, room.hook))


async def test_a_correction_changes_the_message_where_that_is_possible_and_is_no_mail(room: Room) -> None:
    stored = await room.tell(None)
    await room.change(stored, title="Put right")
    assert counts(room) == ((1, 1), (1, 0), (1, 0))
    ((ref, payload),) = room.slack.edited
    assert ref == "ref1"
    assert "Put right" in str(payload["text"])
    assert payload["metadata"] == room.slack.sent[0][1]["metadata"]


async def test_in_the_thread_a_correction_answers_what_it_corrects(room: Room) -> None:
    stored = await room.tell(OnEdit.THREAD)
    await room.change(stored, title="Put right")
    assert counts(room) == ((2, 0), (2, 0), (2, 0))
    assert room.slack.sent[1][1]["thread_ts"] == "ref1"
    headers = room.mail.sent[1][1]["headers"]
    assert isinstance(headers, dict)
    assert (headers["In-Reply-To"], headers["Subject"]) == ("ref1", "Re: Put right")
    assert [payload["type"] for _, payload in room.hook.sent] == ["entry", "edit"]
    keys = [key for one in (room.slack, room.mail, room.hook) for key, _ in one.sent]
    assert len(set(keys)) == 6


async def test_a_correction_that_is_a_message_waits_for_the_end_of_quiet_hours(room: Room) -> None:
    stored = await room.tell(OnEdit.THREAD)
    morning = NOW + timedelta(hours=7)
    changed = await room.change(stored, {"routes[0]": morning}, title="Put right")
    changed = await room.change(changed, {"routes[0]": morning}, title="Put right at last")
    assert counts(room) == ((1, 0), (1, 0), (1, 0))
    room.clock.at = morning
    await room.outbox.drain()
    assert counts(room) == ((2, 0), (2, 0), (2, 0))
    assert "Put right at last" in str(room.slack.sent[1][1]["text"])


async def test_in_place_or_for_a_route_that_is_awake_a_correction_waits_for_nothing(room: Room) -> None:
    stored = await room.tell(OnEdit.UPDATE)
    await room.change(stored, {"routes[0]": NOW + timedelta(hours=7)}, title="Put right")
    assert room.slack.edited
    stored = await room.tell_another(OnEdit.THREAD)
    await room.change(stored, {"routes[1]": NOW + timedelta(hours=7)}, title="Put right")
    assert len(room.slack.sent) == 3


@pytest.mark.parametrize("on_edit", [OnEdit.UPDATE, OnEdit.THREAD])
async def test_what_a_reader_would_not_see_is_no_correction(room: Room, on_edit: OnEdit) -> None:
    stored = await room.tell(on_edit)
    changed = await room.change(stored, summary_html="<p>Words of  post 1.</p> ", text="Words of post 1.")
    before = counts(room)
    again = await room.change(changed, content_html="<div>Nobody is shown this.</div>")
    assert counts(room) == before
    await room.change(again, title="Seen by everybody")
    assert room.slack.edited if on_edit is OnEdit.UPDATE else "Seen" in str(room.slack.sent[-1][1]["text"])


async def test_each_correction_is_told_once(room: Room) -> None:
    stored = await room.tell(OnEdit.THREAD)
    changed = await room.change(stored, title="First correction")
    await room.change(changed, title="Second correction")
    assert [len(room.slack.sent), len(room.mail.sent)] == [3, 3]
    assert [payload.get("thread_ts") for _, payload in room.slack.sent] == [None, "ref1", "ref1"]


async def test_a_correction_that_is_taken_back_is_taken_back(room: Room) -> None:
    stored = await room.tell(None)
    changed = await room.change(stored, title="Put wrong")
    await room.change(changed, title=stored.title)
    assert ["Put wrong" in str(payload["text"]) for _, payload in room.slack.edited] == [True, False]


async def test_ignored_means_nothing_is_owed(room: Room) -> None:
    stored = await room.tell(OnEdit.IGNORE)
    await room.change(stored, title="Put right")
    assert await room.edits_of(stored) == []
    assert counts(room) == ((1, 0), (1, 0), (1, 0))


async def test_a_change_whose_answer_was_lost_is_made_again_not_looked_for(room: Room) -> None:
    stored = await room.tell(None)
    room.slack.lost_answers = 1
    await room.change(stored, title="Put right")
    for _ in range(4):
        room.clock.at += MINUTE
        await room.outbox.drain()
    assert len(room.slack.edited) == 2
    assert room.slack.looked == 0
    assert await room.edits_of(stored) == [(SLACK, DeliveryState.SENT.value)]


async def _told_and_changed(flow: Flow, page: Page, *titles: str) -> None:
    """The last of these is changed while the first is being sent."""
    last, changed = titles[-1], f"{titles[-1]} put right"
    page.ids |= {last: "last", changed: "last"}
    await flow.publish(page, *titles)
    await flow.run(2)
    page.titles = [changed if title == last else title for title in page.titles]
    await flow.poll_now()


@flows
async def test_what_changes_in_a_queue_that_somebody_works_through_is_put_right_after_it(flow: Flow) -> None:
    page = await flow.follow()
    flow.slack.takes = timedelta(seconds=5)
    await _told_and_changed(flow, page, "post 2", "post 3")
    await flow.run(30)
    assert flow.slack.titles() == ["post 2", "post 3"]
    assert flow.slack.edits == [("ref 2", "post 3 put right")]


@flows
async def test_a_change_that_waits_in_that_queue_does_not_swallow_the_next_one(flow: Flow) -> None:
    page = await flow.follow()
    page.ids |= dict.fromkeys(("post 2", "post 2 b", "post 2 c"), "same")
    await flow.publish(page, "post 2")
    await flow.run(2)
    flow.slack.takes = timedelta(seconds=5)
    await flow.publish(page, "post 3")
    for words in ("post 2 b", "post 2 c"):
        page.titles = [words if title.startswith("post 2") else title for title in page.titles]
        await flow.poll_now()
        await flow.run(2)
    await flow.run(30)
    assert flow.slack.edits[-1] == ("ref 1", "post 2 c")


@flows
async def test_a_message_that_is_found_is_put_right_as_if_its_answer_had_come(flow: Flow) -> None:
    page, lost = await flow.follow(), OutcomeUnknown("reset")
    flow.slack.outcomes, flow.slack.stored_all_the_same = [lost], {lost}
    await _told_and_changed(flow, page, "post 2")
    await flow.run(2 * MINUTE.total_seconds())
    assert flow.slack.titles() == ["post 2"]
    assert flow.slack.edits == [("found", "post 2 put right")]


@flows
async def test_a_change_of_one_entry_never_takes_the_place_of_a_digest_that_came_to_hold_it(flow: Flow) -> None:
    page, lost = await flow.follow(), OutcomeUnknown("reset")
    flow.slack.takes, flow.slack.outcomes = timedelta(seconds=5), [DestinationDown("archived"), lost]
    flow.slack.stored_all_the_same = {lost}
    await _told_and_changed(flow, page, "post 2")
    await flow.run(10)
    for number in (3, 9):
        await flow.publish(page, *(f"post {each}" for each in range(number, number + 6)))
    await flow.run(2 * HOUR)
    assert flow.slack.titles()[0] == "post 2 put right, post 3, post 4"
    assert flow.slack.edits == []


@pytest.mark.parametrize(
    ("uid", "asked", "form"),
    [
        ("slack:#x", None, OnEdit.UPDATE),
        ("discord-webhook:x", None, OnEdit.UPDATE),
        ("discord-webhook:x", OnEdit.THREAD, OnEdit.UPDATE),
        ("slack-webhook:x", OnEdit.UPDATE, OnEdit.IGNORE),
        ("email:a@b.example", None, OnEdit.IGNORE),
        ("email:a@b.example", OnEdit.UPDATE, OnEdit.IGNORE),
        ("email:a@b.example", OnEdit.THREAD, OnEdit.THREAD),
        ("webhook:x", OnEdit.UPDATE, OnEdit.THREAD),
        ("webhook:x", None, OnEdit.IGNORE),
        ("console", OnEdit.THREAD, OnEdit.IGNORE),
        ("discord:1", OnEdit.IGNORE, OnEdit.IGNORE),
        ("ntfy:topic", None, OnEdit.IGNORE),
        ("ntfy:topic", OnEdit.THREAD, OnEdit.THREAD),
    ],
)
def test_each_platform_does_what_it_can(uid: str, asked: OnEdit | None, form: OnEdit) -> None:
    assert edit_form(DestinationUid(uid), asked) is form
