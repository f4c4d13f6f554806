"""People of a case who type commands."""

from __future__ import annotations

from importlib.util import find_spec

from tests.cases.world import World
from tests.servers.faults import Json


async def is_served(world: World) -> bool:
    return find_spec("bot.chat.commands") is not None


async def ask(world: World, step: Json) -> None:
    raise NotImplementedError
