"""Which secrets the settings need and don't have: an error of `check`, `once` and `run`, of no other command."""

from collections.abc import Callable, Iterator, Mapping

from bot.config.addresses import WEBHOOKS, parse_destination, split_destination
from bot.config.checks import auth_names_in, destinations_in
from bot.config.places import Fault
from bot.config.settings import Settings
from bot.config.toml_positions import KeyPath
from bot.config.values import parse_secret_name

Has = Callable[[str, str], bool]  # (table, key): is it set?


def lacking_secrets(raw: Mapping[str, object]) -> Iterator[Fault]:
    """Find destinations and feeds whose secret isn't set, each at its place in the file.

    Reads the raw tables, so that these are told beside whatever else is wrong in them.
    """

    def has(table: str, key: str) -> bool:
        values = raw.get(table)
        return isinstance(values, Mapping) and values.get(key) is not None

    for path, uid in destinations_in(raw):
        if _is_right(parse_destination, uid):
            yield from _of_destination(has, path, uid)
    for path, name in auth_names_in(raw):
        if _is_right(parse_secret_name, name) and not has("secrets", name):
            yield _fault(path, f"FEEDBELL_SECRETS__{name.upper()}")


def lacking_for(settings: Settings, uid: str) -> tuple[str, ...]:
    """Say what one destination lacks, in the file or not, before anything can be sent to it."""

    def has(table: str, key: str) -> bool:
        values = getattr(settings, table)
        return (values.get(key) if isinstance(values, Mapping) else getattr(values, key)) is not None

    return tuple(fault.message for fault in _of_destination(has, (), uid))


def _of_destination(has: Has, path: KeyPath, uid: str) -> Iterator[Fault]:
    scheme, address = split_destination(uid)
    if scheme in WEBHOOKS and not has("webhooks", address):
        yield _fault(path, f"FEEDBELL_WEBHOOKS__{address.upper()}")
    if scheme == "webhook" and not has("secrets", address):
        yield _fault(path, f"FEEDBELL_SECRETS__{address.upper()}")
    if scheme == "slack" and not has("slack", "bot_token"):
        yield _fault(path, "FEEDBELL_SLACK__BOT_TOKEN")
    if scheme in ("discord", "discord-user") and not has("discord", "bot_token"):
        yield _fault(path, "FEEDBELL_DISCORD__BOT_TOKEN")
    if scheme == "email" and has("email", "username") and not has("email", "password"):
        yield _fault(path, "FEEDBELL_EMAIL__PASSWORD")


def _is_right(parse: Callable[[str], str], text: str) -> bool:
    """Tell whether a text names something; what does not is told as that, and may be the secret itself."""
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _fault(path: KeyPath, name: str) -> Fault:
    return Fault(path=path, message=f"its secret isn't set: put {name} into the environment or into a secret file")
