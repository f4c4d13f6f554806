"""Doors for what people and platforms send: configuration, expressions, commands, chat requests, the HTTP port."""

from __future__ import annotations

import asyncio
import html
import json
import logging
from datetime import UTC, datetime
from urllib.parse import urlencode

from bot.chat.discord.requests import read_interaction
from bot.chat.discord.verify import verify as verify_discord
from bot.chat.slack.requests import read_command, read_form, read_payload, read_press
from bot.chat.slack.verify import verify as verify_slack
from bot.config.errors import mask
from bot.config.values import is_loopback
from bot.core.errors import ConfigError, Forged, UsageError
from bot.core.filters import matches, parse_match, words_of
from bot.core.model.feed import FeedId
from bot.core.query import parse_latest
from bot.services.subscriptions import read_token
from bot.telemetry.redaction import Redactor
from bot.web.guard import access, host_name
from tests.config.reading import read
from tests.config.test_robustness import EXAMPLE, assert_told_well
from tests.core.messages import SEEN, digest, entry, message
from tests.edge.test_layouts import payload_faults
from tests.edge.web_bot import settings as web_settings
from tests.fuzz.mutations import Target
from tests.fuzz.port import ask_port

NOW = datetime(2026, 9, 16, 12, tzinfo=UTC)
STAMP = str(int(NOW.timestamp()))
TAGS = {"bgp", "ai-networking"}
FEEDS = (FeedId("news"), FeedId("bgp"))


