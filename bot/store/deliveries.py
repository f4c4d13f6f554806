"""Deliveries: how they come to be owed, and what people are told about them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from bot.core.delivery_id import idem
from bot.core.identity import link_key
from bot.core.model.delivery import Attempt, Delivery, DeliveryKind, DeliveryState
from bot.core.model.entry import Key
from bot.core.model.feed import FeedId
from bot.core.model.plan import Notice
from bot.core.model.route import DestinationUid
from bot.core.model.status import DeliveryRow
from bot.store import destinations
from bot.store.delivery_rows import COLUMNS, to_attempt, to_columns, to_delivery
from bot.store.sql import Row, Tx, Value, chunks, one_of, span_ms, storable, storable_or_none, to_ms, to_time

STORY_KEPT = timedelta(days=30)  # small print 6

Owing = tuple[Delivery, int | None]  # with the number of its entry


def owe(tx: Tx, owed: Sequence[Owing]) -> int:
    """Insert deliveries in their order; return how many were new. Their destinations are locked by then.

    One whose idem is taken was owed before: it is dropped (R-11).
    """
    rows = [to_columns(delivery, entry_id=entry_id) for delivery, entry_id in owed]
    new = tx.insert(f"INSERT INTO delivery ({COLUMNS})", rows, "ON CONFLICT (idem) DO NOTHING RETURNING id")
    return len(new)


def owe_late(tx: Tx, owed: Sequence[Owing], now: datetime) -> int:
    """What `replay` does: owe what was not owed yet, and owe again what is dead. Never what was sent, by any feed."""
    uids = destinations.lock(tx, {delivery.destination for delivery, _ in owed})
    stories = _stories_of(tx, {entry_id for _, entry_id in owed if entry_id is not None})
    owed = [one for one in owed if _is_ours(tx, one, stories, now)]
    count = owe(tx, owed)
    for part in chunks(delivery.idem for delivery, _ in owed):
        names, params = one_of("idem", "i", part)
        # A digest's members come back with it, or they would wait for ever.
        rows = tx.rows(f"SELECT COALESCE(digest_id, id) AS id FROM delivery WHERE state = 'dead' AND {names}", **params)
        count += revive(tx, sorted({row["id"] for row in rows}), now)
    _put_in_order(tx, [delivery.idem for delivery, _ in owed])
    destinations.reschedule(tx, uids)
    return count


def _put_in_order(tx: Tx, idems: Sequence[str]) -> None:
    """Let deliveries stand in this order: those of old and those just owed share out the places that they have.

    By its number what was dead would pass what is older and was never owed.
    """
    at = {each: position for position, each in enumerate(idems)}
    heads: dict[str, dict[int, tuple[int, int]]] = {}  # destination -> id of a delivery or its digest -> (order, place)
    for part in chunks(idems):
        names, params = one_of("d.idem", "i", part)
        rows = tx.rows(
            "SELECT d.idem, h.destination_uid AS uid, h.id AS id, COALESCE(h.place, h.id) AS place FROM delivery d"
            " JOIN delivery h ON h.id = COALESCE(d.digest_id, d.id)"
            f" WHERE h.state IN ('pending', 'unknown') AND {names}",
            **params,
        )
        for row in rows:
            known = heads.setdefault(row["uid"], {})
            order, place = at[row["idem"]], row["place"]
            known[row["id"]] = min(known.get(row["id"], (order, place)), (order, place))
    for uid in sorted(heads):
        standing = sorted((order, id, place) for id, (order, place) in heads[uid].items())
        for place, (_, id, now_at) in zip(sorted(place for _, _, place in standing), standing, strict=True):
            if place != now_at:
                tx.run("UPDATE delivery SET place = :place WHERE id = :id", place=place, id=id)


def revive(tx: Tx, delivery_ids: Sequence[int], now: datetime) -> int:
    """Owe dead or held deliveries again, due now; a digest with its members.

    One that was given up before anybody knew whether it had arrived (`destinations.kill`) is looked for.
    """
    count = 0
    for part in chunks(delivery_ids):
        names, params = one_of("id", "i", part)
        count += tx.run(
            "UPDATE delivery SET state = CASE WHEN state = 'dead' AND payload IS NOT NULL THEN 'unknown'"
            " ELSE 'pending' END, due_at = :now, wake_at = CASE WHEN digest_id IS NULL THEN :now END,"
            " attempts = 0, first_try_at = NULL, looks = 0, looked_at = NULL, settled_at = NULL, plain = 0, late = 0,"
            f" error = NULL WHERE {names} AND state IN ('dead', 'held')",
            now=to_ms(now),
            **params,
        )
        members, params = one_of("digest_id", "i", part)
        tx.run(
            f"UPDATE delivery SET state = 'pending', settled_at = NULL, error = NULL WHERE {members}"
            " AND state IN ('dead', 'held')",
            **params,
        )
    return count


def _stories_of(tx: Tx, entry_ids: Collection[int]) -> dict[int, tuple[int, Key]]:
    """The feed, by number, and the story of each entry that is known by its link there."""
    links: dict[int, dict[Key, int]] = {}
    for part in chunks(sorted(entry_ids)):
        names, params = one_of("id", "e", part)
        for row in tx.rows(f"SELECT id, feed_no, link FROM entry WHERE {names} AND link IS NOT NULL", **params):
            links.setdefault(row["feed_no"], {})[link_key(row["link"])] = row["id"]
    found: dict[int, tuple[int, Key]] = {}
    for feed_no, by_link in links.items():
        for hashes in chunks(by_link):
            names, params = one_of("hash", "h", hashes)
            rows = tx.rows(f"SELECT hash, entry_id FROM seen WHERE feed_no = :no AND {names}", no=feed_no, **params)
            found |= {row["entry_id"]: (feed_no, Key(bytes(row["hash"]))) for row in rows}
    return found


def _is_ours(tx: Tx, owing: Owing, stories: Mapping[int, tuple[int, Key]], now: datetime) -> bool:
    delivery, entry_id = owing
    feed_no, story = stories.get(entry_id or 0, (0, None))
    return story is None or bool(take_stories(tx, feed_no, [(delivery.destination, story)], now))


def take_stories(
    tx: Tx, feed_no: int, stories: Sequence[tuple[DestinationUid, Key]], now: datetime
) -> set[tuple[str, bytes]]:
    """Take (destination, story) for this feed; return those that are ours now (small print 6)."""
    unique = dict.fromkeys(stories)
    until = to_ms(now + STORY_KEPT)
    rows: list[tuple[Value, ...]] = [(uid, story, feed_no, until) for uid, story in sorted(unique)]
    ours = tx.insert(
        "INSERT INTO story (destination_uid, hash, feed_no, until)",
        rows,
        "ON CONFLICT (destination_uid, hash) DO UPDATE SET feed_no = excluded.feed_no, until = excluded.until"
        f" WHERE story.feed_no = excluded.feed_no OR story.until <= excluded.until - {span_ms(STORY_KEPT)}"
        " RETURNING destination_uid, hash",
    )
    return {(row["destination_uid"], bytes(row["hash"])) for row in ours}


def tell(tx: Tx, notices: Iterable[Notice], ops: DestinationUid | None, now: datetime) -> int:
    """Remember notices, each once, and owe them to the operator's destination, which is locked by then."""
    told = 0
    for notice in notices:
        new = tx.run(
            "INSERT INTO notice (key, words, at) VALUES (:key, :words, :at) ON CONFLICT (key) DO NOTHING",
            key=storable(notice.key),
            words=storable(notice.words),
            at=to_ms(now),
        )
        if new and ops is not None:
            delivery = Delivery(
                idem=idem("", notice.key, ops, DeliveryKind.NOTICE.value),
                destination=ops,
                kind=DeliveryKind.NOTICE,
                due_at=now,
                created_at=now,
                notice=notice.words,
            )
            told += owe(tx, [(delivery, None)])
    return told


