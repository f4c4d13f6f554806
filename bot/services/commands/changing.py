"""Commands that change what everybody gets: add, remove, pause, resume. Only for admins; each leaves an audit line."""

import re
from collections.abc import Sequence
from datetime import timedelta

from bot.core.errors import UsageError
from bot.core.identity import canonical_url
from bot.core.lint import propose_id
from bot.core.model.feed import Feed, FeedId, FeedState
from bot.core.render import render_list
from bot.core.tags import fold, unique_tags
from bot.core.text.characters import one_line
from bot.core.text.links import http_url
from bot.services.commands.asking import Answer, Asked, Button
from bot.services.commands.desk import Desk, echo, listed
from bot.services.commands.discovery import Found, discover, newest

# One text and at least this long for whatever goes wrong: else `add` would tell what stands in our network (T4).
NO_FEED = "no feed can be read at that address"
FAILED_AFTER = timedelta(seconds=2)
MAX_TAGS = 20
_WORD = re.compile(r"\"([^\"]*)\"|“([^”“]*)[”“]|([^\s,]+)")


async def add(desk: Desk, asked: Asked) -> Answer:
    url, tags, is_sure = _read_add(asked.text)
    started = desk.clock.monotonic()
    found = await discover(url, pages=desk.pages, parser=desk.parser)
    if found is None:
        passed = timedelta(seconds=desk.clock.monotonic() - started)
        await desk.clock.sleep(max(FAILED_AFTER - passed, timedelta(0)))
        raise UsageError(NO_FEED)
    states = await desk.store.feeds()
    same = next((state for state in states if _is_same(state, found.url)), None)
    if same is not None:
        raise UsageError(f"that feed is here already, as {same.feed.id}")
    taken = [state.feed.id for state in states]
    if not is_sure:
        return _preview(desk, asked, found, tags, taken)
    return await _add(desk, asked, found, tags, taken)


def _preview(desk: Desk, asked: Asked, found: Found, tags: Sequence[str], taken: Sequence[str]) -> Answer:
    feed = _feed(found, taken)
    entry = newest(found, feed, clock=desk.clock)
    typed = " ".join((found.url, *(_quoted(tag) for tag in tags), "confirm"))
    lines = (
        f"{one_line(found.parsed.title) or found.url} would be added as {feed.id} and delivered {_where(asked)}, "
        + (f"only posts tagged {listed(tags)}" if tags else "every new post")
        + ", beginning with the next one.",
        f"To confirm, press the button or type: /feedbell add {typed}",
        "This is its newest post:" if entry else "It has no post yet.",
    )
    message = render_list(
        [entry] if entry else [], timezone=desk.timezone(), now=desk.clock.now(), words="\n".join(lines)
    )
    return Answer(message=message, buttons=(Button(label="Confirm", name="add", text=typed, is_main=True),))


async def _add(desk: Desk, asked: Asked, found: Found, tags: Sequence[str], taken: Sequence[str]) -> Answer:
    used = list(taken)
    for _ in range(3):  # somebody else may take the proposed name meanwhile
        feed = _feed(found, used)
        now = desk.clock.now()
        if await desk.store.add_chat_feed(feed, asked.who.place, tags, who=asked.who.id, now=now):
            desk.wake()
            return desk.tell(f"added as {feed.id}; each new post comes {_where(asked)}")
        used.append(feed.id)
    raise UsageError("somebody is adding feeds at the same moment; try again")


async def remove(desk: Desk, asked: Asked) -> Answer:
    state = await _feed_named(desk, asked, "remove")
    if not await desk.store.remove_chat_feed(state.feed.id, who=asked.who.id, now=desk.clock.now()):
        raise UsageError(f"{state.feed.id} is in the configuration file; it can only be removed there")
    desk.wake()
    return desk.tell(f"{state.feed.id} is removed and not read any more")


async def pause(desk: Desk, asked: Asked) -> Answer:
    state = await _feed_named(desk, asked, "pause")
    if not await desk.store.pause_feed(state.feed.id, who=asked.who.id, now=desk.clock.now()):
        return desk.tell(f"{state.feed.id} is paused already")
    button = Button(label="Resume", name="resume", text=str(state.feed.id))
    return Answer(message=desk.say(f"{state.feed.id} is paused: it is not read until you resume it"), buttons=(button,))


async def resume(desk: Desk, asked: Asked) -> Answer:
    state = await _feed_named(desk, asked, "resume")
    if not await desk.store.resume_feed(state.feed.id, who=asked.who.id, now=desk.clock.now()):
        return desk.tell(f"{state.feed.id} is not paused")
    desk.wake()
    return desk.tell(f"{state.feed.id} is read again")


def _read_add(text: str) -> tuple[str, tuple[str, ...], bool]:
    """Return the address, the tags, and whether the last word is "confirm"."""
    words = [one_line(next(filter(None, found.groups()), "")) for found in _WORD.finditer(text)]
    words = [word for word in words if word]
    if not words:
        raise UsageError("add which feed? /feedbell add URL [tags]")
    is_sure = len(words) > 1 and words[-1].casefold() == "confirm"
    tags = unique_tags(words[1 : -1 if is_sure else None])
    if len(tags) > MAX_TAGS:
        raise UsageError(f"{MAX_TAGS} tags at most")
    # Slack may send an address as <https://…|as typed>.
    typed = words[0].strip("<>").partition("|")[0]
    address = typed if "://" in typed else f"https://{typed}"
    if "@" in re.split(r"[/?#]", address.partition("://")[2])[0]:
        # Not repeated: it may be a password.
        raise UsageError("a web address with a name or password is for the configuration file, as [feeds.auth]")
    url = http_url(address)
    if url is None or not re.search(r"[.:\[]", url.partition("://")[2].partition("/")[0]):
        raise UsageError(f"{echo(words[0])} is no web address; it looks like https://example.org/feed.xml")
    return url, tags, is_sure


async def _feed_named(desk: Desk, asked: Asked, command: str) -> FeedState:
    name = one_line(asked.text).strip("\"'“”")
    states = await desk.store.feeds()
    ids = ", ".join(sorted(state.feed.id for state in states)) or "none"
    if not name:
        raise UsageError(f"{command} which feed? feeds: {ids}")
    found = [state for state in states if state.feed.id == name]
    found = found or [state for state in states if fold(state.feed.id) == fold(name)]
    if len(found) != 1:
        raise UsageError(f'no feed "{echo(name)}"; feeds: {ids}')
    return found[0]


def _is_same(state: FeedState, url: str) -> bool:
    return canonical_url(url) in {canonical_url(known) for known in (state.feed.url, state.memory.moved_to) if known}


def _feed(found: Found, taken: Sequence[str]) -> Feed:
    name = propose_id(found.parsed.title, found.url, taken=taken)
    return Feed(id=FeedId(name), url=found.url, from_chat=True)


def _where(asked: Asked) -> str:
    return "to you, as a direct message" if asked.who.is_direct else "to this channel"


def _quoted(tag: str) -> str:
    return f'"{tag}"' if re.search(r"[\s,]", tag) else tag
