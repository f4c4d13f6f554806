"""The inbox: each message as Slack, Discord and a mail program show it, drawn from the very payloads."""

from collections.abc import Callable, Mapping, Sequence

from aiohttp import web

from bot.web.parts import InboxMessage

Page = Callable[[str, Mapping[str, object]], web.Response]
SHOWN = 50


class Inbox:
    """The page's handlers."""

    def __init__(self, messages: Callable[[], Sequence[InboxMessage]], page: Callable[..., web.Response]) -> None:
        self._messages = messages
        self._page = page

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/inbox", self.inbox)]

    async def inbox(self, request: web.Request) -> web.Response:
        return self._page("inbox.html", {"messages": self._messages()[:SHOWN]})
