"""Pages from templates: everything that is put into one is escaped."""

import hashlib
from collections.abc import Mapping
from datetime import datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from aiohttp import web

from bot.core.render import display_title
from bot.core.text.links import http_url
from bot.web import words
from bot.web.moments import Moments, in_words, plural
from bot.web.policy import LIVE_POLICY, POLICY

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC = Path(__file__).parent / "static"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class View:
    """Renders templates and serves the few files they refer to."""

    def __init__(self) -> None:
        self._files = {path.name: path.read_bytes() for path in sorted(STATIC.iterdir()) if path.suffix in TYPES}
        self._version = hashlib.sha256(b"".join(self._files.values())).hexdigest()[:12]

    @cached_property
    def _environment(self) -> "Environment":
        from jinja2 import Environment, PackageLoader, StrictUndefined  # 2 MB that only pages need

        # Escaping is on for every name, so that no template can forget it.
        environment = Environment(
            loader=PackageLoader("bot.web", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.globals["static"] = self._static_url
        environment.filters |= {
            "address": words.address_of,
            "delivery_state": words.delivery_state,
            "destination_state": words.destination_state,
            "feed_state": words.feed_state,
            "host": _host,
            "in_words": in_words,
            "kind": words.kind_of,
            "outcome": lambda outcome: words.OUTCOMES.get(outcome, outcome),
            "link": http_url,
            "path": _path,
            "plural": plural,
            "service": words.service_name,
            "state": words.state_of,
            "title": display_title,
        }
        return environment

    def page(
        self, name: str, *, now: datetime, zone: tzinfo, facts: Mapping[str, object], status: int = 200
    ) -> web.Response:
        """Return the page that `name` makes of `facts`."""
        text = self._environment.get_template(name).render(at=Moments(now=now, zone=zone), **facts)
        policy = LIVE_POLICY if facts["since"] is not None else POLICY
        headers = {"Cache-Control": "no-store", "Content-Security-Policy": policy}
        return web.Response(text=text, content_type="text/html", charset="utf-8", status=status, headers=headers)

    def static(self, name: str) -> web.Response:
        """Return a file; its address changes with what it holds. Raises HTTPNotFound."""
        if name not in self._files:
            raise web.HTTPNotFound
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        kind = TYPES[Path(name).suffix]
        return web.Response(body=self._files[name], content_type=kind, charset="utf-8", headers=headers)

    def _static_url(self, name: str) -> str:
        return f"/static/{name}?v={self._version}"


def _path(part: object) -> str:
    """Return `part` as one segment of a path or one value of a query."""
    return quote(str(part), safe="")


def _host(url: str | None) -> str:
    return (urlsplit(url).hostname or "") if url else ""
