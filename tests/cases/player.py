"""Plays a case: step by step against the process, with the checks where they stand."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import tests.cases.acts_of_chat  # noqa: F401  # its sentences are registered
from tests.cases import acts
from tests.cases.case import Case
from tests.cases.commands import ask, connected
from tests.cases.expected import BESIDE
from tests.cases.judge import judge_answers, judge_posts, judge_total
from tests.cases.platforms import UnknownBehaviour, misbehave, shake_gateway
from tests.cases.posts import Post
from tests.cases.world import World
from tests.servers.faults import Json

# Sentences that only a long-running process can live through; everything else is one `once` for each poll.
LIVE = re.compile(r"two poll intervals|ten minutes|second copy|SIGTERM|/latest|write lock|hold '|try to subscribe")
PATIENCE = 40  # quarters of a second
NIGHT_STEP = timedelta(hours=1)


def is_live(case: Case) -> bool:
    return any(
        step["do"] == "command" or "gateway" in step or LIVE.search(str(step.get("text", ""))) for step in case.steps
    )


class Player:
    def __init__(self, world: World, case: Case) -> None:
        self.world = world
        self.case = case
        self.left_out: list[str] = []  # what could not be done; the test says so
        self._since: dict[str, int] = {}  # how many posts each target had at the last check
        self._requests = 0
        self._after: dict[int, dict[str, int]] = {0: {}}
        self._polled = False
        self._number = 0

    async def play(self) -> None:
        self.world.clock.set(self.case.now)
        for number, step in enumerate(self.case.steps, 1):
            self._number = number
            self.world.answers.clear()
            await getattr(self, f"_{step['do']}")(step)
            await self._judge(number, is_first_poll=step["do"] == "poll" and not self._polled)
            self._polled = self._polled or step["do"] == "poll"
        if self.case.id in BESIDE:
            await BESIDE[self.case.id](self.world)
        for check in self.case.checks:
            judge_total(check, self.world.posts())

    # --- checks --------------------------------------------------------------------------------------------------

    async def _judge(self, number: int, *, is_first_poll: bool) -> None:
        checks = [] if self._is_left_out(number) else self.case.checks_after(number)
        if checks and self.world.live:
            await self._settle(checks)
        for check in checks:
            self._hold_against(check)
        self._after[number] = {name: len(posts) for name, posts in self.world.posts().items()}
        if checks or is_first_poll:
            self._since = self._after[number]
            self._requests = len(self.world.feeds.requests)

    async def _settle(self, checks: list[Json]) -> None:
        """A running process may still be at work on a slow machine: give it time, then look for what comes too much."""
        for _ in range(PATIENCE):
            try:
                for check in checks:
                    self._hold_against(check)
                break
            except AssertionError:
                await asyncio.sleep(0.25)
        await self.world.quiet(0.3)

    def _hold_against(self, check: Json) -> None:
        if self.world.answers:
            judge_answers(check, self.world.answers)
        else:
            judge_posts(check, self._news(check))
        if "max_requests" in check:
            asked = len(self.world.feeds.requests) - self._requests
            assert asked <= check["max_requests"], f"the feed server was asked {asked} times"
        if "outputs_lack" in check:
            self._judge_outputs(check["outputs_lack"])

    def _is_left_out(self, number: int) -> bool:
        return self.case.steps[number - 1].get("text") in self.left_out

    def _news(self, check: Json) -> dict[str, list[Post]]:
        """Return what each target was shown in the time that a check speaks of."""
        scope = re.search(r"steps (\d+) to", check.get("scope", ""))
        since = self._after[int(scope[1]) - 1] if scope else self._since
        return {name: posts[since.get(name, 0) :] for name, posts in self.world.posts().items()}

    def _judge_outputs(self, file: str) -> None:
        strings = [str(value) for value in json.loads(self.case.bytes_of(file)).values()]
        strings += [password for value in strings if (password := urlsplit(value).password)]
        everything = "\n".join([*self.world.outputs, self.world.bot.log])
        assert not [secret for secret in strings if secret in everything]

    # --- steps ---------------------------------------------------------------------------------------------------

    async def _serve(self, step: Json) -> None:
        name, url = step.get("file", ""), step["url"]
        if "http" in step:
            described = json.loads(self.case.bytes_of(step["http"]))
            try:
                name = self.world.feeds.behave(urlsplit(self.world.here(url)).path, described) or ""
            except KeyError:
                self.left_out.append(step["http"])
                return
            if not name:
                return
        body = self.case.bytes_of(name) if name else step.get("body", "").encode()
        self.world.serve(url, body, name, step)

    async def _subscribe(self, step: Json) -> None:
        self.world.subscribe(step["url"], step["tag"], step["to"])
        if self.world.bot.is_running:
            await self.world.restart("stop")

    async def _poll(self, step: Json) -> None:
        for _ in range(step.get("times", 1)):
            await self.world.poll()

    async def _restart(self, step: Json) -> None:
        await self.world.restart(step["how"])

    async def _platform(self, step: Json) -> None:
        if "gateway" in step:
            await connected(self.world)
            await shake_gateway(self.world, step["gateway"])
            return
        described = step["behaviour"]
        if described.endswith(".json"):
            described = json.loads(self.case.bytes_of(described))
        try:
            await misbehave(self.world, step["target"], described)
        except UnknownBehaviour as unknown:
            self.left_out.append(str(unknown))

    async def _clock(self, step: Json) -> None:
        span = re.fullmatch(r"run from (\S+) to (\S+)", step["to"])
        if not span:
            self.world.clock.set(datetime.fromisoformat(step["to"]))
            return
        start, end = map(datetime.fromisoformat, span.groups())
        self.world.clock.set(start)
        await self.world.start()
        moment = start
        while moment < end:
            moment += NIGHT_STEP
            asked = len(self.world.feeds.requests)
            self.world.clock.set(moment)
            # Each hour brings a poll; no hour may pass in the middle of one, or of a mail.
            await self.world.until(lambda asked=asked: len(self.world.feeds.requests) > asked, seconds=2)  # type: ignore[misc]
            await self.world.quiet(0.15)
        await self.world.quiet()
        await self.world.restart("stop")

    async def _command(self, step: Json) -> None:
        if not step["text"].startswith("/"):
            # The chat of a platform that refuses us can't be asked; the operator has another way.
            done = await self.world.bot.call("status")
            self.world.outputs += [done.out, done.err]
            return
        answer = await ask(self.world, step["target"], step["text"])
        self.world.answers.append(answer.text)
        for check in self.case.checks_after(self._number):
            if "first_response_ms" in check:
                assert answer.first_ms <= check["first_response_ms"], f"{answer.first_ms} ms"
            if "answers" in check:
                assert len(answer.texts) == check["answers"], answer.texts

    async def _act(self, step: Json) -> None:
        try:
            await acts.perform(self.world, self.case, step["text"])
        except acts.UnknownAct as unknown:
            self.left_out.append(str(unknown))


async def play(case: Case, folder: Path) -> list[str]:
    """Play a case in an empty folder; return what had to be left out.

    What goes wrong after something was left out proves nothing: it is told beside it.
    """
    async with World(folder, live=is_live(case)) as world:
        player = Player(world, case)
        try:
            await player.play()
            judge_manners(world)
        except AssertionError as error:
            if not player.left_out:
                raise
            player.left_out.append(f"and then {error}")
    return player.left_out


def judge_manners(world: World) -> None:
    """What holds for every case: nobody is pinged, no service's own rules are broken, nothing inside is reached."""
    faults = {server.name: server.violations for server in (world.slack, world.discord, world.smtp)}
    assert not any(faults.values()), f"against the services' own rules: {faults}"
    assert not world.intrusions, "an inside address was reached"
    assert not world.slack.pings + world.discord.pings, "somebody was pinged"
