"""A local web server that publishes the feed's history, one state of the document after the other."""

import hashlib
import re
from importlib.resources import files

from aiohttp import web

_ITEMS = re.compile(rb"\s*<item>.*</item>", re.DOTALL)


def history() -> tuple[bytes, ...]:
    """The document as it was: empty at first, then a post more each time; the last step brings two at once."""
    folder = files("bot.demo") / "timeline"
    steps = tuple(file.read_bytes() for file in sorted(folder.iterdir(), key=lambda file: file.name))
    return (_ITEMS.sub(b"", steps[0]), *steps)


class Publisher:
    """Serves the current step with an ETag; `publish` goes one further."""

    def __init__(self) -> None:
        self._steps = history()
        self._at = 0
        self._runner: web.AppRunner | None = None
        self.url = ""

    @property
    def is_done(self) -> bool:
        return self._at == len(self._steps) - 1

    def publish(self) -> int:
        """Go one step further; return how many posts the document holds now."""
        self._at = min(self._at + 1, len(self._steps) - 1)
        return self._steps[self._at].count(b"<item>")

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/ai-networking/index.xml", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/ai-networking/index.xml"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        body = self._steps[self._at]
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers={"ETag": etag})
        return web.Response(body=body, content_type="application/rss+xml", headers={"ETag": etag})
