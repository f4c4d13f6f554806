"""`run`, `once`: the bot itself."""

import asyncio
import os

import click

from bot import crash
from bot.cli.group import EXIT_TEMPORARY
from bot.cli.loading import config_option, settings_of


@click.command()
@config_option
def run(config: str | None) -> int:
    """The bot, until SIGTERM."""
    from bot.app.running import run as run_bot
    from bot.clock import SystemClock

    settings = settings_of(config, with_secrets=True)
    crash.arm(os.environ)
    return asyncio.run(run_bot(settings, SystemClock()))


@click.command()
@config_option
def once(config: str | None) -> int:
    """Poll every feed now, deliver all that is due, exit: 0 all well, 75 something will be retried."""
    from bot.app.running import run_once
    from bot.cli.output import round_lines
    from bot.clock import SystemClock

    settings = settings_of(config, with_secrets=True)
    crash.arm(os.environ)
    done = asyncio.run(run_once(settings, SystemClock()))
    for line in round_lines(done):
        click.echo(line, err=True)
    failed = any(event.outcome in ("failed", "lost", "put off") for event in done.polls)
    return EXIT_TEMPORARY if done.waiting or failed else 0
