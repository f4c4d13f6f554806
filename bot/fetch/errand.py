"""On whose behalf a fetch runs, and therefore what it may reach and what it sends along."""

import re
from base64 import b64encode
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from yarl import URL

from bot.core.errors import FetchError
from bot.core.model.feed import Feed, FeedAuth, Validators
from bot.fetch.guard import Guard, Network, to_networks

ACCEPT_FEED: Final = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, */*;q=0.5"
)
ACCEPT_PAGE: Final = "text/html, application/xhtml+xml, " + ACCEPT_FEED

# Only characters that a URL may hold (RFC 3986): such a URL goes out exactly as written, as some are signed.
_AS_WRITTEN: Final = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What the hops of one fetch have in common."""

    networks: tuple[Network, ...] = ()
    home: str | None = None  # the host that the operator wrote himself: any port of it may be asked
    origin: URL | None = None  # who may see `private_headers` (T28)
    private_headers: tuple[tuple[str, str], ...] = ()
    accept: str = ACCEPT_FEED
    subscribers: int = 1

    def guard(self, url: URL) -> Guard:
        return Guard(allowed=self.networks, any_port=self.home is not None and self.home == _host(url))

    def headers(self, url: URL, validators: Validators, user_agent: str) -> dict[str, str]:
        """Return the request's headers; validators and secrets only for the one they belong to (P4, T28)."""
        headers = {"User-Agent": user_agent, "Accept": self.accept, "Accept-Encoding": "gzip"}
        if validators.url == str(url):
            if validators.etag is not None:
                headers["If-None-Match"] = validators.etag
            if validators.last_modified is not None:
                headers["If-Modified-Since"] = validators.last_modified
        if self.private_headers and self.origin == _origin(url):
            names = {name.lower() for name, _ in self.private_headers}
            headers = {name: value for name, value in headers.items() if name.lower() not in names}
            headers.update(self.private_headers)
        return headers


def errand_for(feed: Feed, *, subscribers: int) -> Errand:
    """What a chat member asked for gets no allowance, whatever the row says (T4)."""
    home = to_url(feed.url)
    private_headers = feed.headers + _authorization(feed.auth)
    return Errand(
        networks=() if feed.from_chat else to_networks(feed.allow_private),
        home=None if feed.from_chat else _host(home),
        origin=_origin(home) if private_headers else None,
        private_headers=private_headers,
        subscribers=subscribers,
    )


def to_url(text: str, *, base: URL | None = None) -> URL:
    """Read an address, relative to `base` if there is one; the fragment is no server's business. Raises FetchError."""
    try:
        url = _parse(text.strip())
        if base is not None:
            url = base.join(url)
    except ValueError as error:
        raise FetchError("this is no web address") from error
    return url.with_fragment(None) if url.raw_fragment else url


@lru_cache(maxsize=4096)
def _parse(text: str) -> URL:
    url = URL(text, encoded=bool(_AS_WRITTEN.fullmatch(text)))
    if url.port == 0:  # reading it also raises ValueError for one that no port can have
        raise ValueError
    return url


def _host(url: URL) -> str:
    return (url.raw_host or "").lower()


def _origin(url: URL) -> URL:
    return URL.build(scheme=url.scheme, host=_host(url), port=url.port)


def _authorization(auth: FeedAuth | None) -> tuple[tuple[str, str], ...]:
    if auth is None:
        return ()
    if auth.bearer is not None:
        return (("Authorization", f"Bearer {auth.bearer}"),)
    pair = f"{auth.username or ''}:{auth.password or ''}"
    return (("Authorization", f"Basic {b64encode(pair.encode()).decode()}"),)
