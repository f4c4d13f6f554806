"""Commands: parse, call, print; they decide nothing."""

from bot.cli.group import main

__all__ = ["main"]
