"""Entries: which are known, which are newest, and how they are stored under all their names."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from bot.core.model.entry import Entry, Key, Known, KnownEntry
from bot.core.model.feed import FeedId
from bot.store.entry_rows import (
    COLUMNS,
    SELECT,
    folded_tags,
    lookup_form,
    searchable,
    to_columns,
    to_entry,
    to_known,
)
from bot.store.sql import Tx, Value, chunks, one_of, storable, to_ms

TITLED = 500  # N11
NEWEST = "ORDER BY e.sort_at DESC, e.id DESC LIMIT :limit"


def known(tx: Tx, feed_no: int, hashes: Sequence[Key]) -> Known:
    """One question for all names (each 500 of them); every entry comes with what a poll must know of it."""
    by_hash: dict[Key, int] = {}
    entries = {}
    for part in chunks(dict.fromkeys(hashes)):
        names, params = one_of("s.hash", "h", part)
        for row in tx.rows(
            "SELECT s.hash, s.entry_id, e.key, e.published, e.first_seen_at, e.content_hash, e.edits"
            f" FROM seen s JOIN entry e ON e.id = s.entry_id WHERE s.feed_no = :feed_no AND {names}",
            feed_no=feed_no,
            **params,
        ):
            by_hash[Key(bytes(row["hash"]))] = row["entry_id"]
            if row["entry_id"] not in entries:
                entries[row["entry_id"]] = to_known(row)
    total = tx.row("SELECT entries FROM feed WHERE no = :feed_no", feed_no=feed_no)
    return Known(by_hash=by_hash, entries=entries, total=0 if total is None else total["entries"])


def titled(tx: Tx, feed_no: int, since: datetime, until: datetime) -> Sequence[tuple[str, KnownEntry]]:
    """Those of a feed's newest entries that were published in this time, each with its title."""
    rows = tx.rows(
        "SELECT * FROM (SELECT e.id AS entry_id, e.title, e.key, e.published, e.first_seen_at, e.content_hash, e.edits"
        f" FROM entry e WHERE e.feed_no = :feed_no {NEWEST}) newest WHERE published BETWEEN :since AND :until",
        feed_no=feed_no,
        since=to_ms(since),
        until=to_ms(until),
        limit=TITLED,
    )
    return [(row["title"], to_known(row)) for row in rows]


def taken(tx: Tx, feed_no: int, hashes: Iterable[Key]) -> set[bytes]:
    """Those of `hashes` that name an entry of this feed already."""
    found: set[bytes] = set()
    for part in chunks(hashes):
        names, params = one_of("hash", "h", part)
        rows = tx.rows(f"SELECT hash FROM seen WHERE feed_no = :feed_no AND {names}", feed_no=feed_no, **params)
        found.update(bytes(row["hash"]) for row in rows)
    return found


def insert(tx: Tx, feed_no: int, entries: Sequence[Entry]) -> list[int]:
    """Insert rows in order; return their numbers, which follow that order."""
    rows = tx.insert(
        f"INSERT INTO entry ({COLUMNS})", [to_columns(entry, feed_no) for entry in entries], "RETURNING id, key"
    )
    numbers = {bytes(row["key"]): int(row["id"]) for row in rows}
    _tag(tx, feed_no, [(entry, numbers[entry.key], to_ms(entry.sort_at)) for entry in entries])
    tx.run("UPDATE feed SET entries = entries + :n WHERE no = :no", n=len(entries), no=feed_no)
    return [numbers[entry.key] for entry in entries]


def name(tx: Tx, feed_no: int, names: Iterable[tuple[Key, int]]) -> None:
    """Store names of entries; a name that is taken stays with the entry that has it."""
    rows: list[tuple[Value, ...]] = [(feed_no, hash_, entry_id) for hash_, entry_id in names]
    tx.insert("INSERT INTO seen (feed_no, hash, entry_id)", rows, "ON CONFLICT DO NOTHING")


