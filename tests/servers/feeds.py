"""A feed server: documents by path, conditional requests done right, hostile behaviours by name, a score for readers.

async with FeedServer() as feeds:
    url = feeds.serve("/feed.xml", Document(body=b"<rss/>"))
    feeds.requests, feeds.complaints("/feed.xml")
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime

from aiohttp import web

from tests.servers.faults import Json
from tests.servers.feed_cases import CASES
from tests.servers.feed_score import Served, reader_complaints
from tests.servers.journal import Clock, Journal, wall_clock
from tests.servers.loopback import LoopbackServer

AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What an address answers. `etag` and `last_modified`: "auto", None for none, or the exact value to send.

    `headers` win over everything; a value of None there leaves a header out, as in the shared cases.
    """

    body: bytes = b""
    status: int = 200
    content_type: str | None = "application/rss+xml; charset=utf-8"
    etag: str | None = AUTO
    last_modified: str | None = AUTO
    headers: dict[str, str | None] = field(default_factory=dict)
    gzip: bool = False
    conditional: bool = True  # False: the validators are sent, and ignored when they come back
    password: tuple[str, str] | None = None  # user and password of HTTP Basic
    max_age: int | None = None


class FeedServer(LoopbackServer):
    """Serves documents; a path with several gives one a request and stays at the last."""

    name = "feeds"

    def __init__(
        self,
        *,
        port: int = 0,
        journal: Journal | None = None,
        clock: Clock = wall_clock,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(port=port, journal=journal, clock=clock, tls=tls)
        self.served: list[Served] = []
        self._documents: dict[str, list[Document]] = {}
        self._turns: dict[str, int] = {}
        self._changed_at: dict[str, float] = {}
        self._case_turns: dict[str, int] = {}
        self._good = Document(body=GOOD_FEED)
        self.drip_pause = 1.0  # seconds between the bytes of slow-drip

    def serve(self, path: str, *documents: Document) -> str:
        """Set what a path answers from now on; return its URL."""
        before = self._documents.get(path)
        self._documents[path] = list(documents)
        self._turns[path] = 0
        # Last-Modified has seconds: two changes within one must differ all the same.
        fresh = self._changed_at.get(path, 0.0) + 1 if before else 0.0
        self._changed_at[path] = max(float(int(self.clock())), fresh)
        self.note("serve", path=path, documents=len(documents))
        return self.url + path

    def case_url(self, case: str, *, good: bytes | None = None) -> str:
        """Return the URL of a hostile behaviour; where the case ends well, `good` is what comes."""
        if case not in CASES:
            raise KeyError(f"unknown case {case!r}; one of {sorted(CASES)}")
        if good is not None:
            self._good = Document(body=good)
        return f"{self.url}/case/{case}/feed.xml"

    @property
    def good_body(self) -> bytes:
        return self._good.body

    def hits(self, path: str) -> int:
        return sum(request.path == path for request in self.requests)

    def complaints(self, path: str, *, floor: float = 0.0) -> list[str]:
        """Judge the reader of a path as a strict site owner would; `floor` is the shortest interval allowed."""
        return reader_complaints([row for row in self.served if row.path == path], floor=floor)

    def messages_json(self) -> list[Json]:
        return [row.to_json() for row in self.served]

    def actions(self) -> dict[str, Callable[..., object]]:
        return {
            "serve": self._serve_json,
            "complaints": self.complaints,
            "hits": self.hits,
            "case_url": self._case_json,
        }

    def routes(self) -> list[web.AbstractRouteDef]:
        return [web.get("/case/{case}/{rest:.*}", self._case), web.route("*", "/{path:.*}", self._answer)]

    def _serve_json(self, path: str, documents: list[Json]) -> str:
        made = [Document(**{**raw, "body": base64.b64decode(raw.get("body", ""))}) for raw in documents]
        return self.serve(path, *made)

    def _case_json(self, case: str, good: str | None = None) -> str:
        return self.case_url(case, good=None if good is None else base64.b64decode(good))

    async def _case(self, request: web.Request) -> web.StreamResponse:
        case = request.match_info["case"]
        if case not in CASES:
            return web.Response(status=404)
        turn = self._case_turns[case] = self._case_turns.get(case, 0) + 1
        answer = await CASES[case](self, request, turn)
        return answer or self.document_answer(request, self._good)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        documents = self._documents.get(request.path)
        if not documents:
            return web.Response(status=404, text="not found")
        turn = self._turns[request.path]
        self._turns[request.path] = min(turn + 1, len(documents) - 1)
        return self.document_answer(request, documents[turn])

    def document_answer(self, request: web.Request, document: Document) -> web.Response:
        """Answer with a document, or 304 when the reader has it."""
        headers = self._headers(request, document)
        status = document.status
        if document.password and request.headers.get("Authorization") != _basic(*document.password):
            status, headers = 401, {"WWW-Authenticate": 'Basic realm="feeds"'}
        elif status == 200 and document.conditional and is_unchanged(request, headers):
            status = 304
        self.served.append(
            Served(
                at=self.clock(),
                path=request.path,
                status=status,
                if_none_match=request.headers.get("If-None-Match"),
                if_modified_since=request.headers.get("If-Modified-Since"),
                agent=request.headers.get("User-Agent"),
                etag=headers.get("ETag"),
                last_modified=headers.get("Last-Modified"),
                max_age=document.max_age,
                retry_after=headers.get("Retry-After"),
            )
        )
        self.note("served", **self.served[-1].to_json())
        body = document.body
        if document.gzip and "gzip" in request.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body)
            headers["Content-Encoding"] = "gzip"
        empty = status in (304, 401)
        answer = web.Response(status=status, body=None if empty else body, headers=headers)
        if "Content-Type" not in headers:
            answer.headers.pop("Content-Type", None)
        return answer

    def _headers(self, request: web.Request, document: Document) -> dict[str, str]:
        headers: dict[str, str | None] = {"Content-Type": document.content_type}
        if document.etag == AUTO:
            headers["ETag"] = f'"{hashlib.sha256(document.body).hexdigest()[:16]}"'
        else:
            headers["ETag"] = document.etag
        if document.last_modified == AUTO:
            headers["Last-Modified"] = formatdate(self._changed_at.get(request.path, 0.0), usegmt=True)
        else:
            headers["Last-Modified"] = document.last_modified
        if document.max_age is not None:
            headers["Cache-Control"] = f"max-age={document.max_age}"
        return {key: value for key, value in {**headers, **document.headers}.items() if value is not None}


def is_unchanged(request: web.Request, headers: dict[str, str]) -> bool:
    """Judge a conditional request (RFC 9110, 13.1): If-None-Match alone counts where it is sent."""
    asked = request.headers.get("If-None-Match")
    if asked is not None:
        known = [tag.strip().removeprefix("W/") for tag in asked.split(",")]
        return "ETag" in headers and ("*" in known or headers["ETag"].removeprefix("W/") in known)
    since = request.headers.get("If-Modified-Since")
    if since is None or "Last-Modified" not in headers:
        return False
    try:
        return parsedate_to_datetime(since) >= parsedate_to_datetime(headers["Last-Modified"])
    except (ValueError, TypeError):
        return False


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


GOOD_FEED = b"""<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0"><channel><title>Good</title><link>https://www.example.org/</link><description>Good</description>
<item><title>One</title><link>https://www.example.org/1</link><guid>https://www.example.org/1</guid>
<pubDate>Wed, 16 Sep 2026 00:00:00 +0000</pubDate><description>The only entry.</description></item>
</channel></rss>
"""
