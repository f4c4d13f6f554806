"""Generic webhooks after the Standard Webhooks specification."""

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web

from bot.core.errors import (
    Deferred,
    DestinationDown,
    LookupImpossible,
    MessageRejected,
    OutcomeUnknown,
)
from bot.core.model.delivery import DeliveryKind, Owed
from bot.core.render import render_owed
from bot.notifiers.webhook import WebhookNotifier, key_bytes
from tests.core.messages import BERLIN, delivery, digest, entry, message
from tests.edge.notifying import HandClock, to

KEY = delivery().idem
SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
THERE = to("webhook:team")


@dataclass
class Receiver:
    """Takes what comes and answers as told."""

    url: str = ""
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        self.requests.append((dict(request.headers), await request.read()))
        return web.Response(status=self.status, headers=self.headers)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    app = web.Application()
    app.router.add_post("/hook", made.take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield made
    await runner.cleanup()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


@pytest.fixture
def hook(receiver: Receiver, session: aiohttp.ClientSession) -> WebhookNotifier:
    return WebhookNotifier(session, urls={"team": receiver.url}, clock=HandClock(), keys={"team": SECRET})


async def test_the_body_is_what_latest_gives_with_an_id(receiver: Receiver, hook: WebhookNotifier) -> None:
    await hook.send(THERE, hook.to_payload(message()), KEY)
    headers, body = receiver.requests[0]
    assert headers["Content-Type"].startswith("application/json")
    assert json.loads(body) == {
        "type": "entry",
        "entries": [
            {
                "id": (b"k" * 16).hex(),
                "title": "A title",
                "link": "https://www.example.org/posts/1",
                "tags": ["bgp"],
                "published": "2026-09-16T08:05:00+00:00",
                "summary": "A short summary.",
                "feed": "news",
            }
        ],
    }


async def test_each_try_is_signed_afresh_under_the_same_id(receiver: Receiver, session: aiohttp.ClientSession) -> None:
    clock = HandClock()
    hook = WebhookNotifier(session, urls={"team": receiver.url}, clock=clock, keys={"team": SECRET})
    for _ in range(2):
        await hook.send(THERE, hook.to_payload(message()), KEY)
        clock.move(seconds=90)
    stamps = []
    for headers, body in receiver.requests:
        assert headers["webhook-id"] == KEY
        stamps.append(int(headers["webhook-timestamp"]))
        signed = f"{KEY}.{headers['webhook-timestamp']}.".encode() + body
        digest = hmac.new(b"0123456789abcdef01234567", signed, hashlib.sha256).digest()
        assert headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()
    assert stamps[1] - stamps[0] == 90


async def test_without_a_key_nothing_is_signed(receiver: Receiver, session: aiohttp.ClientSession) -> None:
    hook = WebhookNotifier(session, urls={"team": receiver.url}, clock=HandClock())
    await hook.send(THERE, hook.to_payload(message()), KEY)
    assert "webhook-signature" not in receiver.requests[0][0]


def test_a_key_without_the_prefix_is_taken_as_typed() -> None:
    assert key_bytes("topsecret123") == b"topsecret123"
    assert key_bytes(SECRET) == b"0123456789abcdef01234567"


async def test_digests_and_notices_have_their_own_kind(receiver: Receiver, hook: WebhookNotifier) -> None:
    notice = delivery(DeliveryKind.NOTICE, notice="feed news is gone")
    bodies = [digest((entry(), entry(title="Two"))), render_owed(Owed(delivery=notice), timezone=BERLIN)]
    for said in bodies:
        await hook.send(THERE, hook.to_payload(said), KEY)
    first, second = (json.loads(body) for _, body in receiver.requests)
    assert (first["type"], [one["title"] for one in first["entries"]]) == ("digest", ["A title", "Two"])
    assert second == {"type": "notice", "entries": [], "text": "feed news is gone"}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, MessageRejected),
        (401, DestinationDown),
        (404, DestinationDown),
        (410, DestinationDown),
        (413, MessageRejected),
        (418, Deferred),
        (429, Deferred),
        (302, DestinationDown),
        (500, OutcomeUnknown),
        (502, OutcomeUnknown),
    ],
)
async def test_each_answer_means_one_thing(
    receiver: Receiver, hook: WebhookNotifier, status: int, kind: type[Exception]
) -> None:
    receiver.status, receiver.headers = status, {"Location": receiver.url}
    with pytest.raises(kind) as caught:
        await hook.send(THERE, hook.to_payload(message()), KEY)
    assert type(caught.value) is kind
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_is_sent(receiver: Receiver, hook: WebhookNotifier, status: int) -> None:
    receiver.status = status
    await hook.send(THERE, hook.to_payload(message()), KEY)


async def test_a_busy_receiver_says_how_long(receiver: Receiver, hook: WebhookNotifier) -> None:
    for receiver.status in (429, 503):
        receiver.headers = {"Retry-After": "12"}
        with pytest.raises(Deferred) as caught:
            await hook.send(THERE, hook.to_payload(message()), KEY)
        assert caught.value.retry_after is not None


async def test_there_is_nothing_to_look_up_or_to_change(hook: WebhookNotifier) -> None:
    with pytest.raises(LookupImpossible):
        await hook.find(THERE, {}, KEY, HandClock().now())
    with pytest.raises(MessageRejected):
        await hook.edit(THERE, {}, "1")
    assert (await hook.probe(THERE)).can_look_up is False
    with pytest.raises(DestinationDown):
        await hook.send(to("webhook:unset"), {}, KEY)
