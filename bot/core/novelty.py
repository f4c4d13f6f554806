"""Which items of a document are new, which are known under another name, and in what order they are told."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from bot.core.model.entry import Identity, Key, Known, KnownEntry, Listed, ParsedEntry
from bot.core.order import find_order

REKEY_AT_LEAST = 5  # N11
REKEY_SHARE = 0.5
FEW = 3  # entries that somebody takes back, or dates back, at once; with more the order changed, or the length
SAME_INSTANT = timedelta(milliseconds=1)  # the store keeps no finer times
_EVER = datetime.min.replace(tzinfo=UTC)
SLIDE_IN_AGE = timedelta(days=7)  # N20: before the first poll by this much, where only age can tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item of a document with its names, and the stored entry it turned out to be, if any."""

    parsed: ParsedEntry | Listed
    identity: Identity
    stored: KnownEntry | None = None
    renamed: bool = False  # known, but not by its key

    @property
    def published(self) -> datetime | None:
        """Its own date, or the stored one of an item known by its bytes."""
        if isinstance(self.parsed, ParsedEntry):
            return self.parsed.published
        return self.stored.published if self.stored is not None else None

    @property
    def dated(self) -> datetime | None:
        """What tells its place among the others: many Atom feeds only say when an entry was updated."""
        return self.published or (self.parsed.updated if isinstance(self.parsed, ParsedEntry) else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """An item whose names were all unknown."""

    parsed: ParsedEntry
    identity: Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """A document sorted out. `items` keeps its order; `new` is in the order of telling, oldest first (N22)."""

    items: tuple[Item, ...]
    new: tuple[Fresh, ...]
    slid_in: tuple[Fresh, ...]  # new keys that a deletion elsewhere made room for: stored, not told (N20)
    renamed: tuple[Item, ...]
    oldest_first: bool  # this document
    habit: bool  # the feed's own way, as far as it is known: for documents whose dates say nothing
    rekeyed: bool  # so many names changed at once that the operator should hear of it


def find_news(
    parsed: Sequence[ParsedEntry | Listed],
    identities: Sequence[Identity | None],
    known: Known,
    *,
    links_shared: bool,
    primed_at: datetime | None,
    oldest_first: bool,
    listed: frozenset[Key] = frozenset(),
    cut: int | None = None,
) -> News:
    """Match each item against the store's answer; `listed` are the keys that the document held last time.

    `cut` is the place in `parsed` at which the middle of a document that is too long was left out (T8).

    An item is known by its key or by its guid without scheme and such (N5); by its link where no two guids of the
    feed ever shared one (N6); where half of a document seems new, by its words, or by its title and its instant, too
    (N11: other software often writes other words); and by its words and its date, where it is older than all that
    stays, or where the entry with these is missing since the last time.
    """
    once = {
        identity.key: (entry, identity)
        for entry, identity in reversed(list(zip(parsed, identities, strict=True)))
        if identity is not None
    }
    items = _match(list(reversed(once.values())), known, by_link=not links_shared)
    unknown = sum(item.stored is None for item in items)
    if known.total >= REKEY_AT_LEAST and _many(unknown, of=len(items)):
        items = _made_anew(items, known)
    places = [(item.dated, item.stored is not None) for item in items]
    order = find_order(places, remembered=oldest_first)
    first_is_oldest = order.oldest_first
    items = _come_back(items, known, listed, oldest_first=first_is_oldest)
    renamed = tuple(item for item in items if item.renamed)
    slid = _slid_in(items, listed, primed_at=primed_at, oldest_first=first_is_oldest)
    if cut is not None:
        slid |= _from_the_middle(
            items, frozenset(identity.key for identity in identities[cut:] if identity is not None)
        )
    fresh = _fresh(items, [position for position in range(len(items)) if position not in slid])
    return News(
        items=tuple(items),
        new=_told(fresh if first_is_oldest else fresh[::-1], by_date=order.is_none),
        slid_in=tuple(_fresh(items, sorted(slid))),
        renamed=renamed,
        oldest_first=first_is_oldest,
        habit=order.habit,
        rekeyed=_many(len(renamed), of=len(items)),
    )


def vanished(before: Sequence[Key], after: Sequence[Key], *, oldest_first: bool) -> tuple[Key, ...]:
    """Return what a document listed and its next version does not, though it lists something older.

    The oldest fall off the end of most feeds; nobody has taken them back.
    """
    listed, left = (reversed(before) if oldest_first else before), frozenset(after)
    newest_first = tuple(dict.fromkeys(listed))
    oldest = max((place for place, key in enumerate(newest_first) if key in left), default=0)
    gone = tuple(key for key in newest_first[:oldest] if key not in left)
    return gone if len(gone) <= FEW else ()


def _fresh(items: Sequence[Item], positions: Sequence[int]) -> list[Fresh]:
    chosen = [items[position] for position in positions]
    return [
        Fresh(parsed=item.parsed, identity=item.identity)
        for item in chosen
        if item.stored is None and isinstance(item.parsed, ParsedEntry)
    ]


def _told(fresh: Sequence[Fresh], *, by_date: bool) -> tuple[Fresh, ...]:
    """In the order of telling: where the document has none of its own, by the dates of its news, if all have one."""
    dates = {item.identity.key: item.parsed.published for item in fresh}
    dated = {key: date for key, date in dates.items() if date is not None}
    return tuple(sorted(fresh, key=lambda item: dated[item.identity.key]) if by_date and dated == dates else fresh)


def _many(count: int, *, of: int) -> bool:
    return count >= REKEY_AT_LEAST and count >= REKEY_SHARE * of


def _match(named: Sequence[tuple[ParsedEntry | Listed, Identity]], known: Known, *, by_link: bool) -> list[Item]:
    """Know items by their keys first, then the others by their aliases.

    An alias proves nothing where its entry stands in the document itself, under its own key: these are two entries.
    """
    by_key = [Item(parsed=parsed, identity=names, stored=_look(names.key, known)) for parsed, names in named]
    taken = frozenset(item.stored.id for item in by_key if item.stored is not None)
    aliases = [(item.identity.guid_alias, item.identity.link_alias if by_link else None) for item in by_key]
    return _settle_claims(
        [_renamed(item, names, known, taken=taken) for item, names in zip(by_key, aliases, strict=True)], known
    )


def _settle_claims(items: list[Item], known: Known) -> list[Item]:
    """Where several items claim one stored entry by an alias, it is the one with its words; without any, all (N7)."""
    proven = {item.stored.id for item in items if item.stored is not None and item.renamed and _has_words(item, known)}
    return [
        replace(item, stored=None, renamed=False)
        if item.renamed and item.stored is not None and item.stored.id in proven and not _has_words(item, known)
        else item
        for item in items
    ]


def is_made_anew(identities: Sequence[Identity | None], known: Known) -> bool:
    """Whether so many keys are new that the feed may have been made anew (N11)."""
    keys = [identity.key for identity in identities if identity is not None]
    return known.total >= REKEY_AT_LEAST and _many(sum(key not in known.by_hash for key in keys), of=len(keys))


def _made_anew(items: list[Item], known: Known) -> list[Item]:
    """Know items by their words, else by a title and an instant that no other has; one date of all is no instant."""
    items = [_renamed(item, (item.identity.fingerprint,), known, taken=frozenset()) for item in items]
    taken = frozenset(item.stored.id for item in items if item.stored is not None)
    times = Counter(item.identity.moment for item in items)
    tells = len({item.published for item in items}) > 1
    return [
        _renamed(item, (item.identity.moment,), known, taken=taken)
        if tells and times[item.identity.moment] == 1
        else item
        for item in items
    ]


def _has_words(item: Item, known: Known) -> bool:
    words = _look(item.identity.fingerprint, known)
    return words is not None and words == item.stored


def _renamed(item: Item, names: Sequence[Key | None], known: Known, *, taken: frozenset[int]) -> Item:
    if item.stored is not None:
        return item
    found = (_look(name, known) for name in names)
    stored = next((entry for entry in found if entry is not None and entry.id not in taken), None)
    return item if stored is None else replace(item, stored=stored, renamed=True)


def _come_back(items: list[Item], known: Known, listed: frozenset[Key], *, oldest_first: bool) -> list[Item]:
    """Know what comes, under names that are all new, with the words and the date of an entry that is not listed.

    Words alone prove nothing of a single item: equal reports come out twice a day. Equal words at the same instant,
    behind all that the document still has or from before it, are one entry. A date without a time is no instant, and
    one that others have too is perhaps that of all that the feed ever says.
    """
    here = {place: item.stored for place, item in enumerate(items) if item.stored is not None}
    if len(here) == len(items):
        return items
    # Where all names are new nothing tells what has fallen off: all that was listed is missing.
    dates = (entry.published for entry in here.values() if entry.published is not None)
    oldest = min(dates, default=None) if here else _EVER
    instants = Counter(item.published for item in items)
    edge = min(here, default=0) if oldest_first else max(here, default=len(items))
    taken = frozenset(entry.id for entry in here.values())
    moved = _moved(items, known, listed - {entry.key for entry in here.values()}, oldest=oldest)
    back = {
        place: _renamed(item, (item.identity.fingerprint,), known, taken=taken)
        for place, item in enumerate(items)
        if place in moved
        or (
            instants[item.published] == 1
            and _is_at_the_same_instant(item, known)
            and ((place < edge if oldest_first else place > edge) or _is_before(item, oldest))
        )
    }
    return [back.get(place, item) for place, item in enumerate(items)]


def _moved(items: Sequence[Item], known: Known, missing: frozenset[Key], *, oldest: datetime | None) -> frozenset[int]:
    """Places of items with the words and the date of an entry that is missing since the last poll: it has moved.

    An entry that may have fallen off the old end is not missing, for a new report like it may be what pushed it out;
    nor can one be told from several that are alike. Where nothing else is known, a single day proves nothing.
    """
    alike = Counter(item.identity.fingerprint for item in items)
    places = frozenset(
        place
        for place, item in enumerate(items)
        if alike[item.identity.fingerprint] == 1
        and (entry := _look(item.identity.fingerprint, known)) is not None
        and entry.key in missing
        and oldest is not None
        and entry.published is not None
        and entry.published > oldest
        and (_is_of_a_day(item) or _is_at_the_same_instant(item, known))
    )
    is_proof = oldest != _EVER or len(places) > 1 or not any(_is_of_a_day(items[place]) for place in places)
    return places if is_proof else frozenset()


def _is_of_a_day(item: Item) -> bool:
    """Its date names a day and no time."""
    return isinstance(item.parsed, ParsedEntry) and not item.parsed.has_time


def _is_at_the_same_instant(item: Item, known: Known) -> bool:
    """As the entry with its words."""
    entry, parsed = _look(item.identity.fingerprint, known), item.parsed
    if entry is None or entry.published is None or not isinstance(parsed, ParsedEntry) or not parsed.has_time:
        return False
    return parsed.published is not None and abs(parsed.published - entry.published) < SAME_INSTANT


def _is_before(item: Item, at: datetime | None) -> bool:
    return item.published is not None and at is not None and item.published < at


def _look(name: Key | None, known: Known) -> KnownEntry | None:
    number = known.by_hash.get(name) if name is not None else None
    return known.entries.get(number) if number is not None else None


def _slid_in(
    items: Sequence[Item], listed: frozenset[Key], *, primed_at: datetime | None, oldest_first: bool
) -> frozenset[int]:
    """Positions of old entries that came in at the document's old end because something else left (N20).

    Where nothing left, one such entry is a post with an old date, several are a window that has become longer: a few
    of the last days before the first poll may have been held back until now, but not many.
    """
    if primed_at is None:
        return frozenset()
    oldest = _beyond_the_oldest(items, oldest_first=oldest_first)
    slid = {position: date for position, date in oldest.items() if date < primed_at}
    gone = listed - {item.stored.key for item in items if item.stored is not None}
    if listed and (len(slid) <= len(gone) or len(slid) > FEW):
        return frozenset(slid)
    if listed and len(slid) == 1:
        return frozenset()
    return frozenset(position for position, date in slid.items() if date < primed_at - SLIDE_IN_AGE)


def _from_the_middle(items: Sequence[Item], second_half: frozenset[Key]) -> frozenset[int]:
    """Positions of unknown items next to the cut, in front of known ones: what was deleted made room for them.

    Where a half is unknown from its cut to its end, it is news.
    """
    cut = sum(item.identity.key not in second_half for item in items)
    found: set[int] = set()
    for half in (range(cut - 1, -1, -1), range(cut, len(items))):
        unknown = [*takewhile(lambda place: items[place].stored is None, half)]
        found.update(unknown if len(unknown) < len(half) else ())
    return frozenset(found)


def _beyond_the_oldest(items: Sequence[Item], *, oldest_first: bool) -> dict[int, datetime]:
    """Unknown items that stand past all known ones and are dated before each of them.

    One of the oldest day may be as old as they are; where all have one date, no date says which is older.
    """
    known = {position: item for position, item in enumerate(items) if item.stored is not None}
    if not known:
        return {}
    dates = [item.published for item in known.values() if item.published is not None]
    first, tells = min(dates, default=None), len(set(dates)) > 1
    edge = min(known) if oldest_first else max(known)
    return {
        position: item.published
        for position, item in enumerate(items)
        if (position < edge if oldest_first else position > edge)
        and item.published is not None
        and (first is None or item.published < first or (tells and item.published == first))
    }


def names_of(identities: Sequence[Identity | None]) -> tuple[Key, ...]:
    """Every hash that the one look-up has to ask for."""
    return tuple(dict.fromkeys(name for identity in identities if identity is not None for name in identity.hashes))


def aliases_of(items: Sequence[Item], known: Known) -> Mapping[Key, int]:
    """Names under which stored entries came this time and which the store does not have yet."""
    found: dict[Key, int] = {}
    for item in items:
        if item.stored is not None and isinstance(item.parsed, ParsedEntry):
            for name in item.identity.hashes:
                if name not in known.by_hash:
                    found[name] = item.stored.id
    return found
