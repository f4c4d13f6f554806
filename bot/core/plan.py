"""All that one poll will write: a pure function of the document, the store's answer and the routes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.core.failure import plan_failure
from bot.core.model.entry import Identity, Key, Known, Listed, ParsedEntry, ParsedFeed
from bot.core.model.feed import FeedMemory, FeedState, Fetched, NotModified
from bot.core.model.plan import EntryEdit, FeedChange, IntakePlan, NewEntry, Notice
from bot.core.model.route import Route
from bot.core.moves import follow_redirects
from bot.core.novelty import Fresh, News, aliases_of, find_news
from bot.core.owing import Bundle, deliveries_of
from bot.core.recording import content_hash, entry_of
from bot.core.schedule import next_poll_at, quiet_ends
from bot.core.tags import Sections, decide_section, fold_all
from bot.core.telling import MAX_DIGESTS_PER_DAY, Telling, decide_telling

MAX_NEW_SINGLE = 10  # N17: what one poll of one feed may announce one by one
MAX_EDITS = 24  # N21: pages with a clock in them
TRUNCATED_POLLS = 3  # N14: from this one in a row on, the server always cuts
EMPTY_POLLS = 3  # N13
REKEY_PAUSE = timedelta(days=7)  # some feeds name their entries anew at each poll: that is told once


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document with the names of its items, in document order (None: nothing to go by).

    `links_shared` and `guids_shared` are what the feed has shown up to and including this document.
    """

    fetched: Fetched
    parsed: ParsedFeed
    identities: tuple[Identity | None, ...]
    links_shared: bool
    guids_shared: bool
    body_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Poll:
    """What the parts of a plan look at together."""

    state: FeedState
    document: Document
    sections: Sections
    memory: FeedMemory
    now: datetime

    @property
    def title(self) -> str:
        return self.document.parsed.title or self.state.title


def plan_intake(
    state: FeedState,
    document: Document,
    known: Known,
    routes: Sequence[Route],
    *,
    now: datetime,
    roll: float,
    max_new_single: int = MAX_NEW_SINGLE,
    told: frozenset[str] = frozenset(),
) -> IntakePlan:
    """Plan a poll that brought a document which is a feed, and whole (or cut off once too often, N14).

    `told` holds guids and links that another bot announced before this one took over; only a first poll looks at it.
    """
    parsed = document.parsed
    news = find_news(
        parsed.items,
        document.identities,
        known,
        links_shared=document.links_shared,
        primed_at=state.primed_at,
        oldest_first=state.memory.oldest_first,
        listed=frozenset(key for _, key in state.listing),
        cut=len(parsed.items) // 2 if parsed.total > len(parsed.items) else None,
    )
    sections = _sections(state, parsed)
    is_same_feed = not state.primed_at or any(item.stored is not None for item in news.items)
    memory, moved = follow_redirects(
        state, document.fetched, _remember(state, document, news, sections, now=now), is_same_feed=is_same_feed, now=now
    )
    telling, memory = decide_telling(state, news, memory, now=now, max_single=max_new_single, told=told)
    poll = _Poll(state=state, document=document, sections=sections, memory=memory, now=now)
    return IntakePlan(
        feed_no=state.no,
        epoch=state.epoch,
        at=now,
        change=_change(poll, news, known, roll=roll),
        entries=_entries(poll, news, telling, routes),
        aliases=tuple(aliases_of(news.items, known).items()),
        edits=_edits(poll, news, routes),
        notices=(*_recovered(state, now=now), *moved, *_notices(poll, news, telling)),
    )


def plan_unchanged(
    state: FeedState, answer: Fetched | NotModified, *, now: datetime, roll: float, body_hash: str | None = None
) -> IntakePlan:
    """Plan a poll that brought nothing: 304, or the items of last time. Both validators are still stored (P3).

    `body_hash`: what the body has now, where only its dates have moved.
    """
    before = state.memory
    memory = before if body_hash in (None, before.body_hash) else replace(before, body_hash=body_hash)
    memory, notices = follow_redirects(state, answer, memory, is_same_feed=True, now=now)
    if memory.told_broken_at is not None or memory.gone_polls or memory.truncated_polls:
        memory = replace(memory, told_broken_at=None, gone_polls=0, truncated_polls=0)
    has_validators = answer.validators.are_given
    change = FeedChange(
        next_poll_at=next_poll_at(
            state.feed, memory, now=now, roll=roll, has_validators=has_validators, max_age=answer.max_age
        ),
        memory=None if memory == before else memory,
        validators=None if answer.validators == state.validators else answer.validators,
        ok=True,
    )
    return IntakePlan(
        feed_no=state.no,
        epoch=state.epoch,
        at=now,
        change=change,
        notices=(*_recovered(state, now=now), *notices),
    )


