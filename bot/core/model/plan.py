"""What one poll will write: the result of core.plan, and the only thing the store's intake transaction reads."""

from dataclasses import dataclass
from datetime import datetime

from bot.core.model.delivery import Delivery
from bot.core.model.entry import Entry, Key
from bot.core.model.feed import FeedMemory, Validators


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDelivery:
    """A delivery that an entry owes.

    `story` is the hash of a canonical link that is unique within its feed: the first feed that takes
    (destination, story) wins for 30 days, any other feed's delivery is dropped in the transaction (small print 6).
    """

    delivery: Delivery
    story: Key | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """An entry to insert under all its names; if its key is taken by then, nothing of it is written (decision 1)."""

    entry: Entry
    hashes: tuple[Key, ...]  # the key first, then aliases
    deliveries: tuple[NewDelivery, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryEdit:
    """A known entry whose content hash moved. `entry` holds the new words under the old id and key."""

    entry: Entry
    announce: bool = True  # False: stored, but too often changed to tell (N21)
    quiet: tuple[tuple[str, datetime], ...] = ()  # routes in whose quiet hours it comes, and when these end


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedChange:
    """Everything a poll writes to the feed's row; None leaves a column as it is."""

    next_poll_at: datetime
    asked_until: datetime | None = None  # always written
    memory: FeedMemory | None = None
    validators: Validators | None = None
    listing: tuple[tuple[bytes, Key], ...] | None = None
    title: str | None = None
    site_url: str | None = None
    primed_at: datetime | None = None
    ok: bool  # True: failures become 0 and the error goes
    error: str | None = None
    new: bool = False  # entries were found: last_new_at
    stopped: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something the operator is told once. `key` makes it the same: what happened, to whom, since when."""

    key: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakePlan:
    """One transaction. Entries stand in the order in which they are announced: oldest first."""

    feed_no: int
    epoch: int
    at: datetime
    was_due_at: datetime | None = None  # as the lease found it; another time at the commit is a poke's, and is kept
    change: FeedChange
    entries: tuple[NewEntry, ...] = ()
    aliases: tuple[tuple[Key, int], ...] = ()  # further names of entries that are stored (N5, N7, N11)
    edits: tuple[EntryEdit, ...] = ()
    withdrawn: tuple[int, ...] = ()
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What a plan turned out to write, once races are over."""

    entries: tuple[Entry, ...] = ()  # the rows that were new, with their numbers
    owed: int = 0  # deliveries made
