"""Commands for direct messages: follow, unfollow, following. They go the way of every delivery (small print 22)."""

from collections.abc import Iterable, Sequence

from bot.core.errors import UsageError
from bot.core.query import spoken_tag
from bot.core.tags import fold, fold_all, nearest
from bot.core.text.characters import one_line
from bot.services.commands.asking import Answer, Asked, Button
from bot.services.commands.desk import Desk, Reading, echo, in_order, listed

MOST = 50  # tags that one person may follow
MAX_TAG = 100  # characters


async def follow(desk: Desk, asked: Asked) -> Answer:
    text = _tag_text(asked, "follow")

    def look(reading: Reading) -> tuple[list[str], Sequence[str]]:
        return in_order(desk.scope(reading, asked.who).tags()), reading.follows_of(asked.who.dm)

    names, followed = await desk.store.consult(look)
    typed = spoken_tag(text, fold_all(names).__contains__)
    known = next((name for name in names if fold(name) == fold(typed)), None)
    tag = known or typed.removeprefix("#")
    if fold(tag) in fold_all(followed):
        return desk.tell(f"you follow {tag} already")
    if len(followed) >= MOST:
        raise UsageError(f"you follow {MOST} tags, which is the most; unfollow one first")
    await desk.store.add_follow(asked.who.dm, tag, now=desk.clock.now())
    desk.wake()
    lines = [f"you follow {tag}: each new post with that tag comes to you as a direct message"]
    if known is None:
        near = nearest(tag, names)
        lines.append("No post has that tag yet." + (f" Did you mean {' or '.join(near)}?" if near else ""))
    return Answer(message=desk.say(*lines), buttons=(Button(label="Unfollow", name="unfollow", text=tag),))


async def unfollow(desk: Desk, asked: Asked) -> Answer:
    text = _tag_text(asked, "unfollow")
    followed = await desk.store.consult(lambda reading: reading.follows_of(asked.who.dm))
    tag = spoken_tag(text, fold_all(followed).__contains__)
    if await desk.store.remove_follow(asked.who.dm, tag):
        desk.wake()
        return desk.tell(f"you follow {tag} no more")
    return desk.tell(f"you do not follow {tag}; {_followed(followed)}")


def following(desk: Desk, reading: Reading, asked: Asked) -> Answer:
    return desk.tell(_followed(reading.follows_of(asked.who.dm)))


def _followed(tags: Iterable[str]) -> str:
    names = sorted(map(echo, tags), key=fold)
    return f"you follow: {listed(names)}" if names else "you follow no tag; /feedbell follow TAG"


def _tag_text(asked: Asked, command: str) -> str:
    text = one_line(asked.text)
    if text[:4].casefold() == "tag:":
        text = text[4:].strip()
    if not fold(spoken_tag(text, lambda _: False)):
        raise UsageError(f"{command} which tag? /feedbell {command} TAG")
    if len(text) > MAX_TAG:
        raise UsageError(f"a tag has {MAX_TAG} characters at most")
    return text