def config(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        read(text)
    except ConfigError as error:
        assert_told_well(text, error)


def match(data: bytes) -> None:
    expression, _, title = data.decode("utf-8", "replace").partition("\n")
    try:
        found = parse_match(expression)
    except (ConfigError, UsageError):
        return
    matches(found, words_of(title, expression))


def query(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        found = parse_latest(text, has_tag=TAGS.__contains__, feed_ids=lambda: FEEDS)
    except UsageError:
        return
    assert 1 <= found.count <= 10


def render(data: bytes) -> None:
    fields = data.decode("utf-8", "surrogatepass" if b"\xed" in data else "replace").split("\x1f") + [""] * 6
    title, body, tags, link, feed, image = fields[:6]
    shown = entry(
        title=title,
        text=body,
        summary_html=body if body.startswith("<") else html.escape(body),
        tags=tuple(tags.split(",")),
        link=link or None,
        feed_title=feed,
        image=image or None,
        published=SEEN,
    )
    for said in (message(shown), digest((shown,) * 3)):
        payload_faults(said)
        payload_faults(said, plain=True)


def render_any(data: bytes) -> None:
    try:
        render(data)
    except UnicodeDecodeError:
        render(data.replace(b"\xed", b""))


def slack(data: bytes) -> None:
    try:
        verify_slack(
            "secret", {"X-Slack-Request-Timestamp": STAMP, "X-Slack-Signature": data.decode("latin-1")}, data, now=NOW
        )
    except Forged:
        pass
    try:
        fields = read_form(data)
        if "payload" in fields:
            read_press(read_payload(fields["payload"]))
        else:
            read_command(fields)
    except Forged:
        return


def discord(data: bytes) -> None:
    text = data.decode("latin-1")
    for key, signature in (("0" * 64, text[:128]), (text[:64], "0" * 128)):
        try:
            verify_discord(key, {"X-Signature-Timestamp": STAMP, "X-Signature-Ed25519": signature}, data, now=NOW)
        except Forged:
            pass
    try:
        value = read_payload(data.decode("utf-8", "replace"))
        if isinstance(value, dict):
            read_interaction(value)
    except Forged:
        return


def access_of(data: bytes) -> None:
    host, _, authorization = data.decode("utf-8", "surrogateescape").partition("|")
    granted = access(web_settings(token="t0ken-of-the-pages").http, host=host, authorization=authorization)
    local = is_loopback(host_name(host))
    assert granted.value in (200, 401)
    assert granted.value != 200 or local or "t0ken" in authorization or "dDBrZW4" in authorization


def token(data: bytes) -> None:
    assert read_token(data.decode("latin-1"), key=b"k" * 32) is None


def redaction(data: bytes) -> None:
    """A secret is hidden wherever it stands, by its value and by its shape."""
    text = data.decode("utf-8", "replace")
    start, end = text[: len(text) // 2], text[len(text) // 2 :]
    secret, token = "c4nary S3cret!", "xoxb-1234567890-abcdefghij"
    assert secret not in Redactor([secret])(start + secret + end)
    assert token not in Redactor()(f"{start} {token} {end}")
    assert token not in mask(f"{start} {token} {end}")


def port(data: bytes) -> None:
    """Raw bytes on the port: never a 5xx, never a record of a fault."""
    logging.disable(logging.NOTSET)
    heads = asyncio.run(ask_port(data))
    assert not [head for head in heads if head.startswith(b"HTTP/1.1 5")], heads


def request(method: str, path: str, body: str = "", *lines: str) -> bytes:
    head = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *lines, f"Content-Length: {len(body)}", "", ""])
    return (head + body).encode()


PRESS = {
    "type": "block_actions",
    "user": {"id": "U1"},
    "channel": {"id": "C1"},
    "actions": [{"value": "r:0:latest:bgp"}],
    "response_url": "https://hooks.slack.com/x",
}
COMMAND = {"command": "/latest", "text": "bgp 3 public", "user_id": "U1", "channel_id": "C1", "channel_name": "general"}
OPTION = {"name": "tag", "type": 3, "value": "bgp", "focused": True}
ASKED = {"id": "1", "application_id": "9", "token": "t", "channel_id": "2", "user": {"id": "3"}}
LATEST = {**ASKED, "type": 2, "data": {"name": "latest", "options": [OPTION]}}
SEARCH = {"name": "search", "type": 1, "options": [{"name": "words", "value": "x"}]}
KEYS = b'"type": "data": "options": "value": null [] {} true 1e999 "id": payload='.split()
CONFIRM = "hub.mode=subscribe&hub.topic=https://f/&hub.challenge=x&hub.lease_seconds=1"
CONFIG = b'[[feeds]]\nid = "a"\nurl = "https://e.org/"\n[[routes]]\nto = "console"'
CARD = "A title\x1fSome *text* <https://e.org|x>\x1fbgp,evpn\x1fhttps://e.org/1\x1fFeed\x1fhttps://e.org/i.png"
RICH = "@everyone <!channel>\x1f<p>a <b>b</b></p><ul><li>x</ul>\x1f\x1fhttp://evil.example/?a=b\x1f\x1f"
REQUESTS = [
    request("POST", "/hooks/poke/ai-networking", "", "Authorization: Bearer p0ke-token"),
    request("POST", "/websub/ai-networking", "<rss/>", "X-Hub-Signature: sha256=x", "Content-Type: text/xml"),
    request("GET", f"/websub/ai-networking?{CONFIRM}"),
    request("POST", "/unsubscribe/good", "List-Unsubscribe=One-Click"),
    request("GET", "/?q=%FF&tag=x"),
    request("GET", "/entries/1"),
    request("GET", "/deliveries?state=dead&before=9"),
    request("GET", "/search?q=a%20b"),
]
HEADS = [
    b"\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Expect: 100-continue\r\n",
    b"Upgrade: websocket\r\n",
    b"0\r\n\r\n",
]

TARGETS = (
    Target(
        name="settings",
        seeds=[EXAMPLE.encode(), CONFIG],
        tokens=[*b'[[feeds]] [[routes]] [http] =[ ="" =-1 "15m" """'.split(), b"\n", b"match = '"],
        check=config,
    ),
    Target(
        name="match",
        seeds=[b'rdma or "lossless ethernet"\nRDMA today', b"not (a and b) or c\nx", "日本 or é\nx".encode()],
        tokens=[b" and ", b" or ", b" not ", b"(", b")", b'"', "“".encode(), b"NEAR", b"-"],
        check=match,
    ),
    Target(
        name="query",
        seeds=[b"bgp 3 public", b'tag:"AI Networking" count:2', b"feed:news 10", b"public", b""],
        tokens=[b"tag:", b"feed:", b"count:", b"public", b'"', "“".encode(), "３".encode(), b" "],
        check=query,
    ),
    Target(
        name="render",
        seeds=[CARD.encode(), RICH.encode()],
        tokens=[b"\x1f", *b"<b> <a/href='https://e.org/'> <li> <pre> ]( <@1> http:// ``` \\".split()],
        check=render_any,
    ),
    Target(
        name="slack",
        seeds=[urlencode(COMMAND).encode(), urlencode({"payload": json.dumps(PRESS)}).encode()],
        tokens=[*KEYS, b"&", b"=", b"%22", b"text=", b"user_id=", b"v0="],
        check=slack,
    ),
    Target(
        name="discord",
        seeds=[
            json.dumps(LATEST).encode(),
            json.dumps({**LATEST, "data": {"name": "feedbell", "options": [SEARCH]}}).encode(),
            json.dumps({**LATEST, "type": 4}).encode(),
            json.dumps({**ASKED, "type": 3, "data": {"custom_id": "r:0:latest:bgp"}}).encode(),
            b'{"type": 1}',
        ],
        tokens=KEYS,
        check=discord,
    ),
    Target(
        name="access",
        seeds=[b"127.0.0.1:8080|Basic eDp5", b"[::1]:80|Bearer x", b"localhost|", b"bell.example.org|Basic"],
        tokens=[*b"| [ ]: 127.0.0.1 @ localhost .".split(), b"Basic ", b"Bearer "],
        check=access_of,
    ),
    Target(
        name="unsubscribe",
        seeds=[b"AAAAAAAAAAAAAAAAAAAAAGVtYWlsOmFAZXhhbXBsZS5vcmcKbmV3cw", b""],
        tokens=[b"=", b"-", b"_", b"/", b"+"],
        check=token,
    ),
    Target(
        name="redaction",
        seeds=[
            b"https://user:pass@e.example/a",
            b"api_key = 'x', token: y",
            b"Authorization: Bearer x.y-z",
            b"a.b-c" * 9,
        ],
        tokens=b"password= token= _key : = ://a: @ . - Bearer AUTH /webhooks/ hooks.slack.com/services/".split(),
        check=redaction,
    ),
    Target(
        name="port",
        seeds=REQUESTS,
        tokens=[*HEADS, *b"HTTP/1.0 /.. %2e%2e %FF ? /inbox /feeds/ /entries/ before= Content-Length:".split()],
        check=port,
    ),
)
