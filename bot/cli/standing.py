"""`status`, `why`: how things stand, and how they came to be so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import click

from bot.cli.loading import ask, config_option, settings_of
from bot.cli.output import print_json, print_table, say, when
from bot.cli.reading import feed_record, feed_row
from bot.clock import SystemClock
from bot.config.settings import Settings
from bot.core.errors import UsageError
from bot.core.model.delivery import DeliveryState
from bot.core.model.feed import FeedState
from bot.core.model.status import DeliveryRow, DestinationRow
from bot.core.render import display_title, entry_record
from bot.core.text.amounts import amount
from bot.services.life import Life, life_of
from bot.services.routing import Routing
from bot.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    feeds: Sequence[FeedState]
    destinations: Sequence[DestinationRow]
    counts: Mapping[DeliveryState, int]
    stuck: Sequence[DeliveryRow]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@config_option
def status(as_json: bool, config: str | None) -> None:
    """Feeds, destinations and deliveries at a glance."""
    standing = ask(settings_of(config), _standing)
    now = SystemClock().now()
    if as_json:
        print_json(
            {
                "feeds": [feed_record(state) for state in standing.feeds],
                "destinations": [_destination_record(row) for row in standing.destinations],
                "deliveries": {state.value: count for state, count in standing.counts.items()},
                "stuck": [_stuck_record(row) for row in standing.stuck],
            }
        )
        return
    print_table([feed_row(state, now) for state in standing.feeds], empty="no feeds yet")
    say()
    print_table([_destination_row(row, now) for row in standing.destinations], empty="no destinations yet")
    say()
    counts = [f"{count} {state.value}" for state, count in standing.counts.items() if count]
    say(f"deliveries: {', '.join(counts) or 'none yet'}")
    for row in standing.stuck:
        it = row.delivery
        say(f"{it.state.value}: {row.title or it.kind.value}, to {it.destination}: {it.error or ''}")


async def _standing(store: Store) -> Standing:
    stuck = await store.recent(states=frozenset({DeliveryState.DEAD, DeliveryState.HELD}), limit=500)
    return Standing(
        feeds=await store.feeds(),
        destinations=await store.destination_rows(),
        counts=await store.delivery_counts(),
        # A digest stands for its members, here as in the counts.
        stuck=[row for row in stuck if row.delivery.digest_id is None][:20],
    )


def _destination_record(row: DestinationRow) -> dict[str, object]:
    return {
        "uid": row.destination.uid,
        "name": row.name,
        "waiting": row.waiting,
        "held": row.held,
        "dead": row.dead,
        "parked": row.destination.parked,
        "exactly_once": row.destination.can_look_up,
        "why_not": row.why_not,
        "last_sent": row.last_sent_at.isoformat() if row.last_sent_at else None,
    }


def _stuck_record(row: DeliveryRow) -> dict[str, object]:
    return {
        "state": row.delivery.state.value,
        "title": row.title,
        "destination": row.delivery.destination,
        "error": row.delivery.error,
    }


def _destination_row(row: DestinationRow, now: datetime) -> dict[str, str]:
    place = row.destination
    state = f"parked: {place.parked}" if place.parked else "unsubscribed" if place.unsubscribed else "ok"
    if state == "ok" and place.not_before is not None and place.not_before > now:
        state = f"next try {when(place.not_before, now)}"
    once = {True: "yes", False: "no", None: "-"}[place.can_look_up]
    return {
        "destination": place.uid,
        "waiting": str(row.waiting),
        "dead": str(row.dead),
        "last sent": when(row.last_sent_at, now),
        "exactly once": f"{once}: {row.why_not}" if row.why_not else once,
        "state": state,
    }


@click.command()
@click.argument("name", metavar="GUID-OR-URL")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@config_option
def why(name: str, as_json: bool, config: str | None) -> None:
    """The whole life of one entry: first seen, each route's verdict with the reason, each attempt with its answer."""
    settings = settings_of(config)
    life = ask(settings, lambda store: _life(store, settings, name))
    if life is None:
        raise UsageError(f'no entry "{name}"; `feedbell latest -n 20` lists the newest, `feedbell feeds` shows errors')
    if as_json:
        print_json(_life_record(life))
        return
    for line in _life_lines(life):
        say(line)


async def _life(store: Store, settings: Settings, name: str) -> Life | None:
    feeds = {state.feed.id: state.feed for state in await store.feeds()}
    routes = await Routing(store, settings.to_routes()).all_routes()
    return await life_of(store, name, feeds=feeds, routes=routes, now=SystemClock().now())


def _life_lines(life: Life) -> list[str]:
    entry = life.entry
    lines = [display_title(entry), f"feed {entry.feed_id}, tags: {', '.join(entry.tags) or 'none'}"]
    lines.append(f"first seen {entry.first_seen_at:%Y-%m-%d %H:%M:%S} UTC, edited {amount(entry.edits, 'time')}")
    lines += ["", "routes as they are now:"]
    for route, verdict in life.verdicts:
        word = "yes" if verdict.wanted else "no"
        lines.append(f"  {route.name} to {', '.join(route.to)}: {word}: {verdict.reason}")
    lines += ["", "deliveries:"]
    if not life.deliveries:
        lines.append("  none: it was there at the first poll, no route wanted it then, or another feed had told it")
    for delivery, attempts in life.deliveries:
        error = f": {delivery.error}" if delivery.error else ""
        is_waiting = delivery.state is DeliveryState.PENDING
        due = f", due {delivery.due_at:%Y-%m-%d %H:%M:%S} UTC" if is_waiting else ""
        lines.append(f"  {delivery.kind.value} to {delivery.destination}: {delivery.state.value}{due}{error}")
        lines += [f"    {a.at:%Y-%m-%d %H:%M:%S} {a.outcome}{f': {a.answer}' if a.answer else ''}" for a in attempts]
    return lines


def _life_record(life: Life) -> dict[str, object]:
    return {
        "entry": dict(entry_record(life.entry)),
        "first_seen": life.entry.first_seen_at.isoformat(),
        "edits": life.entry.edits,
        "routes": [
            {"route": route.name, "to": list(route.to), "wanted": verdict.wanted, "reason": verdict.reason}
            for route, verdict in life.verdicts
        ],
        "deliveries": [
            {
                "kind": delivery.kind.value,
                "destination": delivery.destination,
                "state": delivery.state.value,
                "due": delivery.due_at.isoformat(),
                "error": delivery.error,
                "attempts": [{"at": a.at.isoformat(), "outcome": a.outcome, "answer": a.answer} for a in attempts],
            }
            for delivery, attempts in life.deliveries
        ],
    }
