"""`inspect`, `opml`: feeds on their way into, or out of, the configuration. Nothing here changes the file."""

import asyncio
import ipaddress
import socket
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import click

from bot.cli.loading import ask, config_option, config_path, settings_of
from bot.cli.output import named_files, print_json, say
from bot.clock import SystemClock
from bot.config.errors import mask, quoted
from bot.config.hints import meant_url
from bot.config.settings import Settings
from bot.config.values import split_url
from bot.core.errors import FetchError, ParseError, UsageError
from bot.core.lint import Finding, Level, config_block, feed_block, lint, propose_id
from bot.core.opml import parse_opml, to_opml
from bot.core.text.amounts import amount
from bot.services.discovery import Discovered, Discovery

_MARKS = {Level.GOOD: "ok", Level.NOTE: "note", Level.WARNING: "warning"}


@click.command()
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@config_option
def inspect(url: str, as_json: bool, config: str | None) -> None:
    """Find the feed behind a page, lint it as a bot sees it, and print blocks for the configuration."""
    typed = url.strip()
    address = meant_url(typed) or (typed if "://" in typed else f"https://{typed}")
    if split_url(address) is None:
        raise UsageError(f'{quoted(typed)} is no address; write it as a browser shows it, "https://…"')
    private = _private_networks(address)
    try:
        found = asyncio.run(_discover(address, private))
    except (FetchError, ParseError) as error:
        raise UsageError(f"{mask(address)}: {error}") from error
    findings = lint(found.parsed, found.fetched)
    taken = [feed.id for feed in settings_or_none(config).feeds]
    block = config_block(found.parsed, found.fetched, url=found.url, taken=taken, allow_private=private)
    if as_json:
        print_json(
            {
                "url": found.url,
                "title": found.parsed.title,
                "entries": len(found.parsed.items),
                "findings": [{"topic": f.topic, "level": f.level.value, "words": f.words} for f in findings],
                "others": list(found.others),
                "config": block,
            }
        )
        return
    _print_findings(found, findings)
    say(f"# to add to {config_path(config)}:\n")
    say(block)


def _print_findings(found: Discovered, findings: tuple[Finding, ...]) -> None:
    say(found.parsed.title or found.url, bold=True)
    say(f"{found.url}, {amount(len(found.parsed.items), 'entry', 'entries')}\n")
    for finding in findings:
        say(f"{_MARKS[finding.level]:8}{finding.topic}: {finding.words}")
    if found.others:
        say(f"\nother feeds of this page: {', '.join(found.others)}")
    say()


def _private_networks(url: str) -> tuple[str, ...]:
    """The addresses of the host that the operator typed, where they are private: that host was asked for in person.

    What its page or a redirect leads to gets no such trust.
    """
    from bot.fetch.guard import is_public

    try:
        parts = urlsplit(url)
        found = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return ()  # the fetcher says it better
    addresses = dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found)
    return tuple(str(ipaddress.ip_network(address)) for address in addresses if not is_public(address))


async def _discover(url: str, allow_private: tuple[str, ...]) -> Discovered:
    from bot.fetch.client import HttpFetcher
    from bot.parser.guarded import GuardedParser

    fetcher, parser = HttpFetcher(clock=SystemClock()), GuardedParser()
    try:
        return await Discovery(fetcher, parser).find(url, from_chat=False, allow_private=allow_private)
    finally:
        await parser.close()
        await fetcher.close()


def settings_or_none(config: str | None) -> Settings:
    """A newcomer inspects before there is a file; whose ids are taken matters only if there is one."""
    return settings_of(config) if config_path(config).exists() else Settings()


@click.group()
def opml() -> None:
    """Import or export subscriptions."""


@opml.command("import")
@click.argument("file", type=click.File("rb"))
@config_option
def opml_import(file: BinaryIO, config: str | None) -> None:
    """Print [[feeds]] blocks for the configuration; change nothing."""
    listed = parse_opml(file.read(2_000_000))
    settings = settings_or_none(config)
    taken, urls = [feed.id for feed in settings.feeds], {feed.url for feed in settings.feeds}
    blocks = []
    for feed in listed.feeds:
        if feed.url in urls:
            say(f"already there: {feed.url}", err=True)
            continue
        feed_id = propose_id(feed.title, feed.url, taken=taken)
        taken.append(feed_id)
        blocks.append(feed_block(feed_id, feed.url, title=feed.title, tags=feed.tags))
    for address in listed.skipped:
        say(f"skipped, it cannot be polled: {address}", err=True)
    if blocks:
        say("\n".join(blocks))
    rest = f"append this to {config_path(config)}" if blocks else "nothing to append"
    say(f"{amount(len(blocks), 'feed')}; {rest}", err=True)


@opml.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@config_option
def opml_export(file: Path | None, config: str | None) -> None:
    """Write every feed, those added in chat too, as OPML."""
    settings = settings_of(config)
    states = ask(settings, lambda store: store.feeds())
    listed = [(state.feed, state.title, state.site_url) for state in states]
    stored = {state.feed.id for state in states}
    listed += [(feed, "", None) for feed in settings.to_feeds() if feed.id not in stored]  # not polled yet
    text = to_opml(listed)
    if file is None or str(file) == "-":
        say(text)
        return
    with named_files():
        file.write_text(text, encoding="utf-8")
    say(f"written: {file} ({amount(len(listed), 'feed')})")
