"""What a link in a mail says, and what clicking it does."""

import base64
from datetime import UTC, datetime

import pytest

from bot.core.model.delivery import DeliveryKind, Owed
from bot.core.model.feed import FeedId
from bot.core.model.route import DestinationUid
from bot.services.subscriptions import Subscriptions, read_token, token_of, unsubscribe_url
from tests.core.messages import delivery, entry

KEY = bytes(range(32))
MAIL = DestinationUid("email:reader@example.org")
NOW = datetime(2026, 9, 16, tzinfo=UTC)
URL = "https://bell.example.org/"


class Book:
    """Implements services.subscriptions.SubscriptionStore."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, str | None]] = []

    async def unsubscribe(self, uid: DestinationUid, feed: FeedId | None, *, now: datetime) -> bool:
        self.ended.append((uid, feed))
        return uid == MAIL


class StillClock:
    def now(self) -> datetime:
        return NOW


def link_of(kind: DeliveryKind, *, to: DestinationUid = MAIL, entries: int = 1) -> str | None:
    owed = Owed(delivery=delivery(kind, destination=to), entries=(entry(),) * entries)
    return unsubscribe_url(owed, public_url=URL, key=KEY)


def token(link: str | None) -> str:
    assert link is not None
    assert link.startswith("https://bell.example.org/unsubscribe/")
    return link.rpartition("/")[2]


def test_a_mail_ends_its_feed_and_a_digest_all_of_them() -> None:
    assert read_token(token(link_of(DeliveryKind.ENTRY)), key=KEY) == (MAIL, "news")
    assert read_token(token(link_of(DeliveryKind.EDIT)), key=KEY) == (MAIL, "news")
    assert read_token(token(link_of(DeliveryKind.DIGEST, entries=3)), key=KEY) == (MAIL, "")


def test_only_mail_of_entries_has_a_link() -> None:
    assert link_of(DeliveryKind.ENTRY, to=DestinationUid("slack:#x")) is None
    assert link_of(DeliveryKind.NOTICE) is None
    assert link_of(DeliveryKind.ENTRY, entries=0) is None


def test_a_link_with_the_longest_names_fits_into_a_header() -> None:
    longest = DestinationUid(f"email:{'a' * 64}@{'b' * 185}.example")
    assert len(token_of(longest, FeedId("f" * 100), key=KEY)) < 850


def forged() -> list[str]:
    good = token_of(MAIL, FeedId("news"), key=KEY)
    whole = base64.urlsafe_b64decode(good + "=" * (-len(good) % 4))
    other = whole[:16] + whole[16:].replace(b"news", b"olds")
    return [
        *("", "x", "é", "%00", "A" * 5000, good[:-4], good + "AAAA", good[4:], "=" * 8, "a b c d e"),
        base64.urlsafe_b64encode(other).decode().rstrip("="),
        token_of(MAIL, FeedId("news"), key=KEY[::-1]),
        base64.urlsafe_b64encode(whole[16:]).decode(),
    ]


@pytest.mark.parametrize("evil", forged())
async def test_a_link_that_is_none_of_ours_changes_nothing(evil: str) -> None:
    book = Book()
    assert not await Subscriptions(book, StillClock(), key=KEY).end(evil)  # type: ignore[arg-type]  # it only tells now
    assert book.ended == []


async def test_a_click_ends_what_the_link_says() -> None:
    book = Book()
    desk = Subscriptions(book, StillClock(), key=KEY)  # type: ignore[arg-type]  # it only tells now
    assert await desk.end(token(link_of(DeliveryKind.ENTRY)))
    assert await desk.end(token(link_of(DeliveryKind.DIGEST)))
    assert not await desk.end(token_of(DestinationUid("email:gone@example.org"), FeedId("news"), key=KEY))
    assert book.ended == [(MAIL, "news"), (MAIL, None), ("email:gone@example.org", "news")]
