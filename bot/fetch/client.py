"""The fetcher: every request that feed URLs, redirects, pages and hubs cause goes through this one guarded room."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from urllib.parse import urlencode

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from bot import crash
from bot.core.errors import FetchError
from bot.core.model.feed import Feed, FeedId, Fetched, NotModified, Validators
from bot.fetch.body import BodyReader
from bot.fetch.errand import ACCEPT_PAGE, Errand, errand_for, to_url
from bot.fetch.guard import Guard, check_url, to_networks
from bot.fetch.headers import links, max_age, retry_after, validators
from bot.fetch.limits import DEFAULT_LIMITS, FetchLimits
from bot.fetch.names import ThreadResolver
from bot.fetch.reasons import status_error, to_error
from bot.ports import Clock

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_WITH_BODY: Final = frozenset({200, 201, 202, 203, 226})  # an empty body is handed on: the parser says what it is
_NOTHING_KNOWN: Final = Validators()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Redirect:
    status: int
    target: URL
    wait: timedelta | None


class _NoAnswer(Exception):
    """Carries a broken connection past aiohttp, which would ask a second time by itself."""

    def __init__(self, cause: aiohttp.ClientError) -> None:
        super().__init__()
        self.cause = cause


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
        """`contact` goes into the User-Agent, as does how many destinations `subscribers` counts for a feed."""
        self._clock = clock
        self.configure(contact=contact, limits=limits)
        self._tls = tls or tls_context()
        self._resolver = resolver or ThreadResolver()
        self._subscribers = subscribers
        self._product = f"feedbell/{_version()}"
        self._sessions: dict[Guard, aiohttp.ClientSession] = {}

    def configure(self, *, contact: str | None, limits: FetchLimits) -> None:
        """Go by these from the next request on."""
        self._limits = limits
        self._contact = f"+{contact}; " if contact else ""

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()
        await self._resolver.close()

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
        async with self._patience(), await self._send(errand, to_url(url), form=form, extra=headers) as response:
            return response.status

    async def _get(self, errand: Errand, url: str, known: Validators) -> Fetched | NotModified:
        async with self._patience():
            return await self._follow(errand, to_url(url), known)

    @asynccontextmanager
    async def _patience(self) -> AsyncIterator[None]:
        total = self._limits.total.total_seconds()
        try:
            async with asyncio.timeout(total):
                yield
        except TimeoutError as error:
            raise FetchError(f"the answer took longer than {total:g} s in all") from error

    async def _follow(self, errand: Errand, url: URL, known: Validators) -> Fetched | NotModified:
        """Walk the redirects by hand: each hop is a new request, with its own guard, validators and secrets."""
        hops: tuple[tuple[int, str], ...] = ()
        wait: timedelta | None = None
        for _ in range(self._limits.redirects + 1):
            answer = await self._ask(errand, url, known, hops, wait)
            if not isinstance(answer, _Redirect):
                return answer
            if url.scheme == "https" and answer.target.scheme == "http":
                raise FetchError("it redirects from https to http, which is not followed", status=answer.status)
            url = answer.target
            hops = (*hops, (answer.status, str(url)))
            wait = _longest(wait, answer.wait)
        raise FetchError(f"it redirects more than {self._limits.redirects} times", retry_after=wait)

    async def _ask(
        self, errand: Errand, url: URL, known: Validators, hops: tuple[tuple[int, str], ...], wait: timedelta | None
    ) -> Fetched | NotModified | _Redirect:
        """`wait`: what an earlier hop asked for with Retry-After; the longest wait holds for the whole chain."""
        response = await self._send(errand, url, known)
        crash.point("poll.headers")
        async with response:
            now = self._clock.now()
            status, headers = response.status, response.headers
            wait = _longest(wait, retry_after(headers, now=now) if status >= 300 else None)
            if status in _REDIRECTS and "Location" in headers:
                return _Redirect(status=status, target=to_url(headers["Location"], base=url), wait=wait)
            fresh = _longest(max_age(headers, now=now), wait)
            if status == 304 and known.url == str(url) and (known.etag or known.last_modified):
                renewed = validators(headers, url=str(url), before=known)
                return NotModified(url=str(url), validators=renewed, hops=hops, max_age=fresh)
            if status not in _WITH_BODY:
                raise status_error(status, wait)
            body = await self._read(response)
        crash.point("poll.body")
        return _to_fetched(response, url, body, hops, fresh)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        reader = BodyReader(response.content, limits=self._limits, clock=self._clock)
        encodings = response.headers.getall("Content-Encoding", [])
        try:
            return await reader.read(encodings=encodings, length=response.content_length)
        except (aiohttp.ClientError, OSError) as error:
            raise to_error(error, response.url.host or "") from error

    async def _send(
        self,
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
        headers = errand.headers(url, known, agent) | dict(extra or {})
        session = self._session(errand.guard(url))
        patience = (self._limits.connect + self._limits.headers).total_seconds()
        while True:
            trip = SimpleNamespace(reused=False)
            try:
                async with asyncio.timeout(patience):
                    return await session.request(
                        "GET" if form is None else "POST",
                        url,
                        headers=headers,
                        data=form,
                        allow_redirects=False,
                        trace_request_ctx=trip,
                    )
            except _NoAnswer as broken:
                # A server may close a kept connection in the moment we take it: that says nothing, ask on another one.
                if not trip.reused or form is not None:
                    raise to_error(broken.cause, url.host or "") from broken
            except (aiohttp.ClientError, OSError, ValueError) as error:
                raise to_error(error, url.host or "") from error

    def _session(self, guard: Guard) -> aiohttp.ClientSession:
        """Return the session of this guard: connections opened under one are never lent to another."""
        session = self._sessions.get(guard)
        if session is None:
            session = self._sessions[guard] = self._open_session(guard)
        return session

    def _open_session(self, guard: Guard) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            ssl=self._tls,
            socket_factory=guard.open_socket,
            resolver=self._resolver,
            keepalive_timeout=self._limits.keep_alive.total_seconds(),
            limit=0,  # whoever calls bounds how many polls are in flight
        )
        reuse = aiohttp.TraceConfig()
        reuse.on_connection_reuseconn.append(_note_reuse)
        patience = self._limits.connect.total_seconds()
        return aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(_ask_once,),
            timeout=aiohttp.ClientTimeout(total=None, connect=patience, sock_connect=patience),
            trace_configs=[reuse],
            trust_env=False,  # a proxy named in the environment would connect where our guard can't look (T3)
        )


async def _note_reuse(_: aiohttp.ClientSession, trip: SimpleNamespace, __: object) -> None:
    trip.trace_request_ctx.reused = True


async def _ask_once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """A client middleware: an answer that never came is reported, not asked for again."""
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _NoAnswer(error) from error


def _to_fetched(
    response: aiohttp.ClientResponse, url: URL, body: bytes, hops: tuple[tuple[int, str], ...], fresh: timedelta | None
) -> Fetched:
    headers = response.headers
    named = links(headers)
    return Fetched(
        url=str(url),
        body=body,
        content_type=headers.get("Content-Type"),
        content_location=headers.get("Content-Location"),
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


def _version() -> str:
    try:
        return version("feedbell")
    except PackageNotFoundError:
        return "0"


def tls_context(ca_file: Path | None = None) -> ssl.SSLContext:
    """Make the one context that all connections share (20 ms); `ca_file` is trusted besides the system's roots."""
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    return context
