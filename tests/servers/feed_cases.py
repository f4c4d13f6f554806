"""How badly a web server can behave: one function a case, named as in the corpus of hostile feeds.

Each gets the server, the request, and how often the case was asked before; it returns None for "the good feed now".
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import TYPE_CHECKING

from aiohttp import web

from tests.servers.loopback import reset

if TYPE_CHECKING:
    from tests.servers.feeds import FeedServer

Case = Callable[["FeedServer", web.Request, int], Awaitable[web.StreamResponse | None]]
RSS = b"Content-Type: application/rss+xml; charset=utf-8\r\n"
CASES: dict[str, Case] = {}
HONEYPOT = "http://127.0.0.1:18999/"


def case(*names: str) -> Callable[[Case], Case]:
    def add(function: Case) -> Case:
        CASES.update(dict.fromkeys(names, function))
        return function

    return add


def redirect(to: str, status: int = 302, **headers: str) -> web.Response:
    return web.Response(status=status, headers={"Location": to, **{k.replace("_", "-"): v for k, v in headers.items()}})


async def raw(request: web.Request, *parts: bytes, pause: float = 0.0, rst: bool = False) -> web.Response:
    """Write bytes as they are, then end the connection."""
    transport = request.transport
    assert transport is not None
    for part in parts:
        if transport.is_closing():
            break
        transport.write(part)
        await asyncio.sleep(pause)
    if rst:
        reset(transport)
    else:
        transport.close()
    return web.Response()


def good(server: FeedServer) -> bytes:
    return server.good_body


@case("redirect-loop")
async def redirect_loop(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    return redirect(request.path, 301)


@case("redirect-chain")
async def redirect_chain(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    hop = int(request.query.get("hop", "0"))
    return None if hop >= 12 else redirect(f"{request.path}?hop={hop + 1}")


@case("redirect-file", "redirect-metadata", "redirect-localhost")
async def redirect_inside(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    targets = {
        "redirect-file": "file:///etc/passwd",
        "redirect-metadata": "http://169.254.169.254/latest/",
        "redirect-localhost": HONEYPOT,
    }
    return redirect(targets[request.match_info["case"]])


@case("moved-permanently")
async def moved(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    if request.path.endswith("/new.xml"):
        return None
    return redirect(request.path.replace("/feed.xml", "/new.xml"), 301)


@case("304")
async def not_modified(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    return None


@case("304-ignored")
async def validators_ignored(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    return web.Response(body=good(server), headers={"ETag": '"v1"', "Content-Type": "application/rss+xml"})


@case("etag-changes")
async def etag_changes(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    return web.Response(body=good(server), headers={"ETag": f'"v{turn}"', "Content-Type": "application/rss+xml"})


@case("410")
async def gone(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    return web.Response(status=410, text="gone")


@case("404-then-200")
async def missing_for_a_while(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    return web.Response(status=404, text="not found") if turn <= 3 else None


@case("429", "429-date")
async def too_many(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    dated = request.match_info["case"] == "429-date"
    wait = formatdate(server.clock() + 120, usegmt=True) if dated else "120"
    return web.Response(status=429, headers={"Retry-After": wait})


@case("503-html")
async def unavailable(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    return web.Response(status=503, text="<html><body>Down for maintenance</body></html>", content_type="text/html")


@case("slow-headers")
async def slow_headers(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    await server.wait(90)
    return None


@case("header-drip")
async def header_drip(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    head = b"HTTP/1.1 200 OK\r\n" + b"X-Wait: a little longer\r\n" * 10_000
    return await raw(request, *(head[i : i + 1] for i in range(len(head))), pause=1.0)


@case("slow-drip")
async def slow_drip(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    transport = request.transport
    assert transport is not None
    transport.write(b"HTTP/1.1 200 OK\r\n" + RSS + b"Connection: close\r\n\r\n<rss>")
    while not transport.is_closing() and not server.is_closing:
        transport.write(b" ")
        await asyncio.sleep(server.drip_pause)
    return web.Response()


@case("endless")
async def endless(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    answer = web.StreamResponse(headers={"Content-Type": "application/rss+xml"})
    await answer.prepare(request)
    await answer.write(b"<rss><channel>")
    while not server.is_closing:
        await answer.write(b"<item><title>more</title></item>" * 2048)
    return answer


@case("short-body")
async def short_body(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    body = (good(server) + b" " * 4000)[:4000]
    return await raw(request, b"HTTP/1.1 200 OK\r\n" + RSS + b"Content-Length: 10000\r\n\r\n", body)


@case("chunked-broken")
async def chunked_broken(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    body = good(server)
    head = b"HTTP/1.1 200 OK\r\n" + RSS + b"Transfer-Encoding: chunked\r\n\r\n"
    return await raw(request, head, b"%x\r\n%s\r\n" % (len(body), body))


@case("bad-gzip", "gzip-truncated", "br", "gzip-twice")
async def bad_encoding(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    body, name = good(server), request.match_info["case"]
    zipped = gzip.compress(body)
    bodies = {"bad-gzip": body, "gzip-truncated": zipped[:-20], "br": b"\x0b\x02\x80brotli", "gzip-twice": zipped}
    encodings = {"br": b"br", "gzip-twice": b"gzip, gzip"}
    sent = gzip.compress(zipped) if name == "gzip-twice" else bodies[name]
    head = b"HTTP/1.1 200 OK\r\n" + RSS + b"Content-Encoding: " + encodings.get(name, b"gzip")
    return await raw(request, head + b"\r\nContent-Length: %d\r\n\r\n" % len(sent), sent)


@case("gzip-bomb", "gzip-members", "gzip-twice-bomb", "deflate-bomb")
async def bomb(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    name = request.match_info["case"]
    member = gzip.compress(b"<rss>" + b" " * 10_000_000)
    bodies = {
        "gzip-bomb": lambda: gzip.compress(b"<rss>" + b" " * 200_000_000),
        "gzip-members": lambda: member * 1000,  # 10 GB in as many MB: a decoder may stop at the first or go on
        "gzip-twice-bomb": lambda: gzip.compress(member * 300),
        "deflate-bomb": lambda: zlib.compress(b"<rss>" + b" " * 200_000_000),
    }
    encodings = {"gzip-twice-bomb": "gzip, gzip", "deflate-bomb": "deflate"}
    headers = {"Content-Type": "application/rss+xml", "Content-Encoding": encodings.get(name, "gzip")}
    return web.Response(body=await asyncio.to_thread(bodies[name]), headers=headers)


@case("wrong-type")
async def wrong_type(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    types = ("text/plain", "application/octet-stream", "text/html")
    return web.Response(body=good(server), content_type=types[(turn - 1) % 3])


@case("no-type")
async def no_type(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    body = good(server)
    return await raw(request, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body)


@case("reset")
async def reset_midway(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    body = (good(server) + b" " * 1024)[:1024]
    head = b"HTTP/1.1 200 OK\r\n" + RSS + b"Content-Length: 10000\r\n\r\n"
    return await raw(request, head, body, pause=0.05, rst=True)


@case("cookie-wall")
async def cookie_wall(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    if request.path.endswith("/login"):
        return web.Response(text="<html><form>Log in</form></html>", content_type="text/html")
    return redirect(request.path.replace("/feed.xml", "/login"), Set_Cookie="session=1; Path=/")


@case("huge-headers")
async def huge_headers(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    lines = b"".join(b"X-Filler-%d: %s\r\n" % (number, b"x" * 990) for number in range(200))
    body = good(server)
    return await raw(request, b"HTTP/1.1 200 OK\r\n" + RSS + lines + b"Content-Length: %d\r\n\r\n" % len(body), body)


@case("header-crlf")
async def header_crlf(server: FeedServer, request: web.Request, turn: int) -> web.StreamResponse | None:
    body = good(server)
    head = b'HTTP/1.1 200 OK\r\nETag: "a\r\n b\x85\xe9"\r\n' + RSS + b"Content-Length: %d\r\n\r\n" % len(body)
    return await raw(request, head, body)
