"""`import`: feeds, and what was told already, from another bot's state. It never changes that state."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from bot.cli.feeds import settings_or_none
from bot.cli.loading import ask, config_option, config_path
from bot.cli.output import named_files, say
from bot.core.errors import UsageError
from bot.core.lint import feed_block, propose_id
from bot.core.otherbots import READERS, OtherFeed
from bot.core.text.amounts import amount
from bot.store.store import Store

MAX_FILE = 50_000_000  # bytes
SUFFIXES = (".json", ".cfg", ".yml", ".yaml", ".jsonl")


@click.command("import")
@click.argument("bot", type=click.Choice(sorted(READERS)))
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@config_option
def import_(bot: str, path: Path, config: str | None) -> None:
    """Print [[feeds]] blocks to append to the configuration; what that bot has told already does not come twice."""
    with named_files():
        texts = _texts(path)
    feeds = READERS[bot](texts)
    settings = settings_or_none(config)
    ids = {feed.url: feed.id for feed in settings.feeds}
    taken, blocks = list(ids.values()), []
    for feed in feeds:
        if feed.url not in ids:
            ids[feed.url] = propose_id(feed.title, feed.url, taken=taken)
            taken.append(ids[feed.url])
            blocks.append(feed_block(ids[feed.url], feed.url, title=feed.title))
    told = [(ids[feed.url], feed) for feed in feeds if feed.told]
    ask(settings, lambda store: _remember(store, told))
    if blocks:
        say("\n".join(blocks))
    rest = f"append this to {config_path(config)} and keep the ids" if blocks else "nothing to append"
    known = amount(sum(len(feed.told) for _, feed in told), "entry is", "entries are")
    say(f"{amount(len(blocks), 'feed')}; {rest}: {known} known", err=True)


async def _remember(store: Store, told: Sequence[tuple[str, OtherFeed]]) -> None:
    for feed_id, feed in told:
        before = await store.meta(f"told|{feed_id}")  # two bots may have told of one feed
        both = feed.told.union(json.loads(before or "[]"))
        await store.put_meta(f"told|{feed_id}", json.dumps(sorted(both)))


def _texts(path: Path) -> dict[str, str]:
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES)
    texts = {}
    for file in files:
        if file.stat().st_size > MAX_FILE:
            raise UsageError(f"{file} is too large for a bot's state")
        texts[file.name] = file.read_text(encoding="utf-8-sig", errors="replace")
    return texts
