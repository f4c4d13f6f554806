"""The command group: every command's name and line of help, its code loaded only when it is called."""

import os
import select
import sys
from importlib import import_module
from typing import Any, Final

import click

from bot.cli.output import open_what_is_closed, say, write_what_can_be_shown
from bot.config.errors import mask
from bot.core.errors import ConfigError, FeedbellError, PortUnavailable, StoreHeld, StoreUnavailable, StoreUnusable
from bot.core.text.characters import one_line

EXIT_TEMPORARY: Final = 75  # sysexits.h EX_TEMPFAIL
EXIT_CONFIG: Final = 78  # EX_CONFIG

# name: (module, what it does). The functions are called like the commands, "-" written as "_".
COMMANDS: Final = {
    "run": ("running", "The bot, until Ctrl-C or SIGTERM."),
    "once": ("running", "Poll every feed now, deliver all that is due, exit."),
    "demo": ("running", "The whole bot on a replay of the AI Networking feed; no account, no network."),
    "check": ("checking", "Every mistake in the configuration, with its place."),
    "inspect": ("feeds", "Find the feed behind a page, lint it, print blocks for the configuration."),
    "preview": ("checking", "Exactly what would be sent."),
    "send-test": ("checking", "A test message to one destination."),
    "latest": ("reading", "The newest entries, or those with a tag."),
    "tags": ("reading", "Every tag with its count."),
    "feeds": ("reading", "Every feed: last and next poll, last new entry, error."),
    "status": ("standing", "Feeds, destinations and deliveries at a glance."),
    "why": ("standing", "The whole life of one entry: seen, judged, delivered."),
    "replay": ("managing", "Deliver old entries to a route that did not get them."),
    "resume": ("managing", "Try a parked or unsubscribed destination again now."),
    "backup": ("managing", "A consistent copy of a running SQLite state."),
    "opml": ("feeds", "Import or export subscriptions."),
    "import": ("importing", "Feeds and what was told already, from another bot's state."),
    "health": ("health", "Ask the running bot whether it is well; for HEALTHCHECK."),
    "doctor": ("managing", "One page with all that a bug report needs, no secret."),
}


class LazyGroup(click.Group):
    """Lists commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = COMMANDS.get(cmd_name)
        if known is None:
            return None
        module = import_module(f"bot.cli.{known[0]}")
        name = cmd_name.replace("-", "_")
        command = getattr(module, f"{name}_" if name == "import" else name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{cmd_name} is no command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not ctx.resilient_parsing and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f'; did you mean "{near[0]}"?' if near else "; see `feedbell --help`"
            raise click.UsageError(f'no such command "{args[0]}"{hint}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from bot.version import VERSION

        say(f"feedbell {VERSION}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", metavar="FILE", help="The configuration (default: config.toml, or FEEDBELL_CONFIG).")
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
@click.pass_context
def group(ctx: click.Context, config: str | None) -> None:
    """feedbell rings when a feed has a new post: it tells Slack, Discord and mailboxes, once and in order."""
    ctx.obj = config


def main(args: list[str] | None = None, prog_name: str | None = None) -> None:
    """Run a command; every error on purpose becomes one line on stderr and its exit code."""
    open_what_is_closed()
    write_what_can_be_shown()
    status = _written(_run(args, prog_name or "feedbell"))
    try:
        sys.stderr.flush()
    except OSError:
        _point_nowhere(2)
    sys.exit(status)


def _run(args: list[str] | None, name: str) -> int:
    try:
        status = _call(args, name)
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        _tell_usage(error)
        return error.exit_code
    except FeedbellError as error:
        lines = error.problems if isinstance(error, ConfigError) else (_shown(f"error: {error}"),)
        for line in lines:
            say(str(line), err=True)
        return _exit_code(error)
    except UnicodeEncodeError:
        if all(map(_is_text, sys.argv if args is None else args)):
            raise
        say("error: an argument is no UTF-8 text", err=True)
        return 2
    return status if isinstance(status, int) else 0


def _written(status: int) -> int:
    """Return the exit code, now that all is printed; what could not be is told, unless nobody reads it."""
    error = _flush()
    if error is None:
        return status
    _point_nowhere(1)
    if isinstance(error, BrokenPipeError):
        return status
    say(f"error: cannot write the output: {(error.strerror or 'failed').lower()}", err=True)
    return status or 1


def _point_nowhere(descriptor: int) -> None:
    """Else Python tries once more at its end to write what is left, and calls that the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _flush() -> OSError | None:
    try:
        sys.stdout.flush()
    except OSError as error:
        return error
    return None


def _call(args: list[str] | None, name: str) -> Any:
    try:
        return group.main(args=args, prog_name=name, standalone_mode=False)
    except SystemExit:
        if _is_unread():
            return 0  # `feedbell latest | head -1` is no error, which click calls one
        raise
    except OSError:
        if _flush() is None:
            raise
        return 1  # it was the output, as _written tells


def _is_unread() -> bool:
    """Tell whether nobody reads our output any more."""
    watch = select.poll()
    watch.register(1, 0)
    return any(happened & select.POLLERR for _, happened in watch.poll(0))


def _is_text(argument: str) -> bool:
    """Tell whether an argument came as UTF-8; Python gives other bytes as halves of surrogate pairs."""
    return argument.encode("utf-8", "ignore").decode("utf-8") == argument


def _tell_usage(error: click.ClickException) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
    else:
        say(_shown(_usage_line(error)), err=True)


def _shown(words: str) -> str:
    """One line, without the secret that somebody typed where something else should stand."""
    return mask(one_line(words))


def _usage_line(error: click.ClickException) -> str:
    """One line, like every other error, with where to look."""
    words = error.format_message().strip()
    words = (words[:1].lower() + words[1:]).rstrip(".")
    says_enough = "`" in words or "did you mean" in words.casefold()
    if says_enough or not isinstance(error, click.UsageError) or error.ctx is None:
        return f"error: {words}"
    return f"error: {words}; see `{error.ctx.command_path} --help`"


def _exit_code(error: FeedbellError) -> int:
    if isinstance(error, ConfigError | StoreUnusable):
        return EXIT_CONFIG
    return EXIT_TEMPORARY if isinstance(error, StoreHeld | StoreUnavailable | PortUnavailable) else 1
