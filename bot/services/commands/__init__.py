"""Everything that people type, on any platform: text in, a Message out."""

from bot.services.commands.asking import Answer, Asked, Button, Who
from bot.services.commands.commands import Commands
from bot.services.commands.desk import CommandStore
from bot.services.commands.registry import COMMANDS, Command, Option

__all__ = ["COMMANDS", "Answer", "Asked", "Button", "Command", "CommandStore", "Commands", "Option", "Who"]
