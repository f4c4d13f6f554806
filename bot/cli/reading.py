"""`latest`, `tags`, `feeds`: answers from the store, beside a running bot or without one."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import click

from bot.cli.loading import ask, config_option, settings_of
from bot.cli.output import print_json, print_table, say, when
from bot.clock import SystemClock
from bot.config.settings import Settings
from bot.core.model.entry import Entry
from bot.core.model.feed import FeedState
from bot.core.query import LatestQuery, parse_latest
from bot.core.render import display_date, display_title, entry_record
from bot.core.tags import fold, nearest
from bot.store.reading import Reading


@click.command()
@click.argument("text", nargs=-1, metavar="[TAG]")
@click.option("-n", "--count", type=click.IntRange(1, 1000), help="How many entries.")
@click.option("--json", "as_json", is_flag=True, help="For programs: an array, newest first.")
@config_option
def latest(text: tuple[str, ...], count: int | None, as_json: bool, config: str | None) -> int:
    """The newest entries, or those with a tag: `latest bgp`, `latest bgp 3`, `latest feed:ai-networking`."""
    settings = settings_of(config)
    query, entries, tags = ask(settings, lambda store: store.consult(partial(_find, " ".join(text), count)))
    if not entries and query.tag is not None:
        say(_unknown(query.tag, tags), err=True)
        return 1
    if as_json:
        print_json([dict(entry_record(entry)) for entry in entries])
    elif not entries:
        say("no entries yet; `feedbell once` polls the feeds")
    for entry in [] if as_json else entries:
        _print_entry(entry, settings)
    return 0


def _find(text: str, count: int | None, reading: Reading) -> tuple[LatestQuery, Sequence[Entry], list[str]]:
    query = parse_latest(text, has_tag=reading.has_tag, feed_ids=reading.feed_ids)
    entries = reading.latest(tag=query.folded, feed=query.feed, limit=count or query.count)
    return query, entries, [] if entries else [name for name, _ in reading.tags()]


def _unknown(tag: str, tags: list[str]) -> str:
    near = nearest(tag, tags)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    known = ", ".join(sorted(tags, key=fold)) or "none yet"
    return f"no post tagged {tag}{meant}; tags: {known}"


def _print_entry(entry: Entry, settings: Settings) -> None:
    say(display_title(entry), bold=True)
    facts = (", ".join(entry.tags), display_date(entry, timezone=settings.timezone), entry.feed_title)
    say(" · ".join(fact for fact in facts if fact))
    if entry.link:
        say(entry.link)
    if entry.text:
        say(str(entry_record(entry)["summary"]))
    say()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@config_option
def tags(as_json: bool, config: str | None) -> None:
    """Every tag with its count, most used first."""
    found = ask(settings_of(config), lambda store: store.tags())
    if as_json:
        print_json([{"tag": tag, "entries": count} for tag, count in found])
        return
    print_table([{"tag": tag, "entries": str(count)} for tag, count in found], empty="no tags yet")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@config_option
def feeds(as_json: bool, config: str | None) -> None:
    """Every feed: last and next poll, last new entry, error."""
    states = ask(settings_of(config), lambda store: store.feeds())
    if as_json:
        print_json([feed_record(state) for state in states])
        return
    now = SystemClock().now()
    print_table([feed_row(state, now) for state in states], empty="no feeds yet; `feedbell once` reads the file")


def feed_record(state: FeedState) -> dict[str, object]:
    times = {
        "last_poll": state.last_poll_at,
        "next_poll": state.next_poll_at,
        "last_ok": state.last_ok_at,
        "last_new": state.last_new_at,
        "failing_since": state.failing_since,
        "paused": state.paused_at,
    }
    return {
        "id": state.feed.id,
        "url": state.feed.url,
        "title": state.title,
        "failures": state.failures,
        "error": state.error,
        "stopped": state.stopped,
        **{name: at.isoformat() if at is not None else None for name, at in times.items()},
    }


def feed_row(state: FeedState, now: datetime) -> dict[str, str]:
    return {
        "feed": state.feed.id,
        "last poll": when(state.last_poll_at, now),
        "next poll": "paused" if state.paused_at else "never" if state.stopped else when(state.next_poll_at, now),
        "last new": "none yet" if state.primed_at and state.last_new_at is None else when(state.last_new_at, now),
        "state": state.stopped or state.error or ("ok" if state.primed_at else "not polled yet"),
    }
