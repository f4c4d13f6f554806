"""Entries become messages: what a reader sees, before any platform's syntax."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo

from bot.core.model.delivery import Delivery, DeliveryKind, Owed
from bot.core.model.entry import Entry
from bot.core.model.feed import FeedId
from bot.core.model.message import (
    Block,
    Bullets,
    Card,
    JsonValue,
    Mention,
    Message,
    MessageKind,
    Paragraph,
    Payload,
    Preformatted,
    Quote,
    Section,
    Span,
    Text,
)
from bot.core.model.route import OnEdit, edit_form
from bot.core.text.amounts import amount
from bot.core.text.blocks import cut_blocks, html_to_blocks
from bot.core.text.characters import clean, one_line
from bot.core.text.graphemes import cut
from bot.core.text.links import display_host, http_url, misleads

Template = Callable[[Entry, Card], tuple[Block, ...]]  # an operator's layout of one card

BODY = 4_000  # characters of an entry's text that any platform may want; each cuts further to its own limits
LISTED_BODY = 300  # the same for one of many in an answer; longer than any good teaser
TITLE = 1_000  # as core.parse keeps it
UNTITLED = 100  # characters of the text that stand in for a missing title
SHOWN_TAGS = 10  # a reader takes in no more; filters and searches use all of them
TAG = 60  # characters of one tag
HOST = 80  # characters
RECORD_SUMMARY = 2_000  # characters, for programs
EASTMOST = timedelta(hours=14)  # where on earth a day begins first
# A day comes as its midnight in the feed's own zone, which is kept in UTC: 11:00 (New Zealand, the evening before) to
# 10:00 (Hawaii). This much later, all of them are on the day that was meant.
TO_THE_DAY = timedelta(hours=13)

_LAST = datetime.max.replace(tzinfo=UTC) - TO_THE_DAY  # of all days; a feed may name it

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def render_owed(
    owed: Owed,
    *,
    timezone: tzinfo,
    unsubscribe_url: str | None = None,
    more_url: str | None = None,
    template: Template | None = None,
) -> Message:
    """Return the message that `owed` is; the same rows always give the same message.

    An edit in place carries the key, the time and the mentions of what it changes, so that it differs from that only
    where the words do, and a look-up for the original still finds it. A threaded edit is a message of its own.
    """
    shared = _Shared(timezone=timezone, unsubscribe_url=unsubscribe_url, more_url=more_url, template=template)
    kind = owed.delivery.kind
    if kind is DeliveryKind.NOTICE:
        return _notice(owed.delivery)
    if kind is DeliveryKind.DIGEST:
        return _digest(owed, shared)
    return _single(owed, shared)


def render_list(
    entries: Sequence[Entry],
    *,
    timezone: tzinfo,
    now: datetime,
    heading: str | None = None,
    words: str = "",
) -> Message:
    """Return an answer in chat or on a terminal: `entries` in the order given, one of them in full."""
    body = BODY if len(entries) == 1 else LISTED_BODY
    cards = tuple(card_of(entry, timezone=timezone, body=body) for entry in entries)
    return Message(
        kind=MessageKind.LIST,
        key="",
        created_at=now,
        sections=(Section(heading="", cards=cards),) if cards else (),
        heading=heading,
        blocks=_paragraphs(words),
        entry_ids=tuple(entry.key.hex() for entry in entries),
        records=tuple(entry_record(entry) for entry in entries),
    )


def entry_record(entry: Entry) -> Payload:
    """Return what programs get of an entry: `latest --json` and generic webhooks."""
    tags: list[JsonValue] = list(entry.tags)
    return {
        "title": display_title(entry),
        "link": entry.link,
        "tags": tags,
        "published": _published_json(entry),
        "summary": cut(clean(entry.text).strip(), RECORD_SUMMARY),
        "feed": str(entry.feed_id),
    }


def card_of(entry: Entry, *, timezone: tzinfo, body: int = BODY, note: str | None = None) -> Card:
    """Return `entry` as a reader sees it, its text within `body` characters."""
    title, link = display_title(entry), http_url(entry.link)
    return Card(
        title=title,
        link=link,
        host=shown_host(link) if misleads(title, link) else None,
        tags=_shown_tags(entry.tags),
        date=display_date(entry, timezone=timezone),
        feed_title=one_line(entry.feed_title) or str(entry.feed_id),
        author=one_line(entry.author or "") or None,
        body=_body(entry, title, body),
        image=http_url(entry.image),
        note=note or ("withdrawn" if entry.withdrawn_at else None),
    )


def display_title(entry: Entry) -> str:
    """Return the title in one line; the beginning of the text where there is none, else the link. Never empty."""
    title = one_line(entry.title)
    if title:
        return cut(title, TITLE)
    text = one_line(entry.text)
    return cut(text, UNTITLED) if text else (http_url(entry.link) or "(untitled)")


def shown_host(link: str | None) -> str | None:
    """Return the host; of an endless one the end, which says whose it is."""
    host = display_host(link)
    return host if host is None or len(host) <= HOST else f"…{host[-HOST + 1 :]}"


def display_date(entry: Entry, *, timezone: tzinfo) -> str:
    """Return the date as it prints: "16 Sep 2026" where the feed gives days only, else in `timezone`.

    A day is a day: it goes through no zone. What lies in the future prints as the moment it was first seen, and a
    day that has begun nowhere on earth as the last one that has. "" when the feed says nothing.
    """
    at = entry.published or entry.updated
    if at is None:
        return ""
    seen = entry.first_seen_at
    if entry.date_only:
        return display_day(min(_day_of(at), (seen.astimezone(UTC) + EASTMOST).date()))
    return display_moment(min(at, seen), timezone=timezone)


def display_moment(at: datetime, *, timezone: tzinfo) -> str:
    """Return a moment as it prints: "16 Sep 2026 14:05 CEST"."""
    local = at.astimezone(timezone)
    return f"{display_day(local)} {local:%H:%M %Z}".rstrip()


def display_day(day: date) -> str:
    """Return a day as it prints: "16 Sep 2026"."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def span_text(spans: Sequence[Span]) -> str:
    """Return the words of `spans` alone."""
    return "".join(span.literal if isinstance(span, Mention) else span.text for span in spans)


