"""The commands as Discord lists them, made from the registry."""

from bot.core.model.message import JsonValue
from bot.services.commands import COMMANDS, Command, Option
from bot.services.commands.registry import Kind

Json = dict[str, JsonValue]

DESCRIPTION = 100
SUBCOMMAND, STRING, INTEGER, BOOLEAN = 1, 3, 4, 5
PLACES: dict[str, JsonValue] = {"contexts": [0, 1], "integration_types": [0]}  # guilds and direct messages to the bot


def definitions() -> list[JsonValue]:
    """Return `/latest`, and `/feedbell` with a subcommand for each command."""
    latest: Json = {
        "name": "latest",
        "type": 1,
        "description": "The newest post, or the newest with a tag or from a feed",
        "options": _options(COMMANDS["latest"]),
        **PLACES,
    }
    subcommands: list[JsonValue] = [_subcommand(command) for command in COMMANDS.values()]
    feedbell: Json = {
        "name": "feedbell",
        "type": 1,
        "description": "Tags, feeds, search, direct messages and more",
        "options": subcommands,
        **PLACES,
    }
    return [latest, feedbell]


def _subcommand(command: Command) -> Json:
    summary = f"{command.summary[:1].upper()}{command.summary[1:]}"
    return {
        "type": SUBCOMMAND,
        "name": command.name,
        "description": summary[:DESCRIPTION],
        "options": _options(command),
    }


def _options(command: Command) -> list[JsonValue]:
    return [_option(option, command.longest) for option in command.options]


def _option(option: Option, longest: int) -> Json:
    shared: Json = {"name": option.name, "description": option.summary[:DESCRIPTION], "required": option.required}
    if option.kind is Kind.COUNT:
        return {**shared, "type": INTEGER, "min_value": 1, "max_value": 10}
    if option.kind is Kind.FLAG:
        return {**shared, "type": BOOLEAN}
    return {**shared, "type": STRING, "max_length": longest, "autocomplete": bool(option.completes)}