def plan_truncated(state: FeedState, *, now: datetime, roll: float) -> IntakePlan | None:
    """Plan a poll whose document was cut off; None: it always is, take what is complete (N14)."""
    polls = state.memory.truncated_polls + 1
    if polls >= TRUNCATED_POLLS:
        return None
    return plan_failure(
        state,
        "the document is cut off; waiting for a whole one",
        now=now,
        roll=roll,
        memory=replace(state.memory, truncated_polls=polls),
    )


# --- parts of a plan -------------------------------------------------------------------------------------------------


def _sections(state: FeedState, parsed: ParsedFeed) -> Sections:
    return decide_section(
        [item.categories for item in parsed.items if isinstance(item, ParsedEntry)],
        title=parsed.title or state.title,
        configured=state.feed.section,
        remembered=state.memory.section,
    )


def _remember(state: FeedState, document: Document, news: News, sections: Sections, *, now: datetime) -> FeedMemory:
    parsed, memory = document.parsed, state.memory
    whole = not parsed.truncated
    return replace(
        memory,
        body_hash=document.body_hash if whole else None,
        items_hash=parsed.items_hash if whole else None,
        head_hash=parsed.head_hash,
        trim_ok=parsed.trim_ok and whole,
        section=sections.remember if sections.remember is not None else memory.section,
        links_shared=document.links_shared,
        guids_shared=document.guids_shared,
        date_only=_is_date_only(parsed, memory),
        oldest_first=news.habit,
        empty_polls=0 if parsed.items else memory.empty_polls + 1,
        truncated_polls=0 if whole else memory.truncated_polls + 1,
        gone_polls=0,
        told_broken_at=None,
        rekeyed_at=now if news.rekeyed else memory.rekeyed_at,
        ttl=parsed.ttl,
        skip_hours=parsed.skip_hours,
        skip_days=parsed.skip_days,
        hub=document.fetched.hub or parsed.hub,
        self_url=document.fetched.self_url or parsed.self_url,
        cut_to=parsed.total if parsed.total > len(parsed.items) else None,
    )


def _is_date_only(parsed: ParsedFeed, memory: FeedMemory) -> bool:
    """Whether all dates of the feed are midnights; an item known by its bytes stands for what was found then."""
    dated = [item for item in parsed.items if isinstance(item, ParsedEntry) and item.published is not None]
    if not dated or any(isinstance(item, Listed) for item in parsed.items):
        return memory.date_only and all(not item.has_time for item in dated)
    return all(not item.has_time for item in dated)


def _entries(poll: _Poll, news: News, telling: Telling, routes: Sequence[Route]) -> tuple[NewEntry, ...]:
    """Every new item in the order of telling, with what it owes."""
    told = {item.identity.key for item in telling.items}
    silent = (item for item in news.new if item.identity.key not in told)
    entries = [_new_entry(poll, item, (), None) for item in (*news.slid_in, *silent)]
    for position, item in enumerate(telling.items):
        entries.append(_new_entry(poll, item, routes, telling.bundle if position < telling.bundled else None))
    return tuple(entries)


def _new_entry(poll: _Poll, item: Fresh, routes: Sequence[Route], bundle: Bundle | None) -> NewEntry:
    entry = entry_of(
        item.parsed,
        feed=poll.state.feed,
        feed_title=poll.title,
        key=item.identity.key,
        sections=poll.sections.names,
        date_only=poll.memory.date_only,
        first_seen_at=poll.now,
    )
    story = None if poll.memory.links_shared else item.identity.link_alias
    deliveries = deliveries_of(entry, poll.state.feed, routes, now=poll.now, story=story, bundle=bundle)
    return NewEntry(entry=entry, hashes=item.identity.hashes, deliveries=deliveries)


