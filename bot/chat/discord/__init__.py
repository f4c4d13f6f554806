"""Discord: slash commands and buttons, by the gateway or over HTTP."""

from bot.chat.discord.chat import DiscordChat

__all__ = ["DiscordChat"]
