"""`replay`, `resume`, `backup`, `doctor`: what an operator does now and then; all work beside a running bot."""

import platform
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from bot.cli.loading import ask, config_option, config_path, settings_of
from bot.cli.output import print_json, print_table, say
from bot.clock import SystemClock
from bot.config.errors import mask
from bot.config.settings import Settings
from bot.core.errors import UsageError
from bot.core.model.delivery import Delivery, DeliveryState
from bot.core.model.feed import FeedId
from bot.core.model.route import DestinationUid, Route
from bot.core.render import display_title
from bot.core.text.amounts import amount
from bot.services.replay import plan_replay
from bot.store.store import Store
from bot.version import VERSION

MOST = 10_000  # entries that are looked through at once; what lies beyond must not be left out in silence


@click.command()
@click.option("--since", required=True, metavar="DATE", help="2026-09-01, or 2026-09-01T14:00, in the configured zone.")
@click.option("--route", "wanted", metavar="R", help='A route: its destination ("slack:#news") or its number from 0.')
@click.option("--dry-run", is_flag=True, help="Only say what would be delivered.")
@config_option
def replay(since: str, wanted: str | None, dry_run: bool, config: str | None) -> None:
    """Deliver old entries to a route that did not get them; never twice to one that did."""
    settings = settings_of(config)
    start = _moment(since, settings)
    routes = _routes_named(wanted, settings)
    new = ask(settings, lambda store: _replay(store, routes, start, dry_run=dry_run))
    for delivery, title in new:
        say(f"{delivery.destination}: {title}")
    count = amount(len(new), "delivery", "deliveries")
    say(f"{count} would be made" if dry_run else f"{count} made; a running bot, or `feedbell once`, sends them")


async def _replay(
    store: Store, routes: Sequence[Route], start: datetime, *, dry_run: bool
) -> Sequence[tuple[Delivery, str]]:
    now = SystemClock().now()
    asked = [route.feeds for route in routes]
    only = None if None in asked else frozenset[FeedId]().union(*(feeds for feeds in asked if feeds is not None))
    entries = await store.entries_since(start, limit=MOST + 1, feeds=only)
    if len(entries) > MOST:
        raise UsageError(f"there are more than {MOST:,} entries since then; name a later date, or one route")
    feeds = {state.feed.id: state.feed for state in await store.feeds()}
    titles = {entry.id: display_title(entry) for entry in entries}
    lives = [d for e in entries for d, _ in await store.deliveries_of(e.id)]
    owed = {(d.entry_id, d.destination) for d in lives if d.state is not DeliveryState.DEAD}
    planned = [d for d in plan_replay(entries, feeds, routes, now=now) if (d.entry_id, d.destination) not in owed]
    if not dry_run and planned:
        await store.owe(planned, now=now)
    return [(delivery, titles[delivery.entry_id or 0]) for delivery in planned]


def _moment(text: str, settings: Settings) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=settings.timezone)).astimezone(UTC)
    except (ValueError, OverflowError) as error:  # the latter: at the ends of time, in some zones
        raise UsageError(f'"{text}" is no date; write 2026-09-01 or 2026-09-01T14:00') from error


def _routes_named(wanted: str | None, settings: Settings) -> Sequence[Route]:
    routes = settings.to_routes()
    if wanted is None:
        return routes
    found = [route for number, route in enumerate(routes) if wanted in (str(number), route.name, *route.to)]
    if not found:
        known = ", ".join(f"{number} ({', '.join(route.to)})" for number, route in enumerate(routes))
        raise UsageError(f'no route "{wanted}"; routes: {known or "none"}')
    return found


@click.command()
@click.argument("destination", metavar="DESTINATION")
@config_option
def resume(destination: str, config: str | None) -> None:
    """A parked or unsubscribed destination: try again now."""
    uid = DestinationUid(destination)
    if not ask(settings_of(config), lambda store: store.resume(uid, now=SystemClock().now())):
        rows = ask(settings_of(config), lambda store: store.destination_rows())
        known = ", ".join(row.destination.uid for row in rows)
        raise UsageError(f'no destination "{mask(destination)}"; destinations: {known or "none yet"}')
    say(f"{destination} is tried again; a running bot, or `feedbell once`, sends what it is owed")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@config_option
def backup(file: Path, config: str | None) -> None:
    """A consistent copy of a running SQLite state."""
    ask(settings_of(config), lambda store: store.backup(file))
    say(f"written: {file} ({file.stat().st_size} bytes)")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@config_option
def doctor(as_json: bool, config: str | None) -> None:
    """One page with all that a bug report needs, no secret."""
    facts = {
        "feedbell": VERSION,
        "python": platform.python_version(),
        "system": platform.platform(),
        "sqlite": sqlite3.sqlite_version,
        "configuration": str(config_path(config)),
    }
    try:
        settings = settings_of(config)
        facts |= _configured(settings)
        facts |= ask(settings, _stored)
    finally:  # what is wrong with the file or the state is a part of the report, and follows
        if as_json:
            print_json(facts)
        else:
            print_table([{"what": name, "is": value} for name, value in facts.items()], empty="")


def _configured(settings: Settings) -> dict[str, str]:
    secrets = {
        "slack bot token": settings.slack.bot_token,
        "slack app token": settings.slack.app_token,
        "slack signing secret": settings.slack.signing_secret,
        "discord bot token": settings.discord.bot_token,
        "email password": settings.email.password,
        "page token": settings.http.token,
        "poke token": settings.http.poke_token,
    }
    schemes = sorted({uid.partition(":")[0] for route in settings.routes for uid in route.to})
    return {
        "state": "sqlite" if settings.sqlite_path else "postgresql",
        "feeds in the file": str(len(settings.feeds)),
        "routes": str(len(settings.routes)),
        "platforms": ", ".join(schemes) or "none",
        "secrets set": ", ".join(name for name, value in secrets.items() if value is not None) or "none",
        "warnings": str(len(settings.warnings)),
    }


async def _stored(store: Store) -> dict[str, str]:
    states, counts = await store.feeds(), await store.delivery_counts()
    sizes, problems = await store.sizes(), await store.integrity()
    rows = {name: str(count) if name != "bytes" else f"{count / 1e6:.1f} MB" for name, count in sizes.items()}
    return {
        "integrity": "; ".join(problems) or "ok",
        **{f"rows of {name}" if name != "bytes" else "size": count for name, count in rows.items()},
        "deliveries": ", ".join(f"{count} {state.value}" for state, count in counts.items() if count) or "none",
        "feeds with an error": str(sum(state.error is not None for state in states)),
        **{f"feed {state.feed.id}": state.error for state in states if state.error is not None},
    }
