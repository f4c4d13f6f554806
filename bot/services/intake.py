"""Intake: asks for due feeds, and turns what comes into one transaction each."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

from bot import crash
from bot.core.errors import FetchError, LeaseLost, ParseError, StoreError
from bot.core.failure import plan_failure
from bot.core.identity import identify_document, with_moments
from bot.core.model.entry import Known, ParsedEntry, ParsedFeed
from bot.core.model.feed import Feed, FeedId, FeedState, Fetched, NotModified, Validators
from bot.core.model.plan import IntakePlan
from bot.core.model.route import Route
from bot.core.moves import polled_url
from bot.core.novelty import is_made_anew, names_of
from bot.core.parse.cut import glance
from bot.core.plan import Document, plan_intake, plan_truncated, plan_unchanged
from bot.ports import Clock, Fetcher, Parser, Store, WakeUp
from bot.services.events import PollEvent
from bot.services.hosts import HostGate
from bot.services.leases import Renewals
from bot.services.withdrawals import with_withdrawn

log = logging.getLogger(__name__)

T = TypeVar("T")

LEASE = timedelta(minutes=2)  # longer than any fetch may take; renewed each third all the same
LARGE = 1 << 20  # bytes of a body that is hashed in a thread
MANY = 200  # items of a document that is compared in one
CLAIM = 500  # feeds in hand at once, most of them waiting for their host
BATCH = 100  # feeds in one claim
ARCHIVE_PAGES = 5  # N18
BUSY = (429, 503)  # a server that says so means all of its pages (P11); any other wait is for the one that was asked
PUSHED_INTERVAL = timedelta(hours=24)  # P20: between polls of a feed whose hub pushes


class Intake:
    """Polls feeds. `routes` is asked at each poll, so that follows made in chat count at once."""

    def __init__(
        self,
        *,
        store: Store,
        fetcher: Fetcher,
        parser: Parser,
        clock: Clock,
        gate: HostGate,
        routes: Callable[[], Awaitable[Sequence[Route]]],
        observe: Callable[[PollEvent], None],
        wake: WakeUp,
        polls: int = 50,
        max_new_single: int = 10,
    ) -> None:
        self.is_pushed: Callable[[FeedId], Awaitable[bool]] = _never
        self._store = store
        self._fetcher = fetcher
        self._parser = parser
        self._clock = clock
        self.gate = gate
        self.max_new_single = max_new_single
        self._routes = routes
        self._observe = observe
        self._wake = wake
        self._slots = asyncio.Semaphore(polls)
        self._running: set[asyncio.Task[PollEvent]] = set()
        self._leases = Renewals[int](
            lambda feed_no, epoch, until: store.renew_feed(feed_no, epoch=epoch, until=until), clock, LEASE
        )
        self._unreleased: dict[int, int] = {}  # feeds whose poll the store could not take, with the lease's epoch
        self._stopping = False

    # --- the loop ----------------------------------------------------------------------------------------------------

    async def poll_due(self) -> int:
        """Start polling what is due and finds room; return how many were started."""
        started = 0
        for feed_no, epoch in list(self._unreleased.items()):
            await self._store.release_feed(feed_no, epoch=epoch)
            self._unreleased.pop(feed_no, None)
        while not self._stopping and (room := CLAIM - len(self._running)) > 0:
            limit = min(room, BATCH)
            states = await self._store.claim_feeds(now=self._clock.now(), lease=LEASE, limit=limit)
            for state in states:
                self._start(state)
            started += len(states)
            if len(states) < limit:
                break
        return started

    async def poll_all(self) -> Sequence[PollEvent]:
        """Poll every feed once, whatever its interval (small print 2)."""
        states = await self._store.claim_all_feeds(now=self._clock.now(), lease=LEASE)
        return await asyncio.gather(*(self._start(state, patient=True) for state in states))

    async def stop(self, within: timedelta) -> None:
        """Poll nothing more; a poll that does not end in time is given up, nothing of it is written."""
        self._stopping = True
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=within.total_seconds())
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _start(self, state: FeedState, *, patient: bool = False) -> asyncio.Task[PollEvent]:
        task = asyncio.create_task(self._leased(state, patient=patient), name=f"poll {state.feed.id}")
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[PollEvent]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("poll failed by a fault of ours", extra={"poll": task.get_name()}, exc_info=error)
        if len(self._running) == CLAIM - BATCH:
            self._wake()  # there is room again for those that found none

    # --- one feed ----------------------------------------------------------------------------------------------------

    async def _leased(self, state: FeedState, *, patient: bool) -> PollEvent:
        self._leases.hold(state.no, state.epoch)
        try:
            event = await self._poll_in_turn(state, patient=patient)
        except LeaseLost:
            event = PollEvent(feed=state.feed.id, outcome="lost", error="another replica has taken it over")
        except StoreError as error:
            # Nothing was written: the same document is fetched again when the store is back (C1).
            self._unreleased[state.no] = state.epoch
            event = PollEvent(feed=state.feed.id, outcome="lost", error=str(error))
        finally:
            self._leases.let_go(state.no, state.epoch)
        self._observe(event)
        return event

    async def _poll_in_turn(self, state: FeedState, *, patient: bool) -> PollEvent:
        async with self.gate.turn(state.feed, polled_url(state), patient=patient) as turn:
            if turn.put_off_until is not None:
                await self._store.release_feed(state.no, epoch=state.epoch, next_poll_at=turn.put_off_until)
                return PollEvent(feed=state.feed.id, outcome="put off")
            async with self._slots:
                return await self.poll_feed(state)

    async def poll_feed(self, state: FeedState) -> PollEvent:
        """Fetch, read, plan, commit."""
        crash.point("poll.before_fetch")
        return await self._take(state, self._fetch(state))

    async def ingest(self, state: FeedState, document: Fetched) -> None:
        """Take a document that a hub pushed where a poll would have fetched it; the lease is ours."""
        self._leases.hold(state.no, state.epoch)
        try:
            self._observe(await self._take(state, self.read_document(state, document)))
        finally:
            self._leases.let_go(state.no, state.epoch)

    async def _take(self, state: FeedState, reading: Awaitable[IntakePlan]) -> PollEvent:
        plan = await self._plan(state, reading)
        plan = await with_withdrawn(state, plan, store=self._store, ask=self._ask_more, now=self._clock.now())
        return await self._commit(state, plan)

    async def _commit(self, state: FeedState, plan: IntakePlan) -> PollEvent:
        if plan.change.ok and state.memory.hub is not None and await self.is_pushed(state.feed.id):
            slow = max(plan.change.next_poll_at, plan.at + PUSHED_INTERVAL)
            plan = replace(plan, change=replace(plan.change, next_poll_at=slow))
        plan = replace(plan, was_due_at=state.next_poll_at)
        committed = await self._store.commit_intake(plan, urgent=bool(plan.entries or plan.notices))
        crash.point("poll.after_commit")
        for notice in plan.notices:
            log.warning("notice", extra={"words": notice.words})
        if committed.owed or plan.notices:
            self._wake()
        outcome = "failed" if not plan.change.ok else "new" if committed.entries else "nothing"
        return PollEvent(
            feed=state.feed.id,
            outcome=outcome,
            new=len(committed.entries),
            owed=committed.owed,
            error=plan.change.error,
        )

    async def _plan(self, state: FeedState, reading: Awaitable[IntakePlan]) -> IntakePlan:
        status = asked = None
        try:
            return await reading
        except FetchError as error:
            words, status, asked = str(error), error.status, error.retry_after
            if asked is not None and status in BUSY:
                self.gate.pause(polled_url(state), asked)
        except ParseError as error:
            words = str(error)
        except StoreError:
            raise
        except Exception as error:  # The per-item guard: a fault in one feed must not stop the others.
            log.exception("poll failed by a fault of ours", extra={"feed": state.feed.id})
            words = f"fault in feedbell: {type(error).__name__}"
        now, roll = self._clock.now(), self._clock.roll()
        return plan_failure(state, words, now=now, roll=roll, status=status, asked=asked)

    async def _fetch(self, state: FeedState) -> IntakePlan:
        answer = await self._fetcher.fetch(state.feed, polled_url(state), state.validators)
        if isinstance(answer, NotModified):
            return plan_unchanged(state, answer, now=self._clock.now(), roll=self._clock.roll())
        return await self.read_document(state, answer)

    async def _ask_more(self, feed: Feed, url: str) -> Fetched | NotModified:
        """Ask for one more page in a feed's turn (P11)."""
        await self.gate.rest(feed)
        return await self._fetcher.fetch(feed, url, Validators())

    async def read_document(self, state: FeedState, answer: Fetched) -> IntakePlan:
        """Turn a body into a plan: what a poll fetched, or what a hub pushed."""
        # A large one must not hold up the loop.
        seen = glance(answer.body) if len(answer.body) < LARGE else await asyncio.to_thread(glance, answer.body)
        body_hash, memory = seen.body_hash, state.memory
        is_same = body_hash == memory.body_hash
        same_head = is_same or (memory.head_hash is not None and seen.head_hash == memory.head_hash)
        if is_same or (same_head and seen.items_hash == memory.items_hash):
            now, roll = self._clock.now(), self._clock.roll()
            return plan_unchanged(state, answer, now=now, roll=roll, body_hash=body_hash)
        # Another head may say of every item how it is to be read.
        may_trim = same_head and memory.trim_ok and memory.section is not None
        listed = dict(state.listing) if may_trim else {}
        parsed = await self._parser.parse(answer.body, url=answer.url, content_type=answer.content_type, listed=listed)
        crash.point("poll.parsed")
        if parsed.truncated:
            cut = plan_truncated(state, now=self._clock.now(), roll=self._clock.roll())
            if cut is not None:
                return cut
        return await self._compare(state, answer, parsed, body_hash)

    async def _compare(self, state: FeedState, answer: Fetched, parsed: ParsedFeed, body_hash: str) -> IntakePlan:
        many = len(parsed.items) >= MANY
        document = await _aside(partial(_document, state, answer, parsed, body_hash), many)
        known = await self._store.known(state.no, await _aside(partial(names_of, document.identities), many))
        if _is_gap(state, known) and parsed.next_page is not None:
            document = await self._fill_gap(state, document)
            known = await self._store.known(state.no, names_of(document.identities))
        known = await self._with_moments(state, document, known)
        routes, told = await self._routes(), await self._told_before(state)
        plan = partial(
            plan_intake,
            state,
            document,
            known,
            routes,
            now=self._clock.now(),
            roll=self._clock.roll(),
            max_new_single=self.max_new_single,
            told=told,
        )
        return await _aside(plan, many)

    async def _with_moments(self, state: FeedState, document: Document, known: Known) -> Known:
        """Of a feed that seems to be made anew, look also for the titles and instants that the document lists."""
        fresh = [item for item in document.parsed.items if isinstance(item, ParsedEntry)]
        dates = [item.published for item in fresh if item.published is not None]
        if not dates or not is_made_anew(document.identities, known):
            return known
        return with_moments(known, await self._store.titled(state.no, since=min(dates), until=max(dates)))

    async def _told_before(self, state: FeedState) -> frozenset[str]:
        """What another bot has announced, as `feedbell import` left it; only a first poll asks."""
        text = await self._store.meta(f"told|{state.feed.id}") if state.primed_at is None else None
        return frozenset(json.loads(text)) if text is not None else frozenset()

    async def _fill_gap(self, state: FeedState, document: Document) -> Document:
        """Follow the document's older pages on the same host until an entry is known (RFC 5005, N18)."""
        parsed, seen = document.parsed, {document.fetched.url}
        page, items = parsed.next_page, list(parsed.items)
        for _ in range(ARCHIVE_PAGES):
            if page is None or page in seen or urlsplit(page).netloc != urlsplit(document.fetched.url).netloc:
                break
            seen.add(page)
            try:
                answer = await self._ask_more(state.feed, page)
                if isinstance(answer, NotModified):
                    break
                older = await self._parser.parse(
                    answer.body, url=answer.url, content_type=answer.content_type, listed={}
                )
            except (FetchError, ParseError):
                break  # What is on the first page is news all the same.
            items.extend(older.items)
            document = _document(state, document.fetched, replace(parsed, items=tuple(items)), document.body_hash)
            if (await self._store.known(state.no, names_of(document.identities))).by_hash:
                break
            page = older.next_page
        return document


def _document(state: FeedState, answer: Fetched, parsed: ParsedFeed, body_hash: str) -> Document:
    memory = state.memory
    named = identify_document(
        parsed.items, links_shared=memory.links_shared, guids_shared=memory.guids_shared, home=parsed.site_url
    )
    return Document(
        fetched=answer,
        parsed=parsed,
        identities=named.identities,
        links_shared=named.links_shared,
        guids_shared=named.guids_shared,
        body_hash=body_hash,
    )


async def _aside(work: Callable[[], T], many: bool) -> T:
    """Work through many items in a thread: people who ask meanwhile must not wait for it."""
    return await asyncio.to_thread(work) if many else work()


async def _never(_: FeedId) -> bool:
    return False


def _is_gap(state: FeedState, known: Known) -> bool:
    return state.primed_at is not None and known.total > 0 and not known.by_hash
