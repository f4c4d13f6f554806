"""One notifier for each scheme that is configured; a library is imported only for those."""

import sys
from collections.abc import Mapping
from importlib.metadata import entry_points

import aiohttp

from bot.config.addresses import PLUGIN_GROUP
from bot.config.settings import Settings, reveal
from bot.notifiers.console import ConsoleNotifier
from bot.notifiers.discord import DiscordNotifier, DiscordWebhookNotifier, user_agent
from bot.notifiers.discord_api import Strikes
from bot.notifiers.slack import SlackNotifier, SlackWebhookNotifier
from bot.notifiers.webhook import WebhookNotifier
from bot.ports import Clock, Notifier
from bot.version import VERSION

HOME = "https://github.com/feedbell/feedbell"
OWN_SCHEMES = frozenset("console slack slack-webhook discord discord-user discord-webhook email webhook".split())


def build_notifiers(
    settings: Settings, session: aiohttp.ClientSession, clock: Clock, *, strikes: Strikes
) -> Mapping[str, Notifier]:
    """Build what sends, keyed by scheme; `strikes` outlive a change of the settings."""
    agent = discord_agent(settings)
    urls = {name: url.get_secret_value() for name, url in settings.webhooks.items()}
    keys = {name: key.get_secret_value() for name, key in settings.secrets.items()}
    discord = DiscordNotifier(
        session,
        token=reveal(settings.discord.bot_token) or "",
        clock=clock,
        agent=agent,
        strikes=strikes,
        api_url=settings.discord.api_url,
    )
    return {
        "console": ConsoleNotifier(sys.stdout),
        "slack": SlackNotifier(
            session, token=reveal(settings.slack.bot_token) or "", clock=clock, api_url=settings.slack.api_url
        ),
        "slack-webhook": SlackWebhookNotifier(session, urls=urls, clock=clock),
        "discord": discord,
        "discord-user": discord,
        "discord-webhook": DiscordWebhookNotifier(session, urls=urls, clock=clock, agent=agent, strikes=strikes),
        "webhook": WebhookNotifier(session, urls=urls, keys=keys, clock=clock, agent=f"feedbell/{VERSION}"),
        **_mail(settings, clock),
        **_plugins(settings, session, clock),
    }


def _plugins(settings: Settings, session: aiohttp.ClientSession, clock: Clock) -> Mapping[str, Notifier]:
    """Third parties' notifiers that a route names: callables of (session, clock), found by their entry points."""
    used = {uid.partition(":")[0] for route in settings.routes for uid in route.to} - OWN_SCHEMES
    found = entry_points(group=PLUGIN_GROUP) if used else ()
    return {point.name: point.load()(session, clock) for point in found if point.name in used}


def discord_agent(settings: Settings) -> str:
    """The User-Agent that Discord wants of its bots."""
    return user_agent(settings.contact or HOME, VERSION)


def _mail(settings: Settings, clock: Clock) -> Mapping[str, Notifier]:
    email = settings.email
    if email.host is None or email.sender is None:
        return {}
    from bot.notifiers.email import EmailNotifier

    notifier = EmailNotifier(
        host=email.host,
        port=email.port,
        sender=email.sender,
        clock=clock,
        security=email.security,
        username=email.username,
        password=reveal(email.password),
        ca_file=str(settings.ca_path) if settings.ca_path else None,
    )
    return {"email": notifier}
