"""The feed server of the cases: what their `http` files describe in words or rules, done."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace

from aiohttp import web

from tests.servers.faults import Json
from tests.servers.feeds import Document, FeedServer
from tests.servers.journal import Clock

TRICKLE = re.compile(r"send '(?P<first>.*)' then one space every (?P<seconds>\d+) seconds, never closing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What agents of some names get instead of the document."""

    agents: re.Pattern[str]
    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Trickle:
    """An answer that never ends."""

    first: bytes
    pause: float


class CaseFeeds(FeedServer):
    """A FeedServer that may also refuse by agent, or trickle for ever."""

    def __init__(self, *, clock: Clock) -> None:
        super().__init__(clock=clock)
        self._refusals: dict[str, Refusal] = {}
        self._trickles: dict[str, Trickle] = {}

    def behave(self, path: str, described: Json) -> str | None:
        """Do at `path` what an `http` file says; return the first document it names, if any."""
        words = TRICKLE.fullmatch(described["body"]) if isinstance(described.get("body"), str) else None
        if words:
            trickle = Trickle(first=words["first"].encode(), pause=float(words["seconds"]))
            self._trickles[path] = trickle
            return None
        refusing, usual = described["rules"]
        agents = re.compile(refusing["if_user_agent_matches"], re.I if refusing.get("ignore_case") else 0)
        page = Document(body=refusing["body"].encode(), status=refusing["status"], content_type="text/html")
        self._refusals[path] = Refusal(agents=agents, document=page)
        return str(usual["body_file"]).partition(" then ")[0]

    def never_ends(self, path: str) -> bool:
        """Whether the answer at `path` is one that no reader gets to the end of."""
        return path in self._trickles

    def serve(self, path: str, *documents: Document) -> str:
        self._trickles.pop(path, None)
        return super().serve(path, *documents)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        trickle = self._trickles.get(request.path)
        return await super()._answer(request) if trickle is None else await self._trickle(request, trickle)

    def document_answer(self, request: web.Request, document: Document) -> web.Response:
        refusal = self._refusals.get(request.path)
        if refusal and refusal.agents.search(request.headers.get("User-Agent", "")):
            document = replace(refusal.document, conditional=False)
        return super().document_answer(request, document)

    async def _trickle(self, request: web.Request, trickle: Trickle) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/rss+xml"})
        await answer.prepare(request)
        await answer.write(trickle.first)
        try:
            while not self.is_closing:
                await self.wait(trickle.pause)
                await answer.write(b" ")
        except (ConnectionError, asyncio.CancelledError):
            pass
        return answer
