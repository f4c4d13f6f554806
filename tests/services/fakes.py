"""Fakes of the ports, for flows through the services: each does as a test tells it, and remembers what was asked."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bot.core.errors import FetchError, NotAFeed, NotifyError
from bot.core.model.delivery import Destination, Probe, Receipt
from bot.core.model.entry import Key, ParsedEntry, ParsedFeed
from bot.core.model.feed import Feed, Fetched, NotModified, Validators
from bot.core.model.message import Message, Payload
from tests.chaos.simulation.clock import VirtualClock

Outcome = NotifyError | None  # None: all is well


class FakeClock(VirtualClock):
    """Implements ports.Clock; time passes when everybody sleeps. `rolls` is what chance gives, each time."""

    rolls = 0.5

    def roll(self) -> float:
        return self.rolls


@dataclass
class Page:
    """What one address answers: titles, newest first, or an error."""

    titles: list[str] = field(default_factory=list)
    error: FetchError | None = None
    etag: str | None = None
    truncated: bool = False
    next_page: str | None = None
    takes: timedelta = timedelta(milliseconds=100)
    ids: dict[str, str] = field(default_factory=dict)  # guids that are not the titles themselves


@dataclass(frozen=True)
class Request:
    at: float
    url: str
    validators: Validators


class FakeFetcher:
    """Implements ports.Fetcher over `pages`, by address."""

    def __init__(self, clock: VirtualClock) -> None:
        self.pages: dict[str, Page] = {}
        self.requests: list[Request] = []
        self._clock = clock

    async def fetch(self, feed: Feed, url: str, validators: Validators) -> Fetched | NotModified:
        page = self.pages[url]
        self.requests.append(Request(self._clock.monotonic(), url, validators))
        await self._clock.sleep(page.takes)
        if page.error is not None:
            raise page.error
        given = Validators(etag=page.etag, url=url)
        if page.etag is not None and validators.etag == page.etag:
            return NotModified(url=url, validators=given)
        return Fetched(url=url, body=body_of(page), content_type=None, validators=given)


def body_of(page: Page) -> bytes:
    """The only language that FakeParser reads."""
    items = [(page.ids.get(title, title), title) for title in page.titles]
    return json.dumps({"items": items, "truncated": page.truncated, "next": page.next_page}).encode()


class FakeParser:
    """Implements ports.Parser for the bodies of FakeFetcher."""

    async def parse(self, body: bytes, *, url: str, content_type: str | None, listed: dict[bytes, Key]) -> ParsedFeed:
        if not body.startswith(b"{"):
            raise NotAFeed("no feed")
        read = json.loads(body)
        return ParsedFeed(
            items=tuple(entry_called(title, guid=guid) for guid, title in read["items"]),
            title="A blog",
            total=len(read["items"]),
            truncated=read["truncated"],
            next_page=read["next"],
        )


def entry_called(title: str, *, guid: str | None = None) -> ParsedEntry:
    """Entries whose titles end with a number are dated by it, so that order can be told."""
    number = int("".join(filter(str.isdecimal, title)) or "0")
    return ParsedEntry(
        guid=guid or title,
        link=f"https://blog.example/{title.replace(' ', '-')}",
        title=title,
        text=f"Words of {title}.",
        published=datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=number),
    )


@dataclass(frozen=True)
class Got:
    """A message as a service got it."""

    at: float
    uid: str
    titles: tuple[str, ...]
    key: str
    note: str | None = None
    plain: bool = False
    kind: str = "entry"


class FakeNotifier:
    """Implements ports.Notifier. `outcomes` are used up one by one; `verdict` judges each message that is left.

    A message is stored when its outcome is well, or when its error is in `stored_all_the_same`.
    """

    def __init__(self, scheme: str, clock: VirtualClock) -> None:
        self.scheme = scheme
        self.takes = timedelta(milliseconds=50)
        self.outcomes: list[Outcome] = []
        self.verdict: Callable[[str, Sequence[str], bool], Outcome] = lambda uid, titles, plain: None
        self.stored_all_the_same: set[NotifyError] = set()
        self.look_up: NotifyError | None = None  # what every look-up answers instead
        self.probe_answer: NotifyError | Probe = Probe(can_look_up=True)
        self.before_answer: Callable[[], None] = lambda: None
        self.tried: list[Got] = []
        self.stored: list[Got] = []
        self.looked: list[float] = []
        self.probed: list[float] = []
        self.edits: list[tuple[str, str]] = []
        self._clock = clock

    def to_payload(self, message: Message, *, plain: bool = False) -> Payload:
        cards = [*message.cards, *(card for section in message.sections for card in section.cards)]
        titles = [card.title for card in cards]
        words = " ".join(span.text for block in message.blocks for span in getattr(block, "spans", ()))
        return {
            "kind": message.kind.value,
            "titles": "\n".join(titles or [words]),
            "note": cards[0].note if cards else None,
            "plain": plain,
        }

    async def send(self, destination: Destination, payload: Payload, key: str) -> Receipt:
        message = self._message(destination, payload, key)
        self.tried.append(message)
        await self._clock.sleep(self.takes)
        outcome = (
            self.outcomes.pop(0) if self.outcomes else self.verdict(message.uid, message.titles, bool(payload["plain"]))
        )
        if outcome is None or outcome in self.stored_all_the_same:
            self.stored.append(message)
        self.before_answer()
        if outcome is not None:
            raise outcome
        return Receipt(remote_ref=f"ref {len(self.stored)}")

    async def find(self, destination: Destination, payload: Payload, key: str, since: datetime) -> Receipt | None:
        self.looked.append(self._clock.monotonic())
        if self.look_up is not None:
            raise self.look_up
        found = [message for message in self.stored if message.key == key]
        return Receipt(remote_ref="found") if found else None

    async def edit(self, destination: Destination, payload: Payload, remote_ref: str) -> Receipt:
        self.edits.append((remote_ref, str(payload["titles"])))
        return Receipt(remote_ref=remote_ref)

    async def probe(self, destination: Destination) -> Probe:
        self.probed.append(self._clock.monotonic())
        if isinstance(self.probe_answer, Probe):
            return self.probe_answer
        raise self.probe_answer

    def titles(self, uid: str | None = None) -> list[str]:
        """What was stored, in order; a digest's titles stand together with commas between."""
        return [", ".join(message.titles) for message in self.stored if uid in (None, message.uid)]

    def _message(self, destination: Destination, payload: Payload, key: str) -> Got:
        return Got(
            at=self._clock.monotonic(),
            uid=destination.uid,
            titles=tuple(str(payload["titles"]).split("\n")),
            key=key,
            note=str(payload["note"]) if payload["note"] is not None else None,
            plain=bool(payload["plain"]),
            kind=str(payload["kind"]),
        )
