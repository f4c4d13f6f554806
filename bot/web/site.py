"""The status site: read-only pages that say what is going on, and why; nothing from elsewhere."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo

from aiohttp import web

from bot.core.model.delivery import DeliveryState
from bot.core.model.feed import FeedId, FeedState
from bot.core.model.route import DestinationUid
from bot.core.model.status import DestinationRow, Totals
from bot.core.tags import fold
from bot.web.charts import Chart, delay_chart, entries_chart, polls_chart
from bot.web.inbox import Inbox
from bot.web.moments import Moments, plural
from bot.web.parts import WebParts
from bot.web.view import View

LATEST = 12
FEED_ENTRIES = 50
FOUND = 50
DELIVERIES = 50
WEEKS = 26
DAYS = 14
NOTICES = 8
QUERY = 200  # characters that are looked at (T20)
_TOKEN = re.compile(r"[A-Za-z0-9._~=-]{1,500}")


class Site:
    """The pages' handlers."""

    def __init__(self, parts: WebParts) -> None:
        self._parts = parts
        self._ask = parts.status
        self._live = parts.live
        self._view = View()
        self._inbox = Inbox(parts.inbox, self._live_page)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self.overview),
            web.get("/feeds", self.feeds),
            web.get("/feeds/{feed}", self.feed),
            web.get("/entries/{name}", self.entry),
            web.get("/destinations", self.destinations),
            web.get("/deliveries", self.deliveries),
            web.get("/search", self.search),
            web.get("/static/{name}", self.static),
            web.get("/events", self._live.events, allow_head=False),
            web.get("/unsubscribe/{token}", self.ask_unsubscribe),
            web.post("/unsubscribe/{token}", self.unsubscribe),
            *self._inbox.routes(),
        ]

    # --- pages -------------------------------------------------------------------------------------------------------

    async def overview(self, request: web.Request) -> web.Response:
        now, since = self._parts.clock.now(), self._live.mark
        feeds, destinations = await self._ask.feeds(), await self._ask.destination_rows()
        totals = await self._ask.totals(now=now)
        facts = {
            "since": since,  # asked for before the rest: what changes meanwhile is told to the page
            "feeds": feeds,
            "counts": await self._ask.entry_counts(),
            "destinations": destinations,
            "totals": totals,
            "concerns": concerns(feeds, destinations, totals),
            "latest": await self._ask.latest(limit=LATEST),
            "known_tags": await self._ask.tags(),
            "notices": await self._ask.notices(limit=NOTICES),
            "charts": await self._charts(now),
        }
        return await self.page("overview.html", facts)

    async def _charts(self, now: datetime) -> Sequence[Chart]:
        """Those that have something to show."""
        at = Moments(now=now, zone=self._zone())
        weeks = await self._ask.entries_by_week(now=now, weeks=WEEKS)
        delays = await self._ask.delays_by_day(now=now, days=DAYS)
        polls = self._parts.polls()
        found = [entries_chart(weeks, at)] if any(count for _, count in weeks) else []
        found += [delay_chart(delays, at, days=DAYS)] if delays else []
        return [*found, *([polls_chart(polls, at)] if polls else [])]

    async def feeds(self, request: web.Request) -> web.Response:
        facts = {
            "since": self._live.mark,
            "feeds": await self._ask.feeds(),
            "counts": await self._ask.entry_counts(),
        }
        return await self.page("feeds.html", facts)

    async def feed(self, request: web.Request) -> web.Response:
        feed_id, since = FeedId(request.match_info["feed"]), self._live.mark
        state = next((one for one in await self._ask.feeds() if one.feed.id == feed_id), None)
        if state is None:
            raise web.HTTPNotFound
        facts = {
            "since": since,
            "state": state,
            "count": (await self._ask.entry_counts()).get(feed_id, 0),
            "entries_of_feed": await self._ask.latest(feed=feed_id, limit=FEED_ENTRIES),
        }
        return await self.page("feed.html", facts)

    async def entry(self, request: web.Request) -> web.Response:
        """What `feedbell why` prints."""
        since = self._live.mark
        entry = await self._ask.entry(request.match_info["name"])
        if entry is None:
            raise web.HTTPNotFound
        facts = {
            "since": since,
            "entry": entry,
            "verdicts": await self._parts.why(entry),
            "deliveries": await self._ask.deliveries_of(entry.id),
            "parked": [row.destination.uid for row in await self._ask.destination_rows() if row.destination.parked],
        }
        return await self.page("entry.html", facts)

    async def destinations(self, request: web.Request) -> web.Response:
        facts = {"since": self._live.mark, "destinations": await self._ask.destination_rows()}
        return await self.page("destinations.html", facts)

    async def deliveries(self, request: web.Request) -> web.Response:
        query = request.query
        state = next((one for one in DeliveryState if one.value == query.get("state")), None)
        destination, feed = query.get("destination") or None, query.get("feed") or None
        rows = await self._ask.recent(
            states=frozenset({state}) if state else frozenset(),
            destination=DestinationUid(destination) if destination else None,
            feed=FeedId(feed) if feed else None,
            before=_number(query.get("before")),
            limit=DELIVERIES + 1,
        )
        facts = {
            "rows": rows[:DELIVERIES],
            "more": rows[DELIVERIES - 1].delivery.id if len(rows) > DELIVERIES else None,
            "chosen": {"state": state.value if state else "", "destination": destination or "", "feed": feed or ""},
            "states": [one.value for one in DeliveryState],
            "destinations": [row.destination.uid for row in await self._ask.destination_rows()],
            "feeds": [one.feed.id for one in await self._ask.feeds()],
        }
        return await self.page("deliveries.html", facts)

    async def search(self, request: web.Request) -> web.Response:
        """Words, a tag, or both: the tag then has to be among the entry's own."""
        words = request.query.get("q", "")[:QUERY].replace("\0", " ").strip()
        tag = request.query.get("tag", "")[:QUERY].replace("\0", " ").strip()
        if words:
            found = await self._ask.search(words.split(), limit=FOUND)
            found = [one for one in found if not tag or fold(tag) in map(fold, (*one.tags, *one.section))]
        else:
            found = await self._ask.latest(tag=fold(tag), limit=FOUND) if tag else ()
        facts = {"words": words, "tag": tag, "found": found, "known_tags": await self._ask.tags(), "limit": FOUND}
        return await self.page("search.html", facts)

    async def static(self, request: web.Request) -> web.Response:
        return self._view.static(request.match_info["name"])

    # --- unsubscribing from mail -------------------------------------------------------------------------------------

    async def ask_unsubscribe(self, request: web.Request) -> web.Response:
        """A scanner of mails opens every link: opening this one changes nothing (T24)."""
        _token(request)
        return await self.page("unsubscribe.html", {"done": False, "bare": True})

    async def unsubscribe(self, request: web.Request) -> web.Response:
        if not await self._parts.unsubscribe(_token(request)):
            raise web.HTTPNotFound(text="this link is not, or no longer, known")
        return await self.page("unsubscribe.html", {"done": True, "bare": True})

    async def _live_page(self, name: str, facts: Mapping[str, object]) -> web.Response:
        return await self.page(name, {"since": self._live.mark, **facts})

    # --- what every page shares --------------------------------------------------------------------------------------

    async def page(self, name: str, facts: Mapping[str, object]) -> web.Response:
        """Return the page; made in a thread, for that of thousands of feeds takes half a second."""
        return await asyncio.to_thread(self._made, name, facts)

    def _made(self, name: str, facts: Mapping[str, object], *, status: int = 200) -> web.Response:
        here = name.removesuffix(".html")
        shared = {"bare": False, "here": here, "since": None}
        now = self._parts.clock.now()
        return self._view.page(name, now=now, zone=self._zone(), facts={**shared, **facts}, status=status)

    def error(self, request: web.Request, error: web.HTTPException, *, as_page: bool) -> web.Response:
        """Return `error` as a page for people, as a line for machines, with its headers."""
        kept = {name: value for name, value in error.headers.items() if name in _KEPT}
        said = error.text if error.text and not error.text.startswith(str(error.status)) else None
        if as_page:
            facts = {"status": error.status, "reason": error.reason, "said": said, "bare": True}
            answer = self._made("error.html", facts, status=error.status)
        else:
            answer = web.json_response({"error": (said or error.reason).lower()}, status=error.status)
        answer.headers.update(kept)
        return answer

    def _zone(self) -> tzinfo:
        return self._parts.settings().timezone


