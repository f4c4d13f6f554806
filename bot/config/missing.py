"""Which secrets the settings need and don't have: an error of `check`, `once` and `run`, of no other command."""

from collections.abc import Iterator

from bot.config.addresses import WEBHOOKS, split_destination
from bot.config.places import Fault
from bot.config.settings import Settings
from bot.config.toml_positions import KeyPath


def lacking_secrets(settings: Settings) -> Iterator[Fault]:
    """Find destinations and feeds whose secret isn't set, each at its place in the file."""
    for number, route in enumerate(settings.routes):
        for item, uid in enumerate(route.to):
            yield from _of_destination(settings, ("routes", number, "to", item), uid)
    if settings.ops is not None:
        yield from _of_destination(settings, ("ops",), settings.ops)
    for number, feed in enumerate(settings.feeds):
        for key in ("password", "bearer"):
            name = getattr(feed.auth, key) if feed.auth else None
            if name is not None and name not in settings.secrets:
                yield _fault(("feeds", number, "auth", key), f"FEEDBELL_SECRETS__{name.upper()}")


def lacking_for(settings: Settings, uid: str) -> tuple[str, ...]:
    """Say what one destination lacks, in the file or not, before anything can be sent to it."""
    return tuple(fault.message for fault in _of_destination(settings, (), uid))


def _of_destination(settings: Settings, path: KeyPath, uid: str) -> Iterator[Fault]:
    scheme, address = split_destination(uid)
    if scheme in WEBHOOKS and address not in settings.webhooks:
        yield _fault(path, f"FEEDBELL_WEBHOOKS__{address.upper()}")
    if scheme == "webhook" and address not in settings.secrets:
        yield _fault(path, f"FEEDBELL_SECRETS__{address.upper()}")
    if scheme == "slack" and settings.slack.bot_token is None:
        yield _fault(path, "FEEDBELL_SLACK__BOT_TOKEN")
    if scheme in ("discord", "discord-user") and settings.discord.bot_token is None:
        yield _fault(path, "FEEDBELL_DISCORD__BOT_TOKEN")
    if scheme == "email" and settings.email.username is not None and settings.email.password is None:
        yield _fault(path, "FEEDBELL_EMAIL__PASSWORD")


def _fault(path: KeyPath, name: str) -> Fault:
    return Fault(path=path, message=f"its secret isn't set: put {name} into the environment or into a secret file")
