"""The one door for what people type: limits, rights, then the command itself."""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta, tzinfo
from math import ceil

from bot.core.errors import FeedbellError, StoreError, UsageError
from bot.core.model.route import Route
from bot.core.tags import fold, nearest
from bot.core.text.amounts import amount
from bot.core.text.characters import one_line
from bot.ports import Clock, Parser, WakeUp
from bot.services.commands.asking import Answer, Asked, Who
from bot.services.commands.desk import CommandStore, Desk, Reading, echo
from bot.services.commands.limits import COMPLETIONS, PER_PLACE, PER_USER, Limits
from bot.services.commands.registry import COMMANDS, Command
from bot.services.discovery import PageFetcher

log = logging.getLogger(__name__)

CHOICES = 25  # of an autocomplete; Discord takes no more
CHOICE = 100  # characters of one
WORDS = 200  # characters that are looked at


class Commands:
    """Answers whatever is asked. What goes wrong is told to the person who asked, in words."""

    def __init__(
        self,
        *,
        store: CommandStore,
        clock: Clock,
        routes: Callable[[], Sequence[Route]],
        pages: PageFetcher,
        parser: Parser,
        wake: WakeUp,
        admins: Callable[[], Collection[str]],
        timezone: Callable[[], tzinfo],
    ) -> None:
        """`routes` of the file, `admins` and `timezone` are asked each time: a reload may change them."""
        self._desk = Desk(
            store=store,
            clock=clock,
            routes=routes,
            pages=pages,
            parser=parser,
            wake=wake,
            admins=admins,
            timezone=timezone,
        )
        self._users = Limits(most=PER_USER)
        self._places = Limits(most=PER_PLACE)
        self._completions = Limits(most=COMPLETIONS)

    async def answer(self, asked: Asked) -> Answer:
        """Answer a command. Nothing that a person types or the store does makes this raise."""
        asked = replace(asked, name=_storable(asked.name), text=_storable(asked.text))
        try:
            self._limit(asked.who)
            command = _find(asked)
            self._allow(command, asked)
            return await command.run(self._desk, asked)
        except UsageError as error:
            return self._desk.tell(str(error))
        except StoreError as error:
            log.warning("command failed", extra={"command": asked.name, "error": str(error)})
            return self._desk.tell("the bot can't reach its memory right now; try again in a minute")
        except FeedbellError as error:
            log.warning("command failed", extra={"command": asked.name, "error": str(error)})
            return self._desk.tell("that did not work; try again in a minute")

    async def complete_tags(self, prefix: str, who: Who) -> Sequence[str]:
        """Return at most 25 tags that begin with, hold or resemble what is typed so far."""
        if not self._may_complete(who):
            return ()

        def look(reading: Reading) -> list[str]:
            return [one_line(name) for name, _ in self._desk.scope(reading, who).tags()]

        try:
            return _choices(_storable(prefix), await self._desk.store.consult(look))
        except StoreError:
            return ()

    async def complete_feeds(self, prefix: str, who: Who) -> Sequence[str]:
        """Return at most 25 feeds' ids, likewise."""
        if not self._may_complete(who):
            return ()
        try:
            ids = await self._desk.store.consult(lambda reading: self._desk.scope(reading, who).feed_ids())
        except StoreError:
            return ()
        return _choices(_storable(prefix), ids)

    def _may_complete(self, who: Who) -> bool:
        now = self._desk.clock.monotonic()
        if self._completions.wait(who.id, now) is not None:
            return False
        self._completions.count(who.id, now)
        return True

    def _limit(self, who: Who) -> None:
        now = self._desk.clock.monotonic()
        waits = (self._users.wait(who.id, now), self._places.wait(who.place, now))
        longest = max((wait for wait in waits if wait is not None), default=None)
        if longest is not None:
            seconds = max(1, ceil(longest / timedelta(seconds=1)))
            raise UsageError(f"that is a lot at once; try again in {amount(seconds, 'second')}")
        self._users.count(who.id, now)
        self._places.count(who.place, now)

    def _allow(self, command: Command, asked: Asked) -> None:
        if len(asked.text) > command.longest:
            raise UsageError(f"that is too long: {command.longest} characters at most")
        if asked.who.is_bot and (command.for_admins or command.for_people):
            raise UsageError(f"{command.name} is for people, not for bots")
        if command.for_admins and not self._desk.is_admin(asked.who):
            raise UsageError(
                f"only people in admins of the configuration may {command.name} feeds; your id is {asked.who.id}"
            )


def _storable(text: str) -> str:
    """Return `text` without what no database takes: NUL, and surrogates that stand alone."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _find(asked: Asked) -> Command:
    name = one_line(asked.name).casefold().lstrip("/")
    command = COMMANDS.get(name)
    if command is None:
        near = nearest(name[:WORDS], COMMANDS)
        meant = f" did you mean {' or '.join(near)}?" if near else ""
        raise UsageError(f"no command {echo(asked.name)};{meant} commands: {', '.join(COMMANDS)}")
    return command


def _choices(prefix: str, names: Sequence[str]) -> Sequence[str]:
    """Those that begin with it, then those that hold it, then those that look alike."""
    typed = fold(prefix[:WORDS])
    folded = {name: fold(name) for name in names if 0 < len(name) <= CHOICE}
    begin = [name for name, form in folded.items() if form.startswith(typed)]
    hold = [name for name, form in folded.items() if typed in form]
    alike = nearest(prefix[:WORDS], folded) if not (begin or hold) else ()
    return tuple(dict.fromkeys((*begin, *hold, *alike)))[:CHOICES]
