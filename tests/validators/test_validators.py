"""What leaves the house is judged by others' rules; where their programs can't be installed, that is said aloud."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bot.core.model.message import Message
from bot.core.render import render_list
from bot.notifiers import discord_layout, email_layout, slack_layout
from tests.core.messages import BERLIN, SEEN, digest, entry, message, read_entries
from tests.edge.web_bot import serve
from tests.golden.thirty import thirty
from tests.golden.write import seed_entries

HERE = Path(__file__).parent
HOSTILE = sorted((HERE.parent / "feeds" / "hostile" / "text").glob("*.xml"))
INSTALL_S = 120
JUDGE_S = 120
PAGES = ("/", "/feeds", "/destinations", "/deliveries", "/search?q=bgp", "/inbox", "/unsubscribe/good")


@pytest.fixture(scope="module")
def tools() -> Path:
    """The judges' programs, installed the first time from the lock file."""
    if not (HERE / "node_modules" / "zod").is_dir():
        if shutil.which("node") is None or shutil.which("npm") is None:
            pytest.skip("the validators need node and npm, which are not installed")
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            subprocess.run(command, cwd=HERE, check=True, capture_output=True, timeout=INSTALL_S)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            shutil.rmtree(HERE / "node_modules", ignore_errors=True)
            pytest.skip("the validators can't be installed: npm has no access to its packages here")
    return HERE / "node_modules"


def messages() -> Iterator[Message]:
    ordinary = [*seed_entries(), *thirty()]
    hostile = [one for path in HOSTILE for one in read_entries(path, feed_id="hostile")][::2]
    for one in (*ordinary, *hostile):
        yield message(one)
    yield digest(tuple(ordinary), more_url="https://bell.example.org/")
    yield digest(tuple(hostile[:50]))
    yield render_list(thirty()[:10], timezone=BERLIN, now=SEEN, heading="Latest", words="Some words")
    yield render_list([], timezone=BERLIN, now=SEEN, words="No post is tagged ospf.")
    yield message(entry(image="https://www.example.org/pic.png"))


def test_slack_and_discord_would_take_every_message(tools: Path) -> None:
    made = list(messages())
    said = json.dumps(
        {
            "slack": [slack_layout.to_payload(one)["blocks"] for one in made],
            "discord": [discord_layout.to_payload(one, plain=plain) for one in made for plain in (False, True)],
            "webhook": [discord_layout.to_payload(one, webhook=True) for one in made],
        }
    )
    node = subprocess.run(
        ["node", "judge.mjs"], cwd=HERE, input=said, capture_output=True, text=True, timeout=JUDGE_S, check=False
    )
    assert (node.returncode, node.stdout, node.stderr) == (0, "", "")


def test_the_judges_find_what_is_wrong(tools: Path) -> None:
    wrong = {
        "slack": [[{"type": "rich_text", "elements": [{"type": "text", "text": "no section around it"}]}]],
        "discord": [{"embeds": [{"title": "x" * 257}]}],
        "webhook": [{"content": 3}],
    }
    node = subprocess.run(
        ["node", "judge.mjs"],
        cwd=HERE,
        input=json.dumps(wrong),
        capture_output=True,
        text=True,
        timeout=JUDGE_S,
        check=True,
    )
    assert [line.split(":")[0] for line in node.stdout.splitlines()] == ["slack 0", "discord 0", "webhook 0"]


# A narrow screen turns tables into blocks, and browsers forget then that they are tables; the roles say it again.
DELIBERATE = "attribute must not be used on a"


def html_faults(tools: Path, folder: Path, documents: Sequence[str]) -> list[str]:
    """Return what the checker calls an error, with where it stands."""
    if shutil.which("java") is None:
        pytest.skip("the HTML checker needs java, which is not installed")
    for number, document in enumerate(documents):
        (folder / f"{number}.html").write_text(document, encoding="utf-8", errors="replace")
    jar = tools / "vnu-jar" / "build" / "dist" / "vnu.jar"
    found = subprocess.run(
        ["java", "-Xss2m", "-jar", str(jar), "--errors-only", "--format", "gnu", str(folder)],
        capture_output=True,
        text=True,
        timeout=JUDGE_S,
        check=False,
    )
    lines = [line.rpartition("/")[2] for line in found.stderr.splitlines()]
    return [line for line in lines if not ("“role”" in line and DELIBERATE in line)]


def test_every_mail_is_valid_html(tools: Path, tmp_path: Path) -> None:
    mails = [email_layout.to_payload(one, sender="news@example.org") for one in messages()]
    assert html_faults(tools, tmp_path, [str(mail["html"]) for mail in mails]) == []


async def test_every_page_is_valid_html(tools: Path, tmp_path: Path) -> None:
    async with serve() as (bot, client):
        pages = [await (await client.get(bot.url + path)).text() for path in PAGES]
    assert html_faults(tools, tmp_path, pages) == []