def _edits(poll: _Poll, news: News, routes: Sequence[Route]) -> tuple[EntryEdit, ...]:
    """Known entries whose words have changed, oldest first; one that came under a new name is corrected in silence."""
    edits = []
    for item in news.items if news.oldest_first else reversed(news.items):
        stored, parsed = item.stored, item.parsed
        if stored is None or isinstance(parsed, Listed) or content_hash(parsed) == stored.content_hash:
            continue
        entry = entry_of(
            parsed,
            feed=poll.state.feed,
            feed_title=poll.title,
            key=stored.key,
            sections=poll.sections.names,
            date_only=poll.memory.date_only,
            first_seen_at=stored.first_seen_at,
            entry_id=stored.id,
            edits=stored.edits + 1,
        )
        quiet = quiet_ends(routes, fold_all(entry.tags), poll.now)
        edits.append(EntryEdit(entry=entry, announce=stored.edits < MAX_EDITS and not item.renamed, quiet=quiet))
    return tuple(edits)


def _change(poll: _Poll, news: News, known: Known, *, roll: float) -> FeedChange:
    state, fetched, parsed = poll.state, poll.document.fetched, poll.document.parsed
    # Zero entries where there were some, or half a document: the old validators bring the whole one back (N13, N14).
    keeps_validators = parsed.truncated or (not parsed.items and known.total > 0)
    return FeedChange(
        next_poll_at=next_poll_at(
            state.feed,
            poll.memory,
            now=poll.now,
            roll=roll,
            has_validators=fetched.validators.are_given,
            max_age=fetched.max_age,
        ),
        memory=poll.memory,
        validators=None if keeps_validators else fetched.validators,
        listing=None if keeps_validators else _listing(news, is_whole=parsed.total <= len(parsed.items)),
        title=parsed.title or None,
        site_url=parsed.site_url,
        primed_at=poll.now if state.primed_at is None else None,
        ok=True,
        new=state.primed_at is not None and bool(news.new),
    )


def _listing(news: News, *, is_whole: bool) -> tuple[tuple[bytes, Key], ...]:
    """What the document lists, by the bytes of each entry; where these can't be told (JSON, bad markup), by its key.

    One that is too long lists more than is known of it.
    """
    keys = (item.stored.key if item.stored is not None else item.identity.key for item in news.items)
    listed = zip(news.items, keys, strict=True)
    return tuple((item.parsed.bytes_hash or key, key) for item, key in listed if is_whole or item.parsed.bytes_hash)


def _notices(poll: _Poll, news: News, telling: Telling) -> tuple[Notice, ...]:
    feed, notices = poll.state.feed.id, []
    before, is_first = poll.state.memory.rekeyed_at, poll.state.primed_at is None
    if news.rekeyed and not is_first and (before is None or poll.now - before >= REKEY_PAUSE):
        key = news.renamed[0].identity.key.hex()
        words = f"feed {feed} names {len(news.renamed)} entries anew; they were recognised, none is told again."
        notices.append(Notice(key=f"rekeyed|{feed}|{key}", words=words))
    notices += _flood_notices(poll, telling)
    if poll.memory.empty_polls == EMPTY_POLLS and poll.state.last_new_at is not None:
        words = f"feed {feed} has been empty for {EMPTY_POLLS} polls; nothing is forgotten."
        notices.append(Notice(key=f"empty|{feed}|{poll.now:%Y-%m-%d}", words=words))
    if poll.memory.cut_to is not None and poll.state.memory.cut_to is None:
        words = f"feed {feed} lists {poll.memory.cut_to} entries; only its first and last are read."
        notices.append(Notice(key=f"cut|{feed}", words=words))
    return tuple(notices)


def _flood_notices(poll: _Poll, telling: Telling) -> list[Notice]:
    feed, notices = poll.state.feed.id, []
    if telling.bundle is not None:
        count = len(telling.items) + telling.untold
        words = f"feed {feed} brought {count} new entries at once; {telling.bundled} of them go as a digest."
        notices.append(Notice(key=telling.bundle.name, words=words))
    if telling.untold:
        words = (
            f"feed {feed} floods: {telling.untold} new entries are stored but told to nobody, beyond the day's"
            f" {MAX_DIGESTS_PER_DAY} digests; `feedbell replay` delivers them if they are wanted."
        )
        notices.append(Notice(key=f"untold|{feed}|{poll.memory.flood_day}", words=words))
    return notices


def _recovered(state: FeedState, *, now: datetime) -> tuple[Notice, ...]:
    if state.memory.told_broken_at is None or state.failing_since is None:
        return ()
    hours = round((now - state.failing_since) / timedelta(hours=1))
    away = f"{hours} hours" if hours < 48 else f"{hours // 24} days"
    words = f"feed {state.feed.id} can be read again, after {away}. Nothing is left to do."
    return (Notice(key=f"back|{state.feed.id}|{state.failing_since.isoformat()}", words=words),)
