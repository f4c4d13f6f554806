"""What must hold after every round, judged from the servers' logs alone (I1 to I10 of the delivery design)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from tests.chaos.oracle import Arrival

SIGNS_OF_A_FAULT = ("Traceback (most recent call last)", "fault of ours", "never retrieved", "was never awaited")


def order_faults(place: str, arrivals: Sequence[Arrival], wanted: Sequence[str]) -> list[str]:
    """I1 to I3: every wanted entry once, nothing else, in order. Copies under one identity are judged elsewhere."""
    told: list[str] = []
    seen: set[str] = set()
    for arrival in arrivals:
        if arrival.identity not in seen:
            told.extend(arrival.entries)
        seen.add(arrival.identity)
    counts = Counter(told)
    faults = [f"{place}: {name} never came" for name in wanted if name not in counts]
    faults += [f"{place}: {name} came {count} times" for name, count in counts.items() if count > 1]
    faults += [f"{place}: {name} was not to come" for name in counts if name not in set(wanted)]
    firsts = list(dict.fromkeys(told))
    for before, after in pairwise(firsts):
        if before > after:
            faults.append(f"{place}: {after} came after {before}")
    return faults


def copies(arrivals: Iterable[Arrival]) -> int:
    """How many messages came again under the identity of one that was there already."""
    counts = Counter(arrival.identity for arrival in arrivals)
    return sum(count - 1 for count in counts.values())


def ping_faults(arrivals: Iterable[Arrival]) -> list[str]:
    return [f"{arrival.place}: pings {arrival.pings}" for arrival in arrivals if arrival.pings]


def output_faults(name: str, text: str) -> list[str]:
    """I5: nothing went wrong that nobody foresaw."""
    lines = [line for line in text.splitlines() if any(sign in line for sign in SIGNS_OF_A_FAULT)]
    return [f"{name}: {line[-1500:]}" for line in lines]


def secret_faults(folder: Path, secrets: Collection[str]) -> list[str]:
    """I10: no file that the bot wrote, its database and log among them, holds a secret."""
    faults = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "config.toml":
            content = path.read_bytes()
            faults += [
                f"{path.name} holds the secret {secret[:6]}…" for secret in secrets if secret.encode() in content
            ]
    return faults


def database_faults(path: Path) -> list[str]:
    """I6: the file is whole."""
    connection = sqlite3.connect(path)
    try:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    finally:
        connection.close()
    return [f"integrity: {word}" for word in found if word != "ok"] + [f"foreign key: {row}" for row in broken]


def intent_faults(copy: Path, keys: Iterable[str]) -> list[str]:
    """I8: of each message that a service holds under our key, the dead process had committed the intent.

    `copy` is a copy of the state as the kill left it; `keys` are what the servers stored.
    """
    connection = sqlite3.connect(copy)
    try:
        rows = connection.execute("SELECT idem, attempts, state FROM delivery").fetchall()
    finally:
        connection.close()
    meant = {idem: (attempts, state) for idem, attempts, state in rows}
    return [f"{key} was sent without an intent" for key in keys if key not in meant or meant[key] in ((0, "pending"),)]
