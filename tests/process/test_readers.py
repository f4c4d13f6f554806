"""What a route's template and a mail's reader ask for, by the real process."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import ClientSession

from tests.cases.world import World
from tests.process.test_seed_vectors import NOW, PART_1, PART_2, ROUTER_ADVERTISEMENTS, URL, WHOLE, without

MAIL = "email:reader@example.org"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(tmp_path, live=False) as world:
        world.clock.set(NOW)
        world.sections["http"]["public_url"] = "https://bell.example.org"
        yield world


async def poll(world: World, document: bytes) -> None:
    world.serve(URL, document, "index.xml", {})
    world.clock.move(timedelta(minutes=15))
    await world.once()


def titles(world: World, name: str) -> list[str]:
    return [post.title for post in world.posts()[name]]


async def test_one_click_ends_a_feeds_mails_and_resume_undoes_it(world: World) -> None:
    world.subscribe(URL, "", ["slack:#news", MAIL])
    await poll(world, without(PART_1, PART_2, ROUTER_ADVERTISEMENTS))
    await poll(world, without(PART_1, PART_2))
    (mail,) = world.smtp.to("reader@example.org")
    token = re.search(r"List-Unsubscribe: <https://bell\.example\.org/unsubscribe/([\w-]+)>", mail.raw.decode("ascii"))
    assert token is not None
    await world.start()
    address = f"http://127.0.0.1:{world.port}/unsubscribe/{token[1]}"
    async with ClientSession() as session:
        assert (await session.get(address)).status == 200
        assert (await session.post(address[:-4] + "AAAA")).status == 404
        assert (await session.post(address, data={"List-Unsubscribe": "One-Click"})).status == 200
    assert await world.bot.stop() == 0
    await poll(world, without(PART_2))
    assert titles(world, "slack:#news") == [ROUTER_ADVERTISEMENTS, PART_1]
    assert titles(world, MAIL) == [ROUTER_ADVERTISEMENTS]
    assert (await world.bot.call("resume", MAIL)).code == 0
    await poll(world, WHOLE)
    assert titles(world, MAIL) == [ROUTER_ADVERTISEMENTS, PART_2]


async def test_a_template_lays_out_what_is_sent_and_its_mistakes_are_told_before(world: World) -> None:
    world.subscribe(URL, "", [MAIL])
    world.routes[0]["template"] = "short.j2"
    template = world.folder / "short.j2"
    template.write_text("New:\n{{ title | upper }}\n{{ nope }}", encoding="utf-8")
    world.configure()
    for command in ("check", "once"):
        done = await world.bot.call(command)
        assert (done.code, f"{template}:3:1: error: 'nope' is undefined" in done.err) == (78, True), done.err
    template.write_text("New:\n{{ title | upper }}", encoding="utf-8")
    await poll(world, without(PART_2))
    await poll(world, WHOLE)
    (mail,) = world.smtp.to("reader@example.org")
    assert mail.body("plain").splitlines()[:2] == ["New:", PART_2.upper()]
