"""Every command, once: what it is called, what it takes, who may use it, and what it does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import Enum

from bot.core.model.message import Bullets, Text
from bot.services.commands import changing, following, reading
from bot.services.commands.asking import Answer, Asked
from bot.services.commands.desk import Desk, Reading


class Kind(Enum):
    """What an option holds, for platforms that have fields to fill in."""

    WORDS = "words"
    COUNT = "count"
    FLAG = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One field; `key` is how the text says it (`count:3`), "" for what just stands there."""

    name: str
    summary: str
    kind: Kind = Kind.WORDS
    key: str = ""
    required: bool = False
    completes: str = ""  # "tags" or "feeds"


Run = Callable[[Desk, Asked], Awaitable[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    name: str
    usage: str
    summary: str
    run: Run
    options: tuple[Option, ...] = ()
    for_admins: bool = False
    for_people: bool = False  # no bot may use it
    longest: int = 200  # characters of the text (T20)


def _look(answer: Callable[[Desk, Reading, Asked], Answer]) -> Run:
    async def run(desk: Desk, asked: Asked) -> Answer:
        return await desk.store.consult(lambda reading: answer(desk, reading, asked))

    return run


async def help_(desk: Desk, asked: Asked) -> Answer:
    is_admin = desk.is_admin(asked.who)
    shown = [command for command in COMMANDS.values() if is_admin or not command.for_admins]
    lines = tuple((Text(text=command.usage, code=True), Text(text=f" {command.summary}")) for command in shown)
    more = "" if is_admin else "Feeds are added, removed and paused by those whom the configuration names in admins."
    message = desk.say("Answers are only for you, unless you say public to /latest.", blocks=(Bullets(items=lines),))
    return Answer(message=message, hint=more)


_TAG = Option(name="tag", summary="A tag, spelled as you like", completes="tags")
_FEED = Option(name="feed", summary="A feed's name", completes="feeds")
_LATEST = (
    _TAG,
    Option(name="count", summary="How many posts, 1 to 10", kind=Kind.COUNT, key="count"),
    Option(name="feed", summary="Only from this feed", key="feed", completes="feeds"),
    Option(name="public", summary="Show the answer to the channel", kind=Kind.FLAG, key="public"),
)
_THE_TAG = (replace(_TAG, required=True),)
_THE_FEED = (replace(_FEED, required=True),)

_ALL = (
    Command(
        name="latest",
        usage="/latest [TAG] [COUNT] [public]",
        summary="the newest post, or the newest with a tag or from a feed",
        run=_look(reading.latest),
        options=_LATEST,
    ),
    Command(name="tags", usage="/feedbell tags", summary="every tag and how often it is used", run=_look(reading.tags)),
    Command(name="feeds", usage="/feedbell feeds", summary="the feeds and how they are", run=_look(reading.feeds)),
    Command(
        name="search",
        usage="/feedbell search WORDS",
        summary="posts that hold every word",
        run=_look(reading.search),
        options=(Option(name="words", summary="What title, text or tags must hold", required=True),),
    ),
    Command(
        name="follow",
        usage="/feedbell follow TAG",
        summary="a direct message for each new post with that tag",
        run=following.follow,
        options=_THE_TAG,
        for_people=True,
    ),
    Command(
        name="unfollow",
        usage="/feedbell unfollow TAG",
        summary="no more of them",
        run=following.unfollow,
        options=_THE_TAG,
        for_people=True,
    ),
    Command(
        name="following",
        usage="/feedbell following",
        summary="the tags that you follow",
        run=_look(following.following),
        for_people=True,
    ),
    Command(name="status", usage="/feedbell status", summary="whether all is well", run=_look(reading.status)),
    Command(
        name="add",
        usage="/feedbell add URL [TAGS]",
        summary="deliver a feed to this channel, or only its posts with one of the tags",
        run=changing.add,
        options=(
            Option(name="url", summary="The feed's address, or its site's", required=True),
            Option(name="tags", summary="Only posts with one of these tags"),
        ),
        for_admins=True,
        longest=1_500,
    ),
    Command(
        name="remove",
        usage="/feedbell remove FEED",
        summary="a feed that was added in chat",
        run=changing.remove,
        options=_THE_FEED,
        for_admins=True,
    ),
    Command(
        name="pause",
        usage="/feedbell pause FEED",
        summary="do not read a feed for now",
        run=changing.pause,
        options=_THE_FEED,
        for_admins=True,
    ),
    Command(
        name="resume",
        usage="/feedbell resume FEED",
        summary="read it again",
        run=changing.resume,
        options=_THE_FEED,
        for_admins=True,
    ),
    Command(name="help", usage="/feedbell help", summary="this list", run=help_),
)
COMMANDS: dict[str, Command] = {command.name: command for command in _ALL}