def change(tx: Tx, feed_no: int, entry: Entry) -> None:
    """Give a stored entry its new words; its identity, order and place in time stay."""
    row = tx.row(f"{SELECT} WHERE e.id = :id AND e.feed_no = :no", id=entry.id, no=feed_no)
    if row is None:
        return
    stored = to_entry(row)
    untag(tx, feed_no, stored.id, to_ms(stored.sort_at), folded_tags(stored.tags, stored.section))
    columns: dict[str, Value] = dict(zip(COLUMNS.split(", "), to_columns(entry, feed_no), strict=True))
    for kept in ("feed_no", "key", "sort_at", "first_seen_at"):
        del columns[kept]
    settings = ", ".join(f"{column} = :{column}" for column in columns)
    tx.run(f"UPDATE entry SET {settings}, pruned = 0, withdrawn_at = NULL WHERE id = :id", id=entry.id, **columns)
    _tag(tx, feed_no, [(entry, entry.id, to_ms(stored.sort_at))])


def withdraw(tx: Tx, feed_no: int, entry_ids: Iterable[int], at: datetime) -> None:
    """Mark entries as taken back; the first time counts."""
    tx.run_many(
        "UPDATE entry SET withdrawn_at = :at WHERE id = :id AND feed_no = :no AND withdrawn_at IS NULL",
        [{"at": to_ms(at), "id": entry_id, "no": feed_no} for entry_id in entry_ids],
    )


def _tag(tx: Tx, feed_no: int, tagged: Iterable[tuple[Entry, int, int]]) -> None:
    """Write the tags and sections of entries, each given with its number and its place in time."""
    rows: list[tuple[Value, ...]] = []
    counts: dict[str, tuple[str, int]] = {}
    for entry, entry_id, at in tagged:
        for tag, shown in folded_tags(entry.tags, entry.section).items():
            rows.append((tag, at, entry_id, feed_no))
            if shown is not None:
                first, count = counts.get(tag, (shown, 0))
                counts[tag] = first, count + 1
    tx.insert("INSERT INTO entry_tag (tag, sort_at, entry_id, feed_no)", rows, "ON CONFLICT DO NOTHING")
    _count(tx, feed_no, counts)


def untag(tx: Tx, feed_no: int, entry_id: int, at: int, names: Mapping[str, str | None]) -> None:
    """Take back what was written of an entry's tags and sections, given as `folded_tags` and its place in time."""
    tx.run_many(
        "DELETE FROM entry_tag WHERE tag = :tag AND sort_at = :at AND entry_id = :id AND feed_no = :no",
        [{"tag": tag, "at": at, "id": entry_id, "no": feed_no} for tag in names],
    )
    _count(tx, feed_no, {tag: (shown, -1) for tag, shown in names.items() if shown is not None})


def _count(tx: Tx, feed_no: int, counts: Mapping[str, tuple[str, int]]) -> None:
    tx.insert(
        "INSERT INTO feed_tag (feed_no, tag, shown, count)",
        [(feed_no, tag, shown, count) for tag, (shown, count) in counts.items()],
        "ON CONFLICT (feed_no, tag) DO UPDATE SET count = feed_tag.count + excluded.count",
    )


# --- what people ask ------------------------------------------------------------------------------------------------


def latest(
    tx: Tx, *, tag: str | None, feed: FeedId | None, limit: int, hidden: Collection[FeedId] = ()
) -> Sequence[Entry]:
    """The newest entries of active feeds; `tag` is folded and names a tag or a section."""
    where, params = _shown(hidden)
    if feed is not None:
        where, params = f"{where} AND f.id = :feed", {**params, "feed": storable(feed)}
    if tag is None and feed is not None:
        # By the feed's own index, which a condition on its id would not find.
        where += " AND e.feed_no = (SELECT no FROM feed WHERE id = :feed)"
    if tag is None:
        return [to_entry(row) for row in tx.rows(f"{SELECT} WHERE {where} {NEWEST}", limit=limit, **params)]
    rows = tx.rows(
        "SELECT e.*, f.id AS feed_id, f.title AS feed_title FROM entry_tag t"
        f" JOIN feed f ON f.no = t.feed_no JOIN entry e ON e.id = t.entry_id WHERE t.tag = :tag AND {where}"
        " ORDER BY t.sort_at DESC, t.entry_id DESC LIMIT :limit",
        tag=storable(tag),
        limit=limit,
        **params,
    )
    return [to_entry(row) for row in rows]


