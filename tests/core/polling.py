"""A feed polled again and again without store or clock: plans are made as the bot makes them, and remembered."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.core.identity import identify_document
from bot.core.model.entry import Key, Known, KnownEntry, ParsedEntry, ParsedFeed
from bot.core.model.feed import Feed, FeedId, FeedState, Fetched, Validators
from bot.core.model.plan import IntakePlan, Notice
from bot.core.model.route import DestinationUid, Route
from bot.core.novelty import names_of
from bot.core.plan import Document, plan_intake

START = datetime(2026, 5, 1, tzinfo=UTC)
ROUTES = (Route(name="routes[0]", to=(DestinationUid("console"),)),)


def post(name: str, day: float | None = None, **parts: object) -> ParsedEntry:
    """An entry of that name; `day` counts from the first poll."""
    published = None if day is None else START + timedelta(days=day)
    link = f"https://example.org/{name}"
    usual = ParsedEntry(guid=link, link=link, title=name, text=f"about {name}", published=published)
    return replace(usual, **parts)  # type: ignore[arg-type]


class Reader:
    """What the store would know of one feed; `told` holds the titles in the order of telling."""

    def __init__(self, feed: Feed | None = None) -> None:
        feed = feed or Feed(id=FeedId("feed"), url="https://example.org/feed.xml")
        self.state = FeedState(no=1, feed=feed, next_poll_at=START)
        self.told: list[str] = []
        self.edited: list[str] = []
        self.notices: list[Notice] = []
        self._by_hash: dict[Key, int] = {}
        self._entries: dict[int, KnownEntry] = {}
        self.now = START

    def poll(
        self, *items: ParsedEntry, etag: str | None = None, told: frozenset[str] = frozenset(), total: int = 0
    ) -> list[str]:
        """Read a document; return the titles that it made news. Another bot has `told` some, `total` are listed."""
        memory = self.state.memory
        named = identify_document(items, links_shared=memory.links_shared, guids_shared=memory.guids_shared)
        url = self.state.feed.url
        document = Document(
            fetched=Fetched(url=url, body=b"", content_type=None, validators=Validators(etag=etag, url=url)),
            parsed=ParsedFeed(items=items, title="Feed", total=total or len(items)),
            identities=named.identities,
            links_shared=named.links_shared,
            guids_shared=named.guids_shared,
            body_hash="",
        )
        wanted = names_of(named.identities)
        hits = {name: self._by_hash[name] for name in wanted if name in self._by_hash}
        known = Known(by_hash=hits, entries=self._entries, total=len(self._entries))
        plan = plan_intake(self.state, document, known, ROUTES, now=self.now, roll=0.0, told=told)
        self._take(plan)
        return [each.entry.title for each in plan.entries if each.deliveries]

    def _take(self, plan: IntakePlan) -> None:
        for each in plan.entries:
            number = len(self._entries) + 1
            self._entries[number] = KnownEntry(
                id=number,
                key=each.entry.key,
                published=each.entry.published,
                first_seen_at=self.now,
                content_hash=each.entry.content_hash,
                edits=0,
            )
            self._by_hash |= dict.fromkeys(each.hashes, number)
            self.told += [each.entry.title] if each.deliveries else []
        self._by_hash |= dict(plan.aliases)
        self.edited += [edit.entry.title for edit in plan.edits if edit.announce]
        self.notices += plan.notices
        change = plan.change
        self.state = replace(
            self.state,
            last_new_at=self.now if change.new else self.state.last_new_at,
            memory=change.memory or self.state.memory,
            primed_at=change.primed_at or self.state.primed_at,
            validators=change.validators or self.state.validators,
            listing=change.listing if change.listing is not None else self.state.listing,
            last_ok_at=self.now,
        )
        self.now += timedelta(minutes=15)


def titles(items: Sequence[ParsedEntry]) -> list[str]:
    return [item.title for item in items]
