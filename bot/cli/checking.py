"""`check`, `preview`, `send-test`, `inspect`: before anything goes live."""

import asyncio
import os

import click

from bot.cli.loading import config_option, config_path, settings_of
from bot.cli.output import print_json, say
from bot.clock import SystemClock
from bot.config.load import load, missing_secrets
from bot.config.settings import Settings
from bot.core.errors import ConfigError
from bot.core.model.delivery import DeliveryKind
from bot.core.text.amounts import amount


@click.command()
@click.option("--online", is_flag=True, help="Also try each feed, token, channel and mail server.")
@config_option
def check(online: bool, config: str | None) -> int:
    """Every mistake in the configuration at once, each with file, line, key, and what is allowed."""
    from bot.app.templating import load_templates

    settings = load(config_path(config), os.environ, with_secrets=True)
    for warning in settings.warnings:
        say(str(warning), err=True)
    missing = missing_secrets(settings)
    try:
        load_templates(settings)
    except ConfigError as error:
        raise ConfigError((*missing, *error.problems)) from error
    if missing:
        raise ConfigError(missing)
    hint = "" if settings.routes else "; without [[routes]] new entries are told to nobody"
    say(f"configuration: ok ({amount(len(settings.feeds), 'feed')}, {amount(len(settings.routes), 'route')}){hint}")
    return asyncio.run(_check_online(settings)) if online else 0


async def _check_online(settings: Settings) -> int:
    from bot.app.trying import try_everything

    failed = 0
    async for each in try_everything(settings, SystemClock()):
        failed += not each.ok
        say(f"{each.what}: {'ok' if each.ok else 'error'}: {each.words}", err=not each.ok)
    return 1 if failed else 0


@click.command()
@click.option("--feed", metavar="F", help="The feed whose newest entry is shown (default: the newest of all).")
@click.option("--to", metavar="D", help="One destination (default: all that the routes name).")
@click.option("--guid", metavar="G", help="This entry: its guid, link or key.")
@click.option("--digest", "kind", flag_value="digest", help="A digest of the newest entries.")
@click.option("--edit", "kind", flag_value="edit", help="What a change of the entry would send.")
@click.option("--json", "as_json", is_flag=True, help="The payload itself.")
@config_option
def preview(
    feed: str | None, to: str | None, guid: str | None, kind: str | None, as_json: bool, config: str | None
) -> None:
    """Exactly what would be sent, from the production renderer."""
    from bot.app.previewing import Subject
    from bot.app.previewing import preview as payloads_of
    from bot.cli.showing import show

    subject = Subject(feed=feed, to=to, guid=guid, kind=DeliveryKind(kind or "entry"))
    payloads = asyncio.run(payloads_of(settings_of(config), SystemClock(), subject))
    if as_json:
        shown = [dict(payload) for payload in payloads.values()]
        print_json(shown[0] if len(shown) == 1 else {uid: dict(payload) for uid, payload in payloads.items()})
    else:
        show(payloads)


@click.command("send-test")
@click.argument("destination", metavar="DESTINATION")
@config_option
def send_test(destination: str, config: str | None) -> None:
    """A test message to one destination."""
    from bot.app.trying import send_test as send

    asyncio.run(send(settings_of(config), SystemClock(), destination))
    say(f"sent to {destination}")
