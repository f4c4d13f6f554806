"""What a case tells in a sentence, for a person or a harness: here each is a small function, found by the sentence."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta

from tests.cases.case import Case
from tests.cases.platforms import SECONDS
from tests.cases.world import HOST, INTERVAL, World, free_port
from tests.servers.certificates import Certificates
from tests.servers.faults import Fault
from tests.servers.feeds import FeedServer

Act = Callable[[World, Case], Awaitable[None]]
ACTS: list[tuple[re.Pattern[str], Act]] = []
LOCK_SECONDS = 2.0  # each of the times that the lock is held


class UnknownAct(Exception):
    """The case asks for something that nobody has taught the runner."""


def act(sentence: str) -> Callable[[Act], Act]:
    """Register a function for sentences that begin so."""

    def register(function: Act) -> Act:
        ACTS.append((re.compile(sentence), function))
        return function

    return register


async def perform(world: World, case: Case, sentence: str) -> None:
    for pattern, function in ACTS:
        if pattern.match(sentence):
            await function(world, case)
            return
    raise UnknownAct(sentence)


@act("publish after.xml under the same rule")
async def publish_after(world: World, case: Case) -> None:
    url = next(step["url"] for step in case.steps if "http" in step)
    world.serve(url, case.bytes_of("after.xml"), "after.xml", {})


@act("subscribe the feeds listed in neighbours.json")
async def subscribe_neighbours(world: World, case: Case) -> None:
    to = next(step["to"] for step in case.steps if step["do"] == "subscribe")
    for neighbour in case.json_of("neighbours.json"):  # type: ignore[attr-defined]
        await _misbehave(world, neighbour["url"], neighbour["behaviour"])
        world.subscribe(neighbour["url"], "news", to)


async def _misbehave(world: World, url: str, behaviour: str) -> None:
    host = url.split("/")[2]
    if "certificate" in behaviour:
        kind = "expired" if "expired" in behaviour else "unknown"
        server = FeedServer(clock=world.clock, tls=Certificates().server_context(kind))
        world.hosts[host] = (await world.enter(server)).url
    elif "resolve" in behaviour:
        world.hosts[host] = "http://nowhere.invalid"
    elif "refused" in behaviour:
        world.hosts[host] = f"http://127.0.0.1:{free_port()}"
    elif "random bytes" in behaviour:
        noise = bytes((number * number * 31 + number // 7) % 256 for number in range(4096))
        world.serve(url, noise, "noise.xml", {})
    else:
        world.serve(url, b"", "void.xml", {})
        path = url.removeprefix(f"http://{HOST}")
        world.feeds.faults.add(Fault(kind="fin", match=path, store=True, at=40, every=2, skip=1, times=None))


@act("configure a daily e-mail digest")
async def configure_digest(world: World, case: Case) -> None:
    world.top["timezone"] = "Europe/Berlin"


@act("wait ten minutes")
async def wait_ten_minutes(world: World, case: Case) -> None:
    for _ in range(10):
        world.clock.move(timedelta(minutes=1))
        await asyncio.sleep(0.2)
    await world.quiet()


@act("wait two poll intervals")
async def wait_two_intervals(world: World, case: Case) -> None:
    for _ in range(2):
        world.clock.move(INTERVAL * 1.15)
        await world.quiet()


@act("start a second copy of the program")
async def start_second_copy(world: World, case: Case) -> None:
    second = await world.bot.call("run", seconds=20)
    world.outputs.append(second.err)
    assert second.code == 75, f"{second.code}: {second.err}"
    assert "lock" in second.err, second.err
    assert str(world.bot.pid) in second.err, second.err


@act("let both run for three poll intervals")
async def run_three_intervals(world: World, case: Case) -> None:
    for _ in range(3):
        await world.poll()


@act("stop the first copy; publish after2.xml")
async def start_again_alone(world: World, case: Case) -> None:
    """The refused copy is started anew, as a supervisor would: it finds what came meanwhile."""
    await world.bot.stop()
    world.serve(case.steps[0]["url"], case.bytes_of("after2.xml"), "after2.xml", {})
    world.clock.move(INTERVAL * 1.15)
    await world.start()
    await run_three_intervals(world, case)
    for name, posts in world.posts().items():
        assert [post.title for post in posts].count("Article 3") == 1, f"{name}: {[post.title for post in posts]}"


@act("from another process open the database and hold")
async def hold_lock(world: World, case: Case) -> None:
    world.release = threading.Event()
    world.holder = threading.Thread(target=_hold, args=(world,))
    world.holder.start()
    await asyncio.sleep(0.1)


def _hold(world: World) -> None:
    with sqlite3.connect(world.bot.state, timeout=30, isolation_level=None) as connection:
        for _ in range(3):
            connection.execute("BEGIN IMMEDIATE")
            world.release.wait(LOCK_SECONDS)
            connection.execute("ROLLBACK")
            world.release.wait(0.2)
    connection.close()


@act("release the lock")
async def release_lock(world: World, case: Case) -> None:
    world.release.set()
    await asyncio.to_thread(world.holder.join)
    await world.quiet()


@act("start a poll; after five seconds send SIGTERM")
async def stop_while_sending(world: World, case: Case) -> None:
    world.clock.move(INTERVAL * 1.15)
    await asyncio.sleep(5 * SECONDS)
    loop = asyncio.get_running_loop()
    start = loop.time()
    code = await world.bot.stop(seconds=15)
    took = loop.time() - start
    assert took < 10, f"it took {took:.1f} s to stop"
    assert code in (0, 143), world.bot.log
    assert "Traceback" not in world.bot.log, world.bot.log


@act("configure the made-up secrets of secrets.json")
async def configure_secrets(world: World, case: Case) -> None:
    made_up = case.json_of("secrets.json")
    assert isinstance(made_up, dict)
    world.slack.bot_token = made_up["slack_bot_token"]
    world.discord.bot_token = made_up["discord_token"]
    world.smtp.username, world.smtp.password = "news", made_up["smtp_password"]
    world.sections["email"]["username"] = "news"
    world.sections["log"] = {"level": "debug"}
    world.secrets |= {
        "FEEDBELL_SLACK__BOT_TOKEN": made_up["slack_bot_token"],
        "FEEDBELL_SLACK__SIGNING_SECRET": made_up["slack_signing_secret"],
        "FEEDBELL_DISCORD__BOT_TOKEN": made_up["discord_token"],
        "FEEDBELL_EMAIL__PASSWORD": made_up["smtp_password"],
        "FEEDBELL_WEBHOOKS__CASE": made_up["discord_webhook"],
        "FEEDBELL_SECRETS__FEED": "CASE-feed-pass",
    }


@act("make Slack unresolvable, let Discord answer 401")
async def break_all(world: World, case: Case) -> None:
    world.sections["slack"]["api_url"] = "http://slack.invalid/api/"
    world.discord.token_revoked = True
    world.smtp.password = "another"
    if world.live:
        await world.restart("stop")


@act("collect logs at the most verbose level")
async def collect_outputs(world: World, case: Case) -> None:
    for command in (("status",), ("doctor",), ("feeds",), ("check",)):
        done = await world.bot.call(*command)
        world.outputs += [done.out, done.err]
    for path in ("/healthz", "/readyz", "/metrics", "/"):
        world.outputs.append(await world.page(path))
    files = [file for file in (world.folder / "data").iterdir() if file.is_file()]
    world.outputs += [file.read_bytes().decode("utf-8", "replace") for file in files]
    assert any(word in world.bot.log for word in ("slack", "discord", "email")), "no error names its target"