def search(tx: Tx, words: Sequence[str], *, limit: int, hidden: Collection[FeedId] = ()) -> Sequence[Entry]:
    """The newest entries of active feeds that hold every word, as `searchable` folds it."""
    where, params = _shown(hidden)
    for number, word in enumerate(words):
        where += f" AND e.search LIKE :w{number} ESCAPE '\\'"
        plain = searchable(word).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        params[f"w{number}"] = f"%{plain}%"
    return [to_entry(row) for row in tx.rows(f"{SELECT} WHERE {where} {NEWEST}", limit=limit, **params)]


def has_tag(tx: Tx, tag: str, hidden: Collection[FeedId] = ()) -> bool:
    """Whether an entry has that tag or section, folded."""
    where, params = _shown(hidden)
    sql = f"SELECT 1 AS one FROM entry_tag t JOIN feed f ON f.no = t.feed_no WHERE t.tag = :tag AND {where} LIMIT 1"
    return tx.row(sql, tag=storable(tag), **params) is not None


def tags(tx: Tx, hidden: Collection[FeedId] = ()) -> Sequence[tuple[str, int]]:
    """Every tag of active feeds as it is spelled most, with its count, most used first; sections are none."""
    where, params = _shown(hidden)
    counts: dict[str, int] = {}
    spellings: dict[str, str] = {}
    # The spelling that is used most stands for all of them.
    for row in tx.rows(
        "SELECT t.tag, t.shown, SUM(t.count) AS n FROM feed_tag t JOIN feed f ON f.no = t.feed_no"
        f" WHERE t.count > 0 AND {where} GROUP BY t.tag, t.shown ORDER BY n DESC, t.shown",
        **params,
    ):
        spellings.setdefault(row["tag"], row["shown"])
        counts[row["tag"]] = counts.get(row["tag"], 0) + int(row["n"])
    found = [(spellings[tag], count) for tag, count in counts.items()]
    return sorted(found, key=lambda pair: (-pair[1], pair[0].casefold()))


def find(tx: Tx, name: str) -> Entry | None:
    """The newest entry of that guid, link or hex key, of whatever feed, gone or not.

    Where several feeds carry the story of a link, the one that told it (small print 6).
    """
    try:
        key = bytes.fromhex(name)
    except ValueError:
        key = b""
    row = tx.row(
        f"{SELECT} WHERE e.id IN (SELECT id FROM entry WHERE guid = :name UNION SELECT id FROM entry"
        " WHERE canonical = :canonical UNION SELECT id FROM entry WHERE key = :key)"
        " ORDER BY CASE WHEN e.canonical = :canonical AND EXISTS (SELECT 1 FROM delivery d WHERE d.entry_id = e.id)"
        " THEN 0 ELSE 1 END, e.sort_at DESC, e.id DESC LIMIT 1",
        name=storable(name),
        canonical=lookup_form(name),
        key=key,
    )
    return None if row is None else to_entry(row)


def by_id(tx: Tx, entry_ids: Iterable[int]) -> dict[int, Entry]:
    """The entries of these numbers; one that is gone is left out."""
    found: dict[int, Entry] = {}
    for part in chunks(dict.fromkeys(entry_ids)):
        names, params = one_of("e.id", "i", part)
        found.update((row["id"], to_entry(row)) for row in tx.rows(f"{SELECT} WHERE {names}", **params))
    return found


def since(tx: Tx, at: datetime, *, limit: int, feeds: frozenset[FeedId] | None) -> Sequence[Entry]:
    """Entries of active feeds by when they stand in time, oldest first: what `replay` goes through."""
    where, params = ("1 = 1", {}) if feeds is None else one_of("f.id", "f", sorted(feeds))
    rows = tx.rows(
        f"{SELECT} WHERE f.gone_at IS NULL AND {where} AND e.sort_at >= :at ORDER BY e.sort_at, e.id LIMIT :limit",
        at=to_ms(at),
        limit=limit,
        **params,
    )
    return [to_entry(row) for row in rows]


def _shown(hidden: Collection[FeedId]) -> tuple[str, dict[str, Value]]:
    """Entries of active feeds, and of none that may not be shown at some place."""
    names, params = one_of("f.id", "f", sorted(hidden))
    return f"f.gone_at IS NULL AND NOT ({names})", params
