"""`run`, `once`, `demo`: the bot itself."""

import asyncio
import os
import signal
from datetime import timedelta

import click

from bot import crash
from bot.cli.group import EXIT_TEMPORARY
from bot.cli.loading import config_option, config_path, settings_of
from bot.cli.output import Progress, round_lines, say


@click.command()
@config_option
def run(config: str | None) -> int:
    """The bot, until Ctrl-C or SIGTERM."""
    # Whoever asks for a reload this early gets it: the file is about to be read. To die of it would be no answer.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    from bot.app.running import run as run_bot
    from bot.clock import SystemClock

    settings = settings_of(config, with_secrets=True)
    crash.arm(os.environ)
    return asyncio.run(run_bot(settings, SystemClock(), path=config_path(config)))


@click.command()
@config_option
def once(config: str | None) -> int:
    """Poll every feed now, deliver all that is due, exit: 0 well, 75 something is retried, 78 bad configuration."""
    from bot.app.once import run_once
    from bot.clock import SystemClock

    settings = settings_of(config, with_secrets=True)
    crash.arm(os.environ)
    progress, clock = Progress("feed", "polled"), SystemClock()
    done = asyncio.run(run_once(settings, clock, polled=progress.step))
    progress.end()
    for line in round_lines(done, clock.now()):
        say(line, err=True)
    failed = any(event.outcome in ("failed", "lost", "put off") for event in done.polls)
    return EXIT_TEMPORARY if done.waiting or failed or done.left else 0


@click.command()
@click.option("--fast", is_flag=True, help="Do not wait between posts.")
@click.option("--exit", "ends", is_flag=True, help="End when the whole history has been delivered.")
def demo(fast: bool, ends: bool) -> int:
    """The whole bot on a replay of the AI Networking feed; no account, no network."""
    from bot.clock import SystemClock
    from bot.demo.show import Demo, Pace

    pace = Pace(every=timedelta(seconds=0 if fast else 4), ends=ends)
    return asyncio.run(Demo(pace, SystemClock()).run())
