"""The fetcher: every request that feed URLs, redirects, pages and hubs cause goes through this one guarded room."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from bot import crash
from bot.core.errors import FetchError
from bot.core.model.feed import Feed, FeedId, Fetched, Hops, NotModified, Validators
from bot.fetch.body import BodyReader
from bot.fetch.errand import ACCEPT_PAGE, Errand, errand_for, to_url
from bot.fetch.guard import check_url, to_networks
from bot.fetch.headers import links, max_age, retry_after, validators
from bot.fetch.limits import DEFAULT_LIMITS, FetchLimits
from bot.fetch.names import ThreadResolver
from bot.fetch.patience import Patience
from bot.fetch.reasons import status_error, to_error
from bot.fetch.sessions import Sessions, is_fresh
from bot.ports import Clock
from bot.version import VERSION

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_WITH_BODY: Final = frozenset({200, 201, 202, 203, 226})  # an empty body is handed on: the parser says what it is
_NOTHING_KNOWN: Final = Validators()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trail:
    """What the hops before this one left: where they led, and the longest wait that one asked for with Retry-After."""

    hops: Hops = ()
    wait: timedelta | None = None


class HttpFetcher:
    """Implements ports.Fetcher."""

    def __init__(
        self,
        *,
        clock: Clock,
        contact: str | None = None,
        limits: FetchLimits = DEFAULT_LIMITS,
        tls: ssl.SSLContext | None = None,
        resolver: AbstractResolver | None = None,
        subscribers: Callable[[FeedId], int] | None = None,
    ) -> None:
        """`contact` goes into the User-Agent, as does how many destinations `subscribers` counts for a feed.

        Without `tls` the system's roots are trusted, by the context that aiohttp has made anyway (20 ms, 2 MB).
        """
        self._clock = clock
        self.configure(contact=contact, limits=limits)
        self._sessions = Sessions(tls=tls or True, resolver=resolver or ThreadResolver(), keep_alive=limits.keep_alive)
        self._subscribers = subscribers
        self._product = f"feedbell/{VERSION}"

    def configure(self, *, contact: str | None, limits: FetchLimits) -> None:
        """Go by these from the next request on."""
        self._limits = limits
        self._timeout = aiohttp.ClientTimeout(total=None, connect=limits.connect.total_seconds())
        self._contact = f"+{contact}; " if contact else ""

    async def close(self) -> None:
        await self._sessions.close()

    async def fetch(self, feed: Feed, url: str, validators: Validators) -> Fetched | NotModified:
        subscribers = self._subscribers(feed.id) if self._subscribers else 1
        return await self._get(errand_for(feed, subscribers=subscribers), url, validators)

    async def get_page(self, url: str, *, from_chat: bool, allow_private: tuple[str, ...] = ()) -> Fetched:
        """Get a page or a feed once, without validators, to see what it is. Raises FetchError, AddressRefused."""
        errand = Errand(
            networks=() if from_chat else to_networks(allow_private),
            home=None if from_chat else (to_url(url).raw_host or "").lower(),
            accept=ACCEPT_PAGE,
        )
        page = await self._get(errand, url, _NOTHING_KNOWN)
        if isinstance(page, NotModified):  # never: without validators a 304 is an error
            raise status_error(304, None)
        return page

    async def post_form(self, url: str, fields: Mapping[str, str], *, allow_private: tuple[str, ...] = ()) -> int:
        """Post to a hub, which a feed has named; return the status. Follows no redirect.

        Raises FetchError, AddressRefused.
        """
        errand = Errand(networks=to_networks(allow_private), accept="*/*")
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        form = urlencode(fields)
        async with Patience(self._limits.total) as patience:
            async with await self._send(patience, errand, to_url(url), form=form, extra=headers) as response:
                return response.status

    async def _get(self, errand: Errand, url: str, known: Validators) -> Fetched | NotModified:
        async with Patience(self._limits.total) as patience:
            return await self._follow(patience, errand, to_url(url), known)

    async def _follow(self, patience: Patience, errand: Errand, url: URL, known: Validators) -> Fetched | NotModified:
        """Walk the redirects by hand: each hop is a new request, with its own guard, validators and secrets."""
        trail = _Trail()
        for _ in range(self._limits.redirects + 1):
            response = await self._send(patience, errand, url, known)
            crash.point("poll.headers")
            async with response:
                answer = await self._take(patience, response, url, known, trail)
            if not isinstance(answer, _Trail):
                return answer
            target = to_url(response.headers["Location"], base=url)
            if url.scheme == "https" and target.scheme == "http":
                raise FetchError("it redirects from https to http, which is not followed", status=response.status)
            url = target
            trail = replace(answer, hops=(*answer.hops, (response.status, str(url))))
        raise FetchError(f"it redirects more than {self._limits.redirects} times", retry_after=trail.wait)

    async def _take(
        self, patience: Patience, response: aiohttp.ClientResponse, url: URL, known: Validators, trail: _Trail
    ) -> Fetched | NotModified | _Trail:
        """Read one answer; a redirect gives back the trail, with the wait that it asks for."""
        now = self._clock.now()
        status, headers = response.status, response.headers
        if status >= 300:
            trail = replace(trail, wait=_longest(trail.wait, retry_after(headers, now=now)))
        if status in _REDIRECTS and "Location" in headers:
            return trail
        fresh = _longest(max_age(headers, now=now), trail.wait)
        if status == 304 and known.url == str(url) and known.are_given:
            renewed = validators(headers, url=str(url), before=known)
            return NotModified(url=str(url), validators=renewed, hops=trail.hops, max_age=fresh)
        if status not in _WITH_BODY:
            raise status_error(status, trail.wait)
        body = await self._read(patience, response)
        crash.point("poll.body")
        return _to_fetched(response, url, body, trail.hops, fresh)

    async def _read(self, patience: Patience, response: aiohttp.ClientResponse) -> bytes:
        reader = BodyReader(response.content, patience=patience, limits=self._limits, clock=self._clock)
        encodings = response.headers.getall("Content-Encoding", [])
        try:
            return await reader.read(encodings=encodings, length=response.content_length)
        except (aiohttp.ClientError, OSError) as error:
            raise to_error(error, response.url.host or "") from error

    async def _send(
        self,
        patience: Patience,
        errand: Errand,
        url: URL,
        known: Validators = _NOTHING_KNOWN,
        *,
        form: str | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> aiohttp.ClientResponse:
        """Send one request and return once its headers are in; the core of everything this class does."""
        check_url(url)
        agent = f"{self._product} ({self._contact}subscribers={errand.subscribers})"
        headers = errand.headers(url, known, agent)
        if extra is not None:
            headers.update(extra)
        session = self._sessions.under(errand.guard(url))
        patience.allow(self._limits.connect + self._limits.headers, f"{url.host} does not answer in time")
        method = "GET" if form is None else "POST"
        for is_second in (False, True):
            is_fresh.set(False)
            try:
                return await session.request(
                    method, url, headers=headers, data=form, allow_redirects=False, timeout=self._timeout
                )
            except (aiohttp.ClientError, OSError, ValueError) as error:
                # A server may close a kept connection in the moment we take it: that says nothing, ask on another one.
                if is_second or is_fresh.get() or form is not None:
                    raise to_error(error, url.host or "") from error
        raise FetchError("not reached")  # the second try returned or raised


def _to_fetched(
    response: aiohttp.ClientResponse, url: URL, body: bytes, hops: Hops, fresh: timedelta | None
) -> Fetched:
    headers = response.headers
    named = links(headers)
    return Fetched(
        url=str(url),
        body=body,
        content_type=headers.get("Content-Type"),
        validators=validators(headers, url=str(url)),
        hops=hops,
        max_age=fresh,
        hub=_absolute(url, named.get("hub")),
        self_url=_absolute(url, named.get("self")),
    )


def _absolute(base: URL, target: str | None) -> str | None:
    if not target:
        return None
    try:
        url = to_url(target, base=base)
    except FetchError:
        return None
    return str(url) if url.scheme in ("http", "https") else None


def _longest(one: timedelta | None, other: timedelta | None) -> timedelta | None:
    return max(filter(None, (one, other)), default=None)
