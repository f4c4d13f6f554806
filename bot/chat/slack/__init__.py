"""Slack: slash commands and buttons, by Socket Mode or over HTTP."""

from bot.chat.slack.chat import SlackChat

__all__ = ["SlackChat"]
