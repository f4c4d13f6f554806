"""Bodies of Discord requests and answers."""

from __future__ import annotations

import json

from aiohttp import web

from tests.servers.discord_state import DiscordError
from tests.servers.faults import Json


def answer(body: object, status: int, headers: dict[str, str] | None = None) -> web.Response:
    """Return JSON whose content type is exactly application/json, as Discord's is."""
    return web.Response(
        status=status,
        body=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Via": "1.1 google", **(headers or {})},
    )


async def read_json(request: web.Request) -> Json:
    if request.content_type != "application/json":
        raise DiscordError(400, 50035, "Invalid Form Body")
    try:
        body = json.loads(await request.read())
    except ValueError:
        raise DiscordError(400, 50109, "The request body contains invalid JSON.") from None
    if not isinstance(body, dict):
        raise DiscordError(400, 50035, "Invalid Form Body")
    return body