def notices(tx: Tx, limit: int) -> Sequence[tuple[datetime, str]]:
    rows = tx.rows("SELECT at, words FROM notice ORDER BY at DESC LIMIT :limit", limit=limit)
    return [(to_time(row["at"]), row["words"]) for row in rows]


# --- what people ask ------------------------------------------------------------------------------------------------


def of_entry(tx: Tx, entry_id: int) -> Sequence[tuple[Delivery, Sequence[Attempt]]]:
    """Every delivery of an entry, oldest first; a digest's attempts are told at its members."""
    rows = tx.rows("SELECT * FROM delivery WHERE entry_id = :id ORDER BY id", id=entry_id)
    found = []
    for row in rows:
        attempts = tx.rows(
            "SELECT * FROM attempt WHERE delivery_id IN (:own, :digest) ORDER BY id",
            own=row["id"],
            digest=row["digest_id"] or row["id"],
        )
        found.append((to_delivery(row), [to_attempt(attempt) for attempt in attempts]))
    return found


def recent(
    tx: Tx,
    *,
    states: frozenset[DeliveryState],
    destination: DestinationUid | None,
    feed: FeedId | None,
    before: int | None,
    limit: int,
) -> Sequence[DeliveryRow]:
    """Newest first; no `states` are all of them, `before` is the id at which the last page ended."""
    terms: list[str] = []
    params: dict[str, Value] = {"limit": limit}
    if states:
        term, named = one_of("d.state", "s", sorted(state.value for state in states))
        terms.append(term)
        params |= named
    for term, column, value in (
        ("d.destination_uid = :uid", "uid", storable_or_none(destination)),
        ("f.id = :feed", "feed", storable_or_none(feed)),
        ("d.id < :before", "before", before),
    ):
        if value is not None:
            terms.append(term)
            params[column] = value
    where = " AND ".join(terms) or "1 = 1"
    rows = tx.rows(
        "SELECT d.*, e.title AS entry_title, e.key AS entry_key, f.id AS feed_id, t.parked AS parked"
        " FROM delivery d LEFT JOIN entry e ON e.id = d.entry_id LEFT JOIN feed f ON f.no = e.feed_no"
        f" LEFT JOIN destination t ON t.uid = d.destination_uid WHERE {where} ORDER BY d.id DESC LIMIT :limit",
        **params,
    )
    return [_to_row(row) for row in rows]


def members(tx: Tx, digest_ids: Sequence[int]) -> dict[int, list[Delivery]]:
    """The members of digests, in order."""
    found: dict[int, list[Delivery]] = {}
    for part in chunks(digest_ids):
        names, params = one_of("digest_id", "d", part)
        for row in tx.rows(f"SELECT * FROM delivery WHERE {names} ORDER BY id", **params):
            found.setdefault(row["digest_id"], []).append(to_delivery(row))
    return found


def _to_row(row: Row) -> DeliveryRow:
    return DeliveryRow(
        delivery=to_delivery(row),
        title=row["entry_title"] or "",
        entry_key=None if row["entry_key"] is None else bytes(row["entry_key"]).hex(),
        feed_id=None if row["feed_id"] is None else FeedId(row["feed_id"]),
        parked=row["parked"] is not None,
    )
