"""How the simulated sites answer, and what their owners would hold against the reader."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from bot.core.errors import FetchError
from bot.core.model.entry import Key, ParsedFeed
from bot.core.model.feed import Feed, Fetched, NotModified, Validators
from bot.core.parse.document import parse
from tests.chaos.simulation.calendar import Calendar
from tests.chaos.simulation.clock import VirtualClock, VirtualLoop
from tests.chaos.simulation.power import Power
from tests.chaos.simulation.publishing import Document, Post, Site

MIN_S = 60.0
FLOOR = 5 * MIN_S
FLOOR_BLIND = 60 * MIN_S
HOST_GAP = 1.0
SLACK = 0.01
PAGE = b"<!doctype html><html><head><title>Be right back</title></head><body>Maintenance</body></html>"


class Inline:
    """Implements ports.Parser: the real reading, without the process around it."""

    async def parse(self, body: bytes, *, url: str, content_type: str | None, listed: dict[bytes, Key]) -> ParsedFeed:
        return parse(body, url=url, content_type=content_type, listed=listed)


@dataclass(slots=True)
class Reader:
    """What a site knows of the reader: when it may come again, and what it was given."""

    earliest: float = 0.0
    why: str = ""
    given: Validators | None = None
    etags: list[str] = field(default_factory=list)  # the last few that were given
    dates: list[str] = field(default_factory=list)
    unconditional: int = 0
    requests: int = 0
    pending: tuple[Post, ...] = ()  # served, and not known to be stored
    version: int = -1  # of the site as it was served last
    open: bool = False  # asked, and what came of it is not known to be stored


class Web:
    """Every site, and the judgement on whoever reads them. It outlives the bot."""

    def __init__(
        self,
        sites: Iterable[Site],
        *,
        loop: VirtualLoop,
        clock: VirtualClock,
        calendar: Calendar,
        chance: random.Random,
        complain: Callable[[str], None],
    ) -> None:
        self.sites = {site.url: site for site in sites}
        self.by_name = {site.name: site for site in self.sites.values()}
        self.readers = {site.name: Reader() for site in self.sites.values()}
        self.loop = loop
        self.clock = clock
        self.calendar = calendar
        self.chance = chance
        self.complain = complain
        self.polls = 0
        self.unchanged = 0
        self.faults = 0
        self.first_served = 0
        self._hosts: dict[str, float] = {}  # when the host's last request came
        self._peace: dict[str, float] = {}  # until when the whole host asked for peace

    def fetcher(self, power: Power) -> "SimFetcher":
        self._hosts.clear()
        self._peace.clear()
        return SimFetcher(self, power)

    def forgive(self) -> None:
        """The wall clock was set: what was due later may be due now."""
        for reader in self.readers.values():
            reader.earliest = 0.0

    def polled(self, name: str, outcome: str) -> None:
        """The bot says how a poll ended; only what was committed counts."""
        if outcome == "put off":
            return
        reader, site = self.readers[name], self.by_name[name]
        if outcome == "lost":
            reader.earliest = 0.0  # nothing was written, so the same may be asked again
        self._forget(reader) if outcome not in ("new", "nothing") else self._keep(reader, site)
        reader.open = False

    def died(self, is_stored: Callable[[Post], bool] = lambda _: False) -> None:
        """The bot was killed: a poll that was on its way may come again at once, though it may just be committed."""
        for name, reader in self.readers.items():
            if reader.open:
                reader.earliest, reader.open = 0.0, False
                if any(map(is_stored, reader.pending)):
                    self._keep(reader, self.by_name[name])
                else:
                    self._forget(reader)

    def forget(self) -> None:
        """A former state was put back: it knows older validators, and older times at which it may come."""
        for reader in self.readers.values():
            reader.given, reader.earliest = None, 0.0

    def stopped(self) -> None:
        """The bot was asked to stop: a poll that does not end in time is given up."""
        for reader in self.readers.values():
            reader.earliest = 0.0 if reader.open else reader.earliest

    def _keep(self, reader: Reader, site: Site) -> None:
        site.fresh = site.fresh or reader.version == site.version
        reader.pending = ()

    def _forget(self, reader: Reader) -> None:
        for post in reader.pending:
            post.served = None
        reader.pending = ()

    # --- a request

    def arrive(self, site: Site, validators: Validators) -> None:
        """Judge a request as a strict site owner does."""
        now, reader = self.loop.elapsed, self.readers[site.name]
        self.polls += 1
        reader.requests += 1
        if now < reader.earliest - SLACK:
            self.complain(f"{site.name}: asked {reader.earliest - now:.2f} s too early ({reader.why})")
        last = self._hosts.get(site.host)
        if last is not None and now - last < HOST_GAP - SLACK:
            self.complain(f"{site.host}: two requests within {now - last:.2f} s")
        if now < self._peace.get(site.host, 0.0) - SLACK:
            self.complain(f"{site.host}: asked for peace, and {site.name} was asked")
        self._hosts[site.host] = now
        self._judge_validators(site, reader, validators)
        reader.earliest, reader.why, reader.open = now + self._gap(site), "its interval", True

    def _judge_validators(self, site: Site, reader: Reader, sent: Validators) -> None:
        given = reader.given or Validators()
        if sent.etag is None and sent.last_modified is None:
            reader.unconditional += 1
            if given.etag or given.last_modified:
                self.complain(f"{site.name}: unconditional, though validators were given")
        elif (sent.etag and sent.etag not in reader.etags) or (
            sent.last_modified and sent.last_modified not in reader.dates
        ):
            self.complain(f"{site.name}: invented validators {sent}")

    def _gap(self, site: Site) -> float:
        habits = site.habits
        floor = FLOOR if habits.etag or habits.last_modified else FLOOR_BLIND
        return max(floor, site.interval * MIN_S, (habits.ttl or 0) * MIN_S)

    # --- an answer

    def answer(self, site: Site, validators: Validators) -> Fetched | NotModified:
        fault = self.calendar.of_site(site.name, self.loop.elapsed)
        if fault is not None:
            self.faults += 1
            return self._faulty(site, validators, fault)
        return self._well(site, site.document, validators)

    def _faulty(self, site: Site, validators: Validators, fault: str) -> Fetched | NotModified:
        match fault:
            case "429" | "503":
                raise self._busy(site, int(fault))
            case "down":
                raise FetchError("connection refused")
            case "404" | "500":
                raise FetchError(f"the server answered {fault}", status=int(fault))
            case "page" | "nothing":
                return self._fetched(site, PAGE if fault == "page" else b"", Validators())
            case "cut":
                return self._cut(site)
            case "stale" if site.before is not None:
                return self._well(site, site.before, validators)
            case "rotating":
                site.touch()
        return self._well(site, site.document, validators, always=fault == "deaf")

    def _cut(self, site: Site) -> Fetched:
        body = site.document.body
        cut = self.chance.randrange(len(body) // 4, len(body) - 20)
        for post in site.document.posts:
            post.exempt = post.exempt or post.served is None
        self._serve(site, site.document)
        self.readers[site.name].version = -1
        return self._fetched(site, body[:cut], Validators())

    def _busy(self, site: Site, status: int) -> FetchError:
        seconds = self.chance.choice((0, 1, 30, 600, 3600, 40_000))
        reader = self.readers[site.name]
        reader.earliest = max(reader.earliest, self.loop.elapsed + seconds)
        reader.why = f"Retry-After {seconds}"
        # Requests on their way when the host says so are no impoliteness; the gate lets only one through anyway.
        self._peace[site.host] = self.loop.elapsed + seconds
        return FetchError(f"the server answered {status}", status=status, retry_after=timedelta(seconds=seconds))

    def _well(self, site: Site, document: Document, sent: Validators, *, always: bool = False) -> Fetched | NotModified:
        validators = Validators(etag=document.etag, last_modified=document.last_modified, url=site.url)
        same = bool(document.etag or document.last_modified) and (sent.etag, sent.last_modified) == (
            document.etag,
            document.last_modified,
        )
        age = timedelta(seconds=site.habits.max_age) if site.habits.max_age else None
        reader = self.readers[site.name]
        reader.earliest = max(reader.earliest, self.loop.elapsed + (site.habits.max_age or 0))
        if same and not always:
            self.unchanged += 1
            return NotModified(url=site.url, validators=validators, max_age=age)
        self._serve(site, document)
        return self._fetched(site, document.body, validators, age)

    def _serve(self, site: Site, document: Document) -> None:
        reader = self.readers[site.name]
        new = sorted((post for post in document.posts if post.served is None), key=lambda post: post.serial)
        for post in new:
            self.first_served += 1
            post.served, post.served_at = self.first_served, self.loop.elapsed
            post.exempt = post.exempt or site.shuffled
        reader.pending = (*reader.pending, *new)
        reader.version = site.version if document is not site.before else -1

    def _fetched(self, site: Site, body: bytes, validators: Validators, max_age: timedelta | None = None) -> Fetched:
        reader = self.readers[site.name]
        if validators.etag or validators.last_modified:
            reader.given = validators
            reader.etags = [*reader.etags[-5:], validators.etag or ""]
            reader.dates = [*reader.dates[-5:], validators.last_modified or ""]
        return Fetched(url=site.url, body=body, content_type="application/xml", validators=validators, max_age=max_age)


class SimFetcher:
    """Implements ports.Fetcher for one life of the bot."""

    def __init__(self, web: Web, power: Power) -> None:
        self._web = web
        self._power = power

    async def fetch(self, feed: Feed, url: str, validators: Validators) -> Fetched | NotModified:
        web = self._web
        site = web.sites[url]
        await self._power.moment("before the request to a site")
        web.arrive(site, validators)
        await web.clock.sleep(timedelta(seconds=web.chance.uniform(0.02, 1.5)))
        self._power.alive()
        answer = web.answer(site, validators)
        await self._power.moment("after the answer of a site")
        return answer
