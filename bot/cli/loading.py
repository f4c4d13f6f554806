"""What every command begins with: the configuration, and the store if it reads or writes."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from bot.clock import SystemClock
from bot.config.load import load, load_complete
from bot.config.settings import Settings
from bot.store.store import Store, open_store

Command = TypeVar("Command", bound=Callable[..., Any])
T = TypeVar("T")


def config_option(function: Command) -> Command:
    """`--config FILE`, before or after the command's name."""
    return click.option("--config", "config", metavar="FILE", help="The configuration (default: config.toml).")(
        function
    )


def config_path(config: str | None) -> Path:
    """The file that `--config` names, else the one of the environment, else config.toml in this folder."""
    context = click.get_current_context(silent=True)
    given = config or (context.find_root().params.get("config") if context is not None else None)
    return Path(given or os.environ.get("FEEDBELL_CONFIG") or "config.toml")


def settings_of(config: str | None, *, with_secrets: bool = False) -> Settings:
    """Load the configuration; `with_secrets` for whoever sends. Raises ConfigError."""
    read = load_complete if with_secrets else load
    return read(config_path(config), os.environ)


def ask(settings: Settings, question: Callable[[Store], Awaitable[T]]) -> T:
    """Open the store beside whoever runs, ask one thing, close it."""

    async def asked() -> T:
        store = await open_store(settings.state, base=settings.folder, ops=settings.ops_uid)
        try:
            return await question(store)
        finally:
            await store.close(now=SystemClock().now())

    return asyncio.run(asked())