_KEPT = {"Allow", "WWW-Authenticate", "Retry-After"}


def concerns(
    feeds: Sequence[FeedState], destinations: Sequence[DestinationRow], totals: Totals
) -> tuple[tuple[str, str], ...]:
    """What somebody should look at: words, and where. Empty when all is well."""
    failing = sum(1 for one in feeds if one.failures and not one.stopped)
    stopped = sum(1 for one in feeds if one.stopped)
    parked = sum(1 for row in destinations if row.destination.parked)
    unwell = sum(1 for row in destinations if row.destination.unwell_since and not row.destination.parked)
    found: list[tuple[int, Callable[[int], str], str]] = [
        (failing, lambda n: f"{plural(n, 'feed')} can’t be read", "/feeds"),
        (stopped, lambda n: f"{plural(n, 'feed is', 'feeds are')} gone", "/feeds"),
        (parked, lambda n: f"{plural(n, 'destination is', 'destinations are')} parked", "/destinations"),
        (unwell, lambda n: f"{plural(n, 'destination')} can’t be reached", "/destinations"),
        (totals.held, lambda n: f"{plural(n, 'message waits', 'messages wait')} for you", "/deliveries?state=held"),
        (totals.dead, lambda n: f"{plural(n, 'message was', 'messages were')} given up", "/deliveries?state=dead"),
    ]
    return tuple((words(count), where) for count, words, where in found if count)


def _token(request: web.Request) -> str:
    token = request.match_info["token"]
    if not _TOKEN.fullmatch(token):
        raise web.HTTPNotFound(text="this link is not, or no longer, known")
    return token


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None
