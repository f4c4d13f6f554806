"""What is asked of hubs, and when again; what they may and may not make us do."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from bot.clock import SystemClock
from bot.core.errors import AddressRefused, FetchError, Forged
from bot.core.model.feed import Feed, FeedId, FeedMemory, FeedState, Fetched
from bot.services.websub import WebSub

NOW = datetime(2026, 9, 16, 12, tzinfo=UTC)
BLOG = FeedId("blog")
HUB = "https://hub.example.org/"
TOPIC = "https://blog.example.org/feed.xml"
DAY = timedelta(days=1)


class StandingClock(SystemClock):
    """Time that a test sets."""

    at = NOW

    def now(self) -> datetime:
        return self.at


def feed_state(*, hub: str | None = HUB, paused: bool = False) -> FeedState:
    return FeedState(
        no=1,
        feed=Feed(id=BLOG, url=TOPIC, allow_private=("10.0.0.0/8",)),
        memory=FeedMemory(hub=hub),
        next_poll_at=NOW,
        paused_at=NOW if paused else None,
    )


@dataclass
class Memory:
    """The part of the store that is needed, and what was asked of it."""

    state: FeedState = field(default_factory=feed_state)
    free: bool = True
    facts: dict[str, str] = field(default_factory=dict)
    poked: list[FeedId] = field(default_factory=list)

    async def feeds(self) -> Sequence[FeedState]:
        return [self.state]

    async def claim_feed(self, feed_id: FeedId, *, now: datetime, lease: timedelta) -> FeedState | None:
        return self.state if self.free else None

    async def poke(self, feed_id: FeedId, *, now: datetime) -> bool:
        self.poked.append(feed_id)
        return True

    async def meta(self, name: str) -> str | None:
        return self.facts.get(name)

    async def put_meta(self, name: str, value: str) -> None:
        self.facts[name] = value

    async def key(self) -> bytes:
        return b"the key of this state"


class Scene:
    """A WebSub whose hub answers `status`, or fails by `error`."""

    def __init__(self, *, public_url: str | None = "https://bell.example.org/") -> None:
        self.clock = StandingClock()
        self.store = Memory()
        self.status = 202
        self.error: FetchError | None = None
        self.asked: list[tuple[str, Mapping[str, str], tuple[str, ...]]] = []
        self.taken: list[Fetched] = []
        self.woken = 0
        self.public_url = public_url
        self.websub = WebSub(
            store=self.store,
            hub=self,
            clock=self.clock,
            ingest=self.ingest,
            wake=self.wake,
            public_url=lambda: self.public_url,
        )

    async def post_form(self, url: str, fields: Mapping[str, str], *, allow_private: tuple[str, ...] = ()) -> int:
        self.asked.append((url, fields, allow_private))
        if self.error is not None:
            raise self.error
        return self.status

    async def ingest(self, state: FeedState, document: Fetched) -> None:
        self.taken.append(document)

    def wake(self) -> None:
        self.woken += 1

    async def look(self, *, later: timedelta = timedelta(0)) -> int:
        """Let time pass and look; return how often the hub has been asked so far."""
        self.clock.at += later
        await self.websub.look()
        return len(self.asked)

    async def confirmed(self, *, lease: str = "864000") -> None:
        await self.look()
        query = {
            "hub.mode": "subscribe",
            "hub.topic": TOPIC,
            "hub.challenge": "echo this",
            "hub.lease_seconds": lease,
        }
        assert await self.websub.confirm(BLOG, query) == "echo this"

    def signed(self, body: bytes, *, method: str = "sha256") -> dict[str, str]:
        secret = self.asked[0][1]["hub.secret"].encode()
        return {"x-hub-signature": f"{method}={hmac.new(secret, body, getattr(hashlib, method)).hexdigest()}"}


async def test_the_hub_is_told_where_and_with_what_secret_to_push() -> None:
    scene = Scene()
    await scene.look()
    [(url, fields, allowed)] = scene.asked
    assert url == HUB
    assert fields["hub.topic"] == TOPIC
    assert fields["hub.callback"] == "https://bell.example.org/websub/blog"
    assert len(fields["hub.secret"]) == 64
    assert fields["hub.lease_seconds"] == "864000"
    assert allowed == ("10.0.0.0/8",)


async def test_without_a_public_address_no_hub_is_asked() -> None:
    assert await Scene(public_url=None).look() == 0


@pytest.mark.parametrize("state", [feed_state(hub=None), feed_state(paused=True)], ids=["no hub", "paused"])
async def test_only_feeds_that_are_polled_and_name_a_hub_subscribe(state: FeedState) -> None:
    scene = Scene()
    scene.store.state = state
    assert await scene.look() == 0


async def test_a_subscription_is_renewed_when_four_fifths_of_its_lease_are_over() -> None:
    scene = Scene()
    await scene.confirmed()
    assert await scene.websub.is_pushed(BLOG)
    assert await scene.look(later=7.9 * DAY) == 1
    assert await scene.look(later=0.2 * DAY) == 2
    assert await scene.look(later=timedelta(minutes=30)) == 2
    assert await scene.websub.is_pushed(BLOG)
    await scene.confirmed()
    assert await scene.look(later=7.9 * DAY) == 2


async def test_a_lease_that_ended_means_polling_again() -> None:
    scene = Scene()
    await scene.confirmed(lease="3600")
    scene.clock.at += timedelta(hours=2)
    assert not await scene.websub.is_pushed(BLOG)


async def test_a_lease_of_a_clock_that_ran_ahead_is_none_and_asked_for_anew() -> None:
    scene = Scene()
    scene.clock.at += 700 * DAY
    await scene.confirmed()
    scene.clock.at -= 700 * DAY
    assert not await scene.websub.is_pushed(BLOG)
    assert await scene.look() == 2
    assert await scene.look(later=timedelta(hours=2)) == 3  # it did not confirm
    await scene.confirmed()
    assert await scene.websub.is_pushed(BLOG)


@pytest.mark.parametrize("failure", [FetchError("it refuses connections"), AddressRefused("10.0.0.1 is private"), 500])
async def test_a_hub_that_does_not_answer_well_is_asked_again_in_an_hour(failure: FetchError | int) -> None:
    scene = Scene()
    if isinstance(failure, int):
        scene.status = failure
    else:
        scene.error = failure
    assert await scene.look() == 1
    assert await scene.look(later=timedelta(minutes=59)) == 1
    assert await scene.look(later=timedelta(minutes=2)) == 2
    assert not await scene.websub.is_pushed(BLOG)


async def test_a_bot_that_moves_to_another_public_address_subscribes_there() -> None:
    scene = Scene()
    await scene.confirmed()
    scene.public_url = "https://bell.example.net"
    assert not await scene.websub.is_pushed(BLOG)
    assert await scene.look() == 2
    assert scene.asked[1][1]["hub.callback"] == "https://bell.example.net/websub/blog"
    assert scene.store.poked == [BLOG]  # the hub may have told the old address meanwhile
    await scene.confirmed()
    assert await scene.websub.is_pushed(BLOG)
    assert len(scene.asked) == 2


async def test_nothing_is_pushed_to_a_bot_that_has_no_public_address_any_more() -> None:
    scene = Scene()
    await scene.confirmed()
    scene.public_url = None
    assert not await scene.websub.is_pushed(BLOG)


async def test_a_feed_that_names_another_hub_subscribes_there() -> None:
    scene = Scene()
    await scene.confirmed()
    scene.store.state = feed_state(hub="https://other.example.org/")
    assert await scene.look() == 2
    assert scene.asked[1][0] == "https://other.example.org/"
    assert not await scene.websub.is_pushed(BLOG)


@pytest.mark.parametrize(
    "query",
    [
        {"hub.mode": "subscribe", "hub.topic": "https://elsewhere.example.org/", "hub.challenge": "x"},
        {"hub.mode": "unsubscribe", "hub.topic": TOPIC, "hub.challenge": "x"},
        {"hub.mode": "denied", "hub.topic": TOPIC},
        {"hub.mode": "subscribe", "hub.topic": TOPIC},
        {},
    ],
)
async def test_only_what_was_asked_for_is_confirmed(query: dict[str, str]) -> None:
    scene = Scene()
    await scene.look()
    assert await scene.websub.confirm(BLOG, query) is None
    assert await scene.websub.confirm(FeedId("other"), query) is None
    assert not await scene.websub.is_pushed(BLOG)


@pytest.mark.parametrize("lease", ["", "-1", "1e9", "99999999999999999999", "word"])
async def test_a_lease_that_is_no_number_is_ten_days(lease: str) -> None:
    scene = Scene()
    await scene.confirmed(lease=lease)
    scene.clock.at += 9 * DAY
    assert await scene.websub.is_pushed(BLOG)
    scene.clock.at += 2 * DAY
    assert not await scene.websub.is_pushed(BLOG)


@pytest.mark.parametrize("method", ["sha256", "sha384", "sha512"])
async def test_a_signed_push_is_taken_as_if_it_had_been_polled(method: str) -> None:
    scene = Scene()
    await scene.confirmed()
    headers = {**scene.signed(b"<rss/>", method=method), "content-type": "application/rss+xml"}
    assert await scene.websub.receive(BLOG, b"<rss/>", headers)
    [document] = scene.taken
    assert (document.body, document.url, document.content_type) == (b"<rss/>", TOPIC, "application/rss+xml")


@pytest.mark.parametrize(
    "signature", ["", "sha256=", "sha256=00", "md5=0", "sha1=00", "sha256", "=", "sha256=\xe4", "sha256=\udcff"]
)
async def test_a_push_that_proves_nothing_is_refused(signature: str) -> None:
    scene = Scene()
    await scene.confirmed()
    with pytest.raises(Forged):
        await scene.websub.receive(BLOG, b"<rss/>", {"x-hub-signature": signature})
    assert (scene.taken, scene.store.poked) == ([], [])


async def test_the_signature_is_over_the_very_body() -> None:
    scene = Scene()
    await scene.confirmed()
    with pytest.raises(Forged):
        await scene.websub.receive(BLOG, b"<rss />", scene.signed(b"<rss/>"))


@pytest.mark.parametrize(("method", "body"), [("sha1", b"<rss/>"), ("sha256", b"")])
async def test_a_weak_signature_or_an_empty_push_is_worth_a_poll(method: str, body: bytes) -> None:
    scene = Scene()
    await scene.confirmed()
    assert await scene.websub.receive(BLOG, body, scene.signed(body, method=method))
    assert scene.taken == []
    assert scene.store.poked == [BLOG]
    assert scene.woken == 1


async def test_a_push_during_a_poll_makes_the_next_poll_come_at_once() -> None:
    scene = Scene()
    await scene.confirmed()
    scene.store.free = False
    assert await scene.websub.receive(BLOG, b"<rss/>", scene.signed(b"<rss/>"))
    assert scene.store.poked == [BLOG]


async def test_nobody_pushes_a_feed_that_never_subscribed() -> None:
    assert not await Scene().websub.receive(FeedId("other"), b"<rss/>", {"x-hub-signature": "sha256=00"})
