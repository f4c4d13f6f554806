"""What the container keeps in memory: little more than its imports when idle, and no more after a day than before."""

from __future__ import annotations

import asyncio
import faulthandler
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.measuring import children_of, rss_mb
from tests.bot_process import eventually
from tests.deploy.container import IMAGE, PLAIN, Container, podman
from tests.process.station import rss
from tests.servers.feeds import Document, FeedServer
from tests.servers.slack import SlackServer
from tests.servers.smtp import SmtpServer

pytestmark = [pytest.mark.usefixtures("image"), pytest.mark.long]

TIMES_BARE = 1.5
GROWTH = 1.05  # of the day's end over its first tenth
FEEDS = 20
DAY = 96  # polls of each, as at 15 minutes
HOUR = 4
# Python reads it at its start. Asked by a signal, it says what is imported by then, in that order.
SITE = """
import signal, sys
def tell(*_):
    with open("/data/modules", "w") as file: file.write(" ".join(sys.modules))
signal.signal(signal.SIGUSR1, tell)
"""
BARE = """
import importlib, sys
for name in sys.argv[1].split():
    try: importlib.import_module(name)
    except ImportError: pass
print(len(sys.modules), [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")][0])
"""


def memory(container: Container) -> float:
    """Resident MB of the bot and of whatever it has started."""
    return rss_mb(container.pid, *children_of(container.pid))


class Town:
    """Slack, a mailbox and feeds, and what the bot is told of them."""

    def __init__(self, feeds: FeedServer, slack: SlackServer, smtp: SmtpServer, names: list[str]) -> None:
        self.feeds, self.slack, self.smtp, self.names = feeds, slack, smtp, names
        self.titles = {name: [f"{name}-{number}" for number in range(30)] for name in names}
        for name in names:
            self.publish(name)

    def publish(self, name: str) -> None:
        """Let a feed have one more post."""
        self.titles[name].append(f"{name}-{len(self.titles[name])}")
        body = rss(*self.titles[name][-30:])
        self.feeds.serve(f"/{name}.xml", Document(body=body))

    def config(self, interval: str) -> str:
        services = (
            f'[slack]\napi_url = "{self.slack.api_url}"\n'
            f'[email]\nhost = "127.0.0.1"\nport = {self.smtp.port}\nsecurity = "none"\nfrom = "bell@example.org"\n'
            '[delivery]\nchannel_gap = "0s"\nslack_per_minute = 0\n[polling]\nhost_gap = "0s"\n'
        )
        feeds = [
            f'[[feeds]]\nid = "{name}"\nurl = "{self.feeds.url}/{name}.xml"\ninterval = "{interval}"\nown = true\n'
            'allow_private = ["127.0.0.0/8"]\n'
            for name in self.names
        ]
        return services + "".join(feeds) + '[[routes]]\nto = ["slack:#general", "email:reader@example.org"]\n'

    @property
    def secrets(self) -> dict[str, str]:
        return {"FEEDBELL_SLACK__APP_TOKEN": self.slack.app_token, "FEEDBELL_SLACK__BOT_TOKEN": self.slack.bot_token}

    @property
    def polls(self) -> float:
        """How often each was polled, in the mean."""
        return sum(self.feeds.hits(f"/{name}.xml") for name in self.names) / len(self.names)


@asynccontextmanager
async def town(feeds: int) -> AsyncIterator[Town]:
    async with FeedServer() as publisher, SlackServer() as slack, SmtpServer() as smtp:
        yield Town(publisher, slack, smtp, [f"feed{number}" for number in range(feeds)])


async def test_an_idle_bot_takes_at_most_half_as_much_again_as_its_imports(
    container: Container, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    async with town(1) as here:
        options = ("--volume", f"{tmp_path}/site:/probe:ro", "--env", "PYTHONPATH=/probe")
        container.start(here.config("15m"), *options, environ=here.secrets)
        await container.started()
        await eventually(lambda: here.polls == 1 and here.slack.socket.connections)
        await eventually(lambda: not children_of(container.pid), seconds=90)  # the parser's worker goes home
        idle = memory(container)
        podman("kill", "--signal", "USR1", container.name)
        told = container.data / "modules"
        await eventually(lambda: told.exists() and told.read_text())
        names = [name for name in told.read_text().split() if name not in ("__main__", "sitecustomize")]
    bare = ("run", "--rm", *PLAIN, "--entrypoint", "python3", IMAGE, "-c", BARE, " ".join(names))
    imported, kilobytes = map(int, podman(*bare).split())
    with capsys.disabled():
        print(f"\nidle {idle:.1f} MB; a bare Python with its {imported} modules {kilobytes / 1024:.1f} MB")
    assert idle <= TIMES_BARE * kilobytes / 1024


async def test_a_day_of_polls_leaves_no_memory_behind(container: Container, capsys: pytest.CaptureFixture[str]) -> None:
    faulthandler.cancel_dump_traceback_later()  # it takes longer than pytest is willing to wait
    samples: list[tuple[float, float]] = []  # the bot alone; with the parser's worker
    async with town(FEEDS) as here:
        container.start(here.config("1s"), environ=here.secrets)
        await container.started()
        await eventually(lambda: here.polls >= 1)  # the first one is silent
        for hour in range(DAY // HOUR):
            here.publish(here.names[hour % FEEDS])
            await eventually(lambda hour=hour: here.polls >= 1 + (hour + 1) * HOUR, seconds=120)
            samples.append((rss_mb(container.pid), memory(container)))
        await eventually(lambda: len(here.slack.in_channel("#general")) == DAY // HOUR, seconds=60)
        await eventually(lambda: len(here.smtp.messages) == DAY // HOUR, seconds=60)
        log = await asyncio.to_thread(podman, "logs", container.name, errors_too=True)
    with capsys.disabled():
        print(f"\n{here.polls:.0f} polls of {FEEDS} feeds; MB each hour, bot/with parser: ", end="")
        print(" ".join(f"{alone:.0f}/{both:.0f}" for alone, both in samples))
    assert "Traceback" not in log
    tenth = len(samples) // 10
    assert samples[-1][0] <= GROWTH * samples[tenth][0]
