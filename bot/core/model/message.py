"""A message before any platform: blocks of spans that cannot carry markup, pings or links of their own making."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TypeAlias

from bot.core.model.feed import FeedId

# JSON all through; built once, never changed (peer bug 12).
JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
Payload: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Words as typed. `href` makes them a link: absolute http(s) only, checked where spans are made."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A ping in the platform's own form; made from the operator's configuration alone, never from feed text."""

    literal: str


Span: TypeAlias = Text | Mention


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preformatted:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    items: tuple[tuple[Span, ...], ...]
    ordered: bool = False


Block: TypeAlias = Paragraph | Quote | Preformatted | Bullets


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One entry as a reader sees it. Platforms lay it out: title (link), tags, date, summary, feed."""

    title: str  # never empty: an untitled entry shows the beginning of its text
    link: str | None
    host: str | None = None  # shown beside the link where the title could mislead (T11)
    tags: tuple[str, ...] = ()
    date: str = ""  # ready to print, "16 Sep 2026" or "16 Sep 2026 14:05 CEST"
    feed_title: str = ""
    author: str | None = None
    body: tuple[Block, ...] = ()  # already cut to a general budget; notifiers cut further to their own
    image: str | None = None
    note: str | None = None  # "delayed", "withdrawn", "edited"
    custom: tuple[Block, ...] | None = None  # a template's output: stands instead of the card's own layout


class MessageKind(Enum):
    ENTRY = "entry"
    DIGEST = "digest"
    EDIT = "edit"
    NOTICE = "notice"
    LIST = "list"  # an answer in chat


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a digest or list under its own heading (a tag, a feed)."""

    heading: str
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """All that any platform needs to build its payload; a pure function of the stored rows and the configuration."""

    kind: MessageKind
    key: str  # the delivery's idem; "" for previews and answers
    created_at: datetime  # when the delivery was owed; a mail's Date on every attempt
    cards: tuple[Card, ...] = ()  # ENTRY and EDIT: exactly one
    sections: tuple[Section, ...] = ()  # DIGEST and LIST; cards stay empty then
    heading: str | None = None  # of a digest, list or notice
    blocks: tuple[Block, ...] = ()  # the words of a notice, or before a list
    mentions: tuple[Mention, ...] = ()
    more_url: str | None = None  # where entries that find no room can be read
    feed_id: FeedId | None = None  # for List-Id and threading; None where several feeds meet
    feed_title: str = ""
    entry_ids: tuple[str, ...] = ()  # hex keys, for the generic webhook's `id`
    records: tuple[Payload, ...] = ()  # the objects of `latest --json`, for the generic webhook
    unsubscribe_url: str | None = None
    reply_to: str | None = None  # remote_ref of the message that a threaded edit answers