def block_lines(blocks: Sequence[Block]) -> list[str]:
    """Return `blocks` as lines of plain text: for terminals, text mails and fallbacks."""
    lines: list[str] = []
    for block in blocks:
        match block:
            case Paragraph():
                lines += span_text(block.spans).split("\n")
            case Quote():
                lines += [f"> {line}" for line in span_text(block.spans).split("\n")]
            case Preformatted():
                lines += [f"    {line}" for line in block.text.split("\n")]
            case _:
                lines += [f"{f'{n}.' if block.ordered else '-'} {span_text(i)}" for n, i in enumerate(block.items, 1)]
    return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What the route and the operator say about a message, beside its rows."""

    timezone: tzinfo
    unsubscribe_url: str | None
    more_url: str | None
    template: Template | None

    def card(self, entry: Entry, delivery: Delivery, *, note: str | None) -> Card:
        card = card_of(entry, timezone=self.timezone, note=note)
        if not delivery.options.image:
            card = replace(card, image=None)
        return replace(card, custom=self.template(entry, card) or None) if self.template else card


def _single(owed: Owed, shared: _Shared) -> Message:
    entry, delivery = owed.entries[0], owed.delivery
    edit = delivery.kind is DeliveryKind.EDIT
    threaded = edit and edit_form(delivery.destination, delivery.options.on_edit) is OnEdit.THREAD
    shown = owed.original if edit and not threaded and owed.original else delivery
    note = "edited" if threaded else ("delayed" if shown.late else None)
    return Message(
        kind=MessageKind.EDIT if edit else MessageKind.ENTRY,
        key=shown.idem,
        created_at=shown.created_at,
        cards=(shared.card(entry, shown, note=None if entry.withdrawn_at else note),),
        mentions=() if threaded else _mentions(shown),
        feed_id=entry.feed_id,
        feed_title=one_line(entry.feed_title),
        entry_ids=(entry.key.hex(),),
        records=(entry_record(entry),),
        more_url=shared.more_url,
        unsubscribe_url=shared.unsubscribe_url,
        reply_to=owed.original.remote_ref if threaded and owed.original else None,
    )


def _digest(owed: Owed, shared: _Shared) -> Message:
    entries, delivery = owed.entries, owed.delivery
    # A digest has its own form, one line an entry: no template.
    cards = [card_of(entry, timezone=shared.timezone, body=LISTED_BODY) for entry in entries]
    feeds = {entry.feed_id: one_line(entry.feed_title) for entry in entries}
    only: FeedId | None = next(iter(feeds)) if len(feeds) == 1 else None
    count = amount(len(entries), "entry", "entries")
    named = (delivery.options.heading or "").strip()
    return Message(
        kind=MessageKind.DIGEST,
        key=delivery.idem,
        created_at=delivery.created_at,
        sections=_sections(cards),
        heading=f"{named[:1].upper()}{named[1:]} · {count}" if named else f"New · {count}",
        mentions=_mentions(delivery),
        more_url=shared.more_url,
        feed_id=only,
        feed_title=feeds[only] if only is not None else "",
        entry_ids=tuple(entry.key.hex() for entry in entries),
        records=tuple(entry_record(entry) for entry in entries),
        unsubscribe_url=shared.unsubscribe_url,
    )


def _notice(delivery: Delivery) -> Message:
    return Message(
        kind=MessageKind.NOTICE,
        key=delivery.idem,
        created_at=delivery.created_at,
        blocks=_paragraphs(delivery.notice or ""),
        mentions=_mentions(delivery),
    )


def _sections(cards: Sequence[Card]) -> tuple[Section, ...]:
    """Group by first tag, in order of appearance, where there are several; each card stands once."""
    by_tag: dict[str, list[Card]] = {}
    for card in cards:
        by_tag.setdefault(card.tags[0] if card.tags else "", []).append(card)
    if len(by_tag) < 2:
        return (Section(heading="", cards=tuple(cards)),)
    untagged = by_tag.pop("", [])
    sections = [
        Section(heading=tag, cards=tuple(replace(card, tags=card.tags[1:]) for card in tagged))
        for tag, tagged in by_tag.items()
    ]
    return (*sections, Section(heading="other", cards=tuple(untagged))) if untagged else tuple(sections)


def _mentions(delivery: Delivery) -> tuple[Mention, ...]:
    return tuple(Mention(literal=literal) for literal in delivery.options.mentions)


def _paragraphs(words: str) -> tuple[Block, ...]:
    lines = [line.strip() for line in clean(words).split("\n")]
    return tuple(Paragraph(spans=(Text(text=line),)) for line in lines if line)


def _shown_tags(tags: Sequence[str]) -> tuple[str, ...]:
    shown = [cut(tag, TAG) for tag in map(one_line, tags) if tag]
    more = len(shown) - SHOWN_TAGS
    return (*shown[:SHOWN_TAGS], f"+{more}") if more > 0 else tuple(shown)


def _body(entry: Entry, title: str, budget: int) -> tuple[Block, ...]:
    """The teaser before the content: a description is written to be read at a glance."""
    for html in (entry.summary_html, entry.content_html):
        blocks = html_to_blocks(clean(html), base_url=entry.link) if html.strip() else ()
        if blocks:
            text = one_line(" ".join(block_lines(blocks)))
            return () if text == title else _unlinked(cut_blocks(blocks, budget))
    return ()


def _unlinked(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Text from a feed can't link: the entry's own link is the one to follow (masked links, T11)."""
    plain: list[Block] = []
    for block in blocks:
        match block:
            case Quote() if plain and isinstance(quote := plain[-1], Quote):  # its next paragraph
                spans = (*quote.spans, Text(text="\n"), *_unlinked_spans(block.spans))
                plain[-1] = replace(quote, spans=spans)
            case Paragraph() | Quote():
                plain.append(replace(block, spans=_unlinked_spans(block.spans)))
            case Bullets():
                plain.append(replace(block, items=tuple(_unlinked_spans(item) for item in block.items)))
            case _:
                plain.append(block)
    return tuple(plain)


def _unlinked_spans(spans: Sequence[Span]) -> tuple[Span, ...]:
    return tuple(replace(span, href=None) if isinstance(span, Text) and span.href else span for span in spans)


def _published_json(entry: Entry) -> str | None:
    at = entry.published or entry.updated
    if at is None:
        return None
    return _day_of(at).isoformat() if entry.date_only else at.astimezone(UTC).isoformat()


def _day_of(at: datetime) -> date:
    return (min(at.astimezone(UTC), _LAST) + TO_THE_DAY).date()
