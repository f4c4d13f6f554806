"""What a case says of Slack, Discord and SMTP, done by the strict local servers.

The limits that some cases describe are not copied from their files: those servers enforce them in any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tests.cases.world import World
from tests.servers.faults import Fault, Json

SECONDS = 0.4  # of the case's second: two seconds a post are as slow at 0.8
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}


class UnknownBehaviour(Exception):
    """The case asks for something that nobody has taught the servers."""


async def misbehave(world: World, target: str, described: object) -> None:
    """Let a platform behave as described, in words or by the content of a JSON file."""
    if target == "slack" and isinstance(described, str):
        _slow(world, described)
    elif target == "slack" and isinstance(described, dict):
        _refuse_channels(world, described["chat.postMessage"])
    elif target == "smtp" and isinstance(described, dict):
        world.smtp.faults.add(*_sessions(described["sessions"]))
    elif not (target == "discord" and isinstance(described, dict) and _is_limits(described)):
        raise UnknownBehaviour(f"{target}: {described}")


async def shake_gateway(world: World, words: str) -> None:
    """Drop Discord's gateway sessions so that the client must identify again, as often as the words say."""
    if "op 9" not in words:
        raise UnknownBehaviour(words)
    times = next((number for word, number in NUMBERS.items() if re.search(rf"\b{word} times", words)), 1)
    for _ in range(times):
        await world.discord.gateway.wait_ready()
        await world.discord.gateway.invalidate()
    await world.discord.gateway.wait_ready()


def _slow(world: World, words: str) -> None:
    found = re.fullmatch(r"answer each post after (\w+) seconds", words)
    if not found:
        raise UnknownBehaviour(words)
    world.slack.faults.add(
        Fault(kind="delay", match="chat.postMessage", seconds=NUMBERS[found[1]] * SECONDS, times=None)
    )


def _refuse_channels(world: World, rules: Iterable[Json]) -> None:
    for rule in rules:
        if "if_channel" not in rule:
            continue
        name, error = rule["if_channel"].lstrip("#"), rule["reply"]["json"]["error"]
        channel = next(channel for channel in world.slack.team.channels.values() if channel.name == name)
        if error == "is_archived":
            channel.archived = True
        elif error == "channel_not_found":
            del world.slack.team.channels[channel.id]
        else:
            raise UnknownBehaviour(str(rule))


def _is_limits(described: Json) -> bool:
    rules = [rule for rules in described.values() for rule in rules]
    return all("if" in rule or rule.get("else") for rule in rules)


def _sessions(sessions: Iterable[Json]) -> list[Fault]:
    """Turn "after so many mails, this" into faults; each knows only the mails that no earlier fault struck."""
    faults, mails, accepted = [], 0, 0
    for session in sessions:
        count = session.get("accept", 0)
        if count == "all":
            break
        mails += count
        accepted += count
        if "451" in session.get("rcpt", ""):
            faults.append(Fault(kind="status", match="RCPT", status=451, body="4.3.0 try again later", skip=accepted))
        elif "421" in session["then"]:
            faults.append(Fault(kind="status", match="MAIL", status=421, body="4.7.0 too many messages", skip=mails))
        else:
            faults.append(Fault(kind="fin", match="MAIL", skip=mails))
    return faults
