"""The inbox: each message as Slack, Discord and a mail program show it, drawn from the very payloads."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from aiohttp import web
from markupsafe import Markup

from bot.core.model.message import Payload
from bot.core.model.route import DestinationUid
from bot.web.looks import discord, mail, slack
from bot.web.looks.mail import Mail
from bot.web.parts import InboxMessage
from bot.web.words import SERVICES

SHOWN = 40
ORDER = ("slack", "discord", "email", "console", "webhook")
PLATFORMS = {
    "slack": "slack",
    "slack-webhook": "slack",
    "discord": "discord",
    "discord-user": "discord",
    "discord-webhook": "discord",
    "email": "email",
    "console": "console",
    "webhook": "webhook",
}


class Received(Protocol):
    """One payload as one destination got it, or would have got it."""

    @property
    def destination(self) -> DestinationUid: ...

    @property
    def key(self) -> str:
        """The delivery's; an edit comes under the key of what it changes."""

    @property
    def title(self) -> str: ...

    @property
    def payload(self) -> Payload: ...

    @property
    def at(self) -> datetime: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One message on one platform, ready to be drawn."""

    platform: str
    drawn: Markup | None = None
    mail: Mail | None = None
    text: str | None = None
    payload: str = ""  # as JSON, to be read
    builder: str | None = None  # where Slack itself draws these blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    title: str
    at: datetime
    looks: Sequence[Look] = field(default=())
    name: str = ""  # the same as long as it looks the same


class Inbox:
    """The page's handlers."""

    def __init__(
        self, messages: Callable[[], Sequence[InboxMessage]], page: Callable[..., Awaitable[web.Response]]
    ) -> None:
        self._messages = messages
        self._page = page

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/inbox", self.inbox), web.get("/inbox/mail/{name}", self.mail)]

    async def inbox(self, request: web.Request) -> web.Response:
        messages = self._messages()
        facts = {"messages": [show(message) for message in messages[:SHOWN]], "total": len(messages), "names": SERVICES}
        return await self._page("inbox.html", facts)

    async def mail(self, request: web.Request) -> web.Response:
        """The document in a mail's frame. Its policy is its own: inline style, and nothing else."""
        for message in self._messages():
            payload = message.payloads.get("email")
            found = mail.read(payload) if payload is not None else None
            if found is not None and found.name == request.match_info["name"]:
                headers = {"Content-Security-Policy": mail.POLICY, "X-Frame-Options": "SAMEORIGIN"}
                return web.Response(text=mail.document(found), content_type="text/html", headers=headers)
        raise web.HTTPNotFound


def show(message: InboxMessage) -> Shown:
    known = sorted(message.payloads.items(), key=lambda pair: ORDER.index(pair[0]) if pair[0] in ORDER else len(ORDER))
    looks = [_look(platform, payload) for platform, payload in known]
    name = hashlib.sha256(repr((message.title, message.at, looks)).encode()).hexdigest()[:16]
    return Shown(title=message.title, at=message.at, looks=looks, name=name)


def collect(received: Iterable[Received]) -> Sequence[InboxMessage]:
    """Put together what several destinations got of the same thing; newest first.

    An edit, which comes under a key that is known, replaces what it changes.
    """
    groups: list[tuple[str, datetime, dict[str, Payload]]] = []
    place_of: dict[tuple[DestinationUid, str], int] = {}
    for one in received:
        platform = PLATFORMS.get(one.destination.partition(":")[0], "console")
        where = place_of.get((one.destination, one.key))
        if where is None:
            where = next((n for n, group in enumerate(groups) if _takes(group, one, platform)), len(groups))
            if where == len(groups):
                groups.append((one.title, one.at, {}))
            place_of[one.destination, one.key] = where
        groups[where][2][platform] = one.payload
    return [InboxMessage(title=title, at=at, payloads=payloads) for title, at, payloads in reversed(groups)]


def _takes(group: tuple[str, datetime, Mapping[str, Payload]], one: Received, platform: str) -> bool:
    title, _, payloads = group
    return title == one.title and platform not in payloads


def _look(platform: str, payload: Payload) -> Look:
    shown = json.dumps(payload, ensure_ascii=False, indent=2, default=str)
    match platform:
        case "slack":
            return Look(platform=platform, drawn=slack.draw(payload), payload=shown, builder=slack.builder(payload))
        case "discord":
            return Look(platform=platform, drawn=discord.draw(payload), payload=shown)
        case "email":
            return Look(platform=platform, mail=mail.read(payload), payload=shown)
        case "console":
            return Look(platform=platform, text=str(payload.get("text", "")), payload=shown)
        case _:
            return Look(platform=platform, text=shown, payload=shown)
