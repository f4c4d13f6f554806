"""Made-up feeds, entries, destinations, deliveries and messages for the pages to show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.core.model.delivery import Delivery, DeliveryKind, DeliveryState, Destination, Options
from bot.core.model.entry import Entry
from bot.core.model.feed import Feed, FeedId, FeedMemory, FeedState, Key, Validators
from bot.core.model.message import Message, MessageKind
from bot.core.model.route import DestinationUid
from bot.core.model.status import DeliveryRow, DestinationRow
from bot.core.render import card_of
from bot.notifiers import discord_layout, email_layout, slack_layout
from bot.web.parts import InboxMessage

NOW = datetime(2026, 9, 16, 12, 5, 33, tzinfo=UTC)
FEED = FeedId("ai-networking")
WHEN = {1: (16, 9), 2: (16, 9), 3: (10, 9), 4: (4, 9), 5: (7, 3), 6: (22, 2), 7: (8, 2), 8: (18, 1)}
TITLES = {
    1: ("Inside an EVPN Fabric, Part 2: Mobility Is Not Movement, It Is Withdrawal", "evpn"),
    2: ("Inside an EVPN Fabric, Part 1: What the Control Plane Really Learns", "evpn"),
    3: ("BGP Unnumbered and Router Advertisements: The Address You Never Typed", "bgp"),
    4: ("Why BGP Needs a Policy Before It Needs a Peer", "bgp"),
    5: ("InfiniBand Routing Engines: Fat Trees, DragonFly+ and the Rest", "infiniband"),
    6: ("InfiniBand Partition Keys Are Not VLANs", "infiniband"),
    7: ("A Subnet Manager Walks Into a Fabric", "infiniband"),
    8: ("RoCE Without Tears: Lossless Ethernet in Plain Words", "roce"),
}
HOSTILE = '<script>alert(1)</script> "quoted" & [a](b) @everyone'


def entry_of(number: int, **changes: object) -> Entry:
    title, tag = TITLES[number]
    day, month = WHEN[number]
    published = datetime(2026, month, day, tzinfo=UTC)
    entry = Entry(
        id=number,
        feed_id=FEED,
        feed_title="AI Networking · Darren Qu",
        key=Key(bytes([number]) * 16),
        guid=f"https://blog.example.org/ai-networking/{number}/",
        link=f"https://blog.example.org/ai-networking/{number}/",
        title=title,
        text="What a fabric learns, what it forgets, and why the second matters more than the first when a host moves.",
        tags=(tag,),
        section=("AI Networking",),
        published=published,
        date_only=True,
        sort_at=published,
        first_seen_at=published + timedelta(hours=11, minutes=58),
    )
    return replace(entry, **changes)  # type: ignore[arg-type]


def feed_states() -> list[FeedState]:
    well = FeedState(
        no=1,
        feed=Feed(id=FEED, url="https://blog.example.org/ai-networking/index.xml"),
        title="AI Networking · Darren Qu",
        site_url="https://blog.example.org/ai-networking/",
        validators=Validators(etag='"abc"', last_modified="Wed, 16 Sep 2026 10:00:00 GMT"),
        memory=FeedMemory(section=("AI Networking",), date_only=True),
        next_poll_at=NOW + timedelta(minutes=12),
        last_poll_at=NOW - timedelta(minutes=3),
        last_ok_at=NOW - timedelta(minutes=3),
        last_new_at=NOW - timedelta(hours=2),
        primed_at=NOW - timedelta(days=90),
    )
    broken = FeedState(
        no=2,
        feed=Feed(
            id=FeedId("release-notes"), url="https://releases.example.net/feed.atom", interval=timedelta(hours=1)
        ),
        title="Release notes",
        next_poll_at=NOW + timedelta(hours=4),
        last_poll_at=NOW - timedelta(minutes=40),
        last_ok_at=NOW - timedelta(days=2),
        last_new_at=NOW - timedelta(days=21),
        failures=7,
        failing_since=NOW - timedelta(days=2),
        error="the server answered 503 (Service Unavailable)",
    )
    paused = FeedState(
        no=3,
        feed=Feed(id=FeedId("status-page"), url="https://status.example.com/history.rss"),
        title="Status page",
        next_poll_at=NOW,
        last_poll_at=NOW - timedelta(days=1),
        last_ok_at=NOW - timedelta(days=1),
        paused_at=NOW - timedelta(days=1),
    )
    return [well, broken, paused]


def destination_rows() -> list[DestinationRow]:
    def row(uid: str, *, waiting: int = 0, dead: int = 0, **facts: object) -> DestinationRow:
        destination = replace(Destination(uid=DestinationUid(uid)), **facts)  # type: ignore[arg-type]
        return DestinationRow(
            destination=destination,
            name=None,
            why_not="a Slack webhook has no history" if uid.startswith("slack-webhook") else None,
            held=0,
            waiting=waiting,
            dead=dead,
            last_sent_at=NOW - timedelta(hours=2),
            oldest_due_at=NOW - timedelta(hours=2) if waiting else None,
        )

    return [
        row("slack:#ai-networking", can_look_up=True),
        row("discord:123456789012345678", can_look_up=True),
        row("email:team@example.org", dead=1),
        row(
            "slack-webhook:newsroom",
            waiting=2,
            can_look_up=False,
            parked="Slack no longer knows this webhook (no_service)",
            parked_at=NOW - timedelta(hours=3),
        ),
    ]


def delivery_rows() -> list[DeliveryRow]:
    rows = []
    for number in range(1, 9):
        for place, row in enumerate(destination_rows()):
            state = DeliveryState.PENDING if row.destination.parked and number < 3 else DeliveryState.SENT
            if place == 2 and number == 6:
                state = DeliveryState.DEAD
            delivery = Delivery(
                id=100 - number * 4 - place,
                idem=f"{number}{place}" * 16,
                destination=row.destination.uid,
                kind=DeliveryKind.ENTRY,
                entry_id=number,
                due_at=entry_of(number).first_seen_at,
                created_at=entry_of(number).first_seen_at,
                state=state,
                attempts=0 if state is DeliveryState.PENDING else 1,
                options=Options(routes=("routes[0]",)),
                error={
                    DeliveryState.DEAD: "550 5.1.1 the mailbox does not exist",
                    DeliveryState.PENDING: "Slack no longer knows this webhook (no_service)",
                }.get(state),
            )
            entry = entry_of(number)
            rows.append(
                DeliveryRow(
                    delivery=delivery,
                    title=entry.title,
                    entry_key=entry.key.hex(),
                    feed_id=FEED,
                    parked=row.destination.parked is not None,
                )
            )
    return rows


HTML = (
    "<p>When a host moves, the fabric <b>withdraws</b> the old route first. What looks like movement is a "
    "<code>type-2</code> route that went away, and one that came.</p>"
    "<ul><li>what is withdrawn</li><li>what is not</li></ul>"
)


def inbox_messages(*entries: Entry) -> list[InboxMessage]:
    """What each platform would get of `entries`, from the production renderer and layouts."""
    found = []
    for entry in entries or [entry_of(number, summary_html=HTML) for number in range(1, 9)]:
        message = Message(
            kind=MessageKind.ENTRY,
            key=entry.key.hex(),
            created_at=NOW,
            cards=(card_of(entry, timezone=UTC),),
            feed_id=entry.feed_id,
            feed_title=entry.feed_title,
        )
        payloads = {
            "slack": slack_layout.to_payload(message),
            "discord": discord_layout.to_payload(message),
            "email": email_layout.to_payload(message, sender="news@example.org"),
        }
        found.append(InboxMessage(title=message.cards[0].title, at=entry.first_seen_at, payloads=payloads))
    return found
