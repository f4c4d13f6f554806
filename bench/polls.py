"""Goals 1–6, 10 (after many feeds), 13 and 16: what a poll costs."""

import os
import sys
from collections.abc import Iterator, Sequence

from bench.contest import ROOT, Contender, Entrant, Outside, contest, peer_python
from bench.postgres import postgres
from bench.table import Row

MODES = ("etag", "plain", "build", "new")
PEER_FEEDS, PEER_ROUNDS = 100, 3  # it takes seventy times as long


def rows(world: Outside, *, feeds: int, rounds: int, scale: int) -> Iterator[Row]:
    """Measure all of them; `scale` is the number of rows of the large store."""
    peer = peer_python()
    yield from _plain_rows(world, peer, feeds=feeds, rounds=rounds)
    yield from _tls_rows(world, peer, feeds=feeds, rounds=rounds)
    yield _scale_row(world, feeds=feeds, rounds=rounds, scale=scale)


def _plain_rows(world: Outside, peer: str | None, *, feeds: int, rounds: int) -> Iterator[Row]:
    entrants = [_floor(world.http, feeds, rounds, MODES), _ours(world.http, feeds, rounds, MODES)]
    if peer is not None:
        entrants.append(_peer(peer, world.http, ("new",)))
    with contest(entrants, world, MODES) as by_name:
        ours, floor, reader = by_name["feedbell"], by_name["floor"], by_name.get("reader")
        bars = (("1", "a 304", "etag", 1.25), ("2", "the same body, no validators", "plain", 1.4))
        for number, what, mode, bar in (*bars, ("3", "only the head's date moved", "build", 1.9)):
            yield _against(number, f"CPU of a poll: {what}", ours, floor, mode, bar)
        yield _new_row(ours, reader)
        cold = ours.rounds["cold"][0]
        yield _delay_row(world, feeds, cold["cpu"] / feeds * 1000)


def _delay_row(world: Outside, feeds: int, cold_ms: float) -> Row:
    """A contender of its own, and not held to one core: the parser is another process, as it is when the bot runs."""
    world.set_mode("etag")
    with contest([_ours(world.http, feeds, 0, ("none",), who="unseen")], world, ()) as by_name:
        contender = by_name["unseen"]
        os.sched_setaffinity(contender.process.pid, os.sched_getaffinity(0))
        answer = contender.rounds["cold"][0]
    measured = f"{answer['delay_p99_ms']:.1f} ms"
    what = f"loop delay p99 while {feeds} unseen feeds are parsed"
    held = answer["delay_p99_ms"] <= 20
    return Row(number="6", what=what, measured=measured, bar="≤ 20 ms", held=held, note=f"{cold_ms:.1f} ms CPU a feed")


def _new_row(ours: Contender, reader: Contender | None) -> Row:
    what, bar = "CPU of a poll: one new entry of 15, stored and owed", "≤ 1/10 of reader's"
    cpu = ours.cpu_ms("new")
    if reader is None:
        return Row(number="4", what=what, measured=f"{cpu:.2f} ms", bar=bar, note="skipped: reader can't be installed")
    peer = reader.cpu_ms("new")
    measured = f"{cpu:.2f} ms = 1/{peer / cpu:.1f}"
    return Row(number="4", what=what, measured=measured, bar=bar, held=cpu * 10 <= peer, note=f"reader {peer:.1f} ms")


def _tls_rows(world: Outside, peer: str | None, *, feeds: int, rounds: int) -> Iterator[Row]:
    mix = ("mix",)
    with postgres() as url:
        entrants = [_floor(world.https, feeds, rounds, mix), _ours(world.https, feeds, rounds, mix)]
        if peer is not None:
            entrants.append(_peer(peer, world.https, mix))
        if url is not None:
            entrants.append(_ours(world.https, feeds, rounds, mix, "--state", url, who="on PostgreSQL"))
        with contest(entrants, world, mix) as by_name:
            ours, reader = by_name["feedbell"], by_name.get("reader")
            yield _against("5a", "CPU of a poll: a mix over TLS", ours, by_name["floor"], "mix", 1.2)
            yield _mix_row(ours, reader)
            yield _postgres_row(ours, by_name.get("on PostgreSQL"))
            resident = ours.rounds["mix"][-1]["rss_mb"]
            what = f"RSS after {feeds} TLS feeds, parse worker counted"
            yield Row(number="10c", what=what, measured=f"{resident:.0f} MB", bar="≤ 100 MB", held=resident <= 100)


def _mix_row(ours: Contender, reader: Contender | None) -> Row:
    what, bar = "the same mix against reader", "≥ 12 × less"
    if reader is None:
        return Row(number="5b", what=what, bar=bar, note="skipped: reader can't be installed")
    ratio = reader.cpu_ms("mix") / ours.cpu_ms("mix")
    note = f"reader {reader.cpu_ms('mix'):.1f} ms"
    return Row(number="5b", what=what, measured=f"{ratio:.1f} × less", bar=bar, held=ratio >= 12, note=note)


def _postgres_row(ours: Contender, on_postgres: Contender | None) -> Row:
    what = "PostgreSQL instead of SQLite, our CPU a poll"
    if on_postgres is None:
        return Row(number="16", what=what, bar="≤ 1.5 ×", note="skipped: PostgreSQL is not installed")
    return _against("16", what, on_postgres, ours, "mix", 1.5)


def _scale_row(world: Outside, *, feeds: int, rounds: int, scale: int) -> Row:
    few = _ours(world.http, feeds, rounds, ("etag",), who="small")
    many = _ours(world.http, feeds, rounds, ("etag",), "--rows", str(scale), who="large")
    with contest([few, many], world, ("etag",)) as by_name:
        what = f"CPU of a poll with {scale:,} feeds in the store, against {feeds:,}"
        return _against("13", what, by_name["large"], by_name["small"], "etag", 1.2)


def _against(number: str, what: str, one: Contender, other: Contender, mode: str, bar: float) -> Row:
    mine, theirs = one.cpu_ms(mode), other.cpu_ms(mode)
    note = f"{mine:.3f} ms, {other.entrant.name} {theirs:.3f} ms"
    measured, held = f"{mine / theirs:.2f} ×", mine <= bar * theirs
    return Row(number=number, what=what, measured=measured, bar=f"≤ {bar:g} ×", held=held, note=note)


def _floor(base: str, feeds: int, rounds: int, modes: Sequence[str]) -> Entrant:
    command = [sys.executable, "-m", "bench.floor", "--feeds", str(feeds), "--base", base, "--close"]
    return Entrant(name="floor", command=command, feeds=feeds, rounds=rounds, modes=modes)


def _ours(base: str, feeds: int, rounds: int, modes: Sequence[str], *more: str, who: str = "feedbell") -> Entrant:
    runner = str(ROOT / "bench" / "runner.py")
    command = [sys.executable, runner, "--feeds", str(feeds), "--base", f"{base}", "--close", "--who", who, *more]
    return Entrant(name=who, command=command, feeds=feeds, rounds=rounds, modes=modes)


def _peer(python: str, base: str, modes: Sequence[str]) -> Entrant:
    command = [python, "-m", "bench.peer", "--feeds", str(PEER_FEEDS), "--base", base]
    return Entrant(name="reader", command=command, feeds=PEER_FEEDS, rounds=PEER_ROUNDS, modes=modes)
