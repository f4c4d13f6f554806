"""Commands and what is around them: the terminal's characters, arguments that are no text, files that can't be used."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bot_process import ROOT, BotProcess
from tests.servers.feeds import Document, FeedServer

FEED = """<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Blog</title><item>
<title>Gr\u00fc\u00dfe \u65e5\u672c</title><link>https://blog.example.org/1</link></item></channel></rss>"""
CONFIG = """[[feeds]]
id = "blog"
url = "{url}"
own = true
allow_private = ["127.0.0.0/8"]
"""
NO_TEXT = "\udcff"  # the byte 0xFF, as Python hands it to other programs


async def test_a_terminal_without_the_characters_is_shown_what_it_can_show(tmp_path: Path) -> None:
    async with FeedServer() as feeds:
        url = feeds.serve("/feed.xml", Document(body=FEED.encode()))
        bot = BotProcess(tmp_path, CONFIG.format(url=url), {"PYTHONIOENCODING": "cp437"})
        await bot.once()
        shown = await bot.call("latest", "--json")
        assert [entry["title"] for entry in json.loads(shown.out)] == ["Gr\u00fc\u00dfe \u65e5\u672c"]
        bot.environ["PYTHONIOENCODING"] = "ascii:strict"
        assert (await bot.call("latest", "--json")).code == 0
        assert (await bot.call("latest")).code == 0


@pytest.mark.parametrize(("term", "title"), [("dumb", "Gr\u00fc\u00dfe"), ("xterm", "\x1b[1mGr\u00fc\u00dfe")])
async def test_a_terminal_is_given_the_marks_that_it_knows(tmp_path: Path, term: str, title: str) -> None:
    async with FeedServer() as feeds:
        url = feeds.serve("/feed.xml", Document(body=FEED.encode()))
        bot = BotProcess(tmp_path, CONFIG.format(url=url), {"TERM": term})
        await bot.once()
        ours, theirs = os.openpty()
        with os.fdopen(theirs, "wb") as terminal, os.fdopen(ours, "rb") as screen:
            await bot.call("latest", stdout=terminal)
            assert screen.read1().decode().startswith(title)


async def test_an_entry_that_waits_for_its_digest_says_until_when(tmp_path: Path) -> None:
    async with FeedServer() as feeds:
        url = feeds.serve("/feed.xml", Document(body=FEED.encode()))
        route = '[[routes]]\nto = "console"\ndigest = "hourly"\n'
        bot = BotProcess(tmp_path, CONFIG.format(url=url) + 'initial = "latest:1"\n' + route)
        await bot.once()
        life = (await bot.call("why", "https://blog.example.org/1")).out
        assert re.search(r"entry to console: pending, due 20\d\d-\d\d-\d\d \d\d:00:00 UTC\n", life)


@pytest.mark.parametrize(
    "call",
    [
        ("latest", NO_TEXT),
        ("latest", f"tag:{NO_TEXT}"),
        ("resume", NO_TEXT),
        ("why", NO_TEXT),
        ("why", "two\nlines\x1b[31m"),
        ("replay", "--since", "two\nlines"),
        ("two\nlines\x1b[31m",),
        ("latest", "--two\nlines"),
        ("backup", ""),
        ("opml", "export", "no/o"),
    ],
)
async def test_what_can_not_be_done_is_told_in_one_line(tmp_path: Path, call: tuple[str, ...]) -> None:
    done = await BotProcess(tmp_path, "").call(*call)
    assert done.code in (1, 2)
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert "\x1b" not in done.err
    told = (
        "error: an argument is no UTF-8 text",
        "error: no ",
        "error: no/o: ",
        "no post tagged ",
        'error: "two ',
        "error: . ",
    )
    assert done.err.startswith(told)


async def test_a_report_about_a_broken_configuration_says_what_it_can_and_what_is_broken(tmp_path: Path) -> None:
    bot = BotProcess(tmp_path, '[[feeds]]\nid = "blog"\nurll = "https://blog.example.org/"\n')
    report = await bot.call("doctor")
    assert report.code == 78
    assert "sqlite" in report.out
    assert "config.toml:3:1: error: feeds[0].urll" in report.err
    same = await bot.call("doctor", "--json")
    assert (same.code, same.err) == (report.code, report.err)
    assert isinstance(same.json, dict)
    assert same.json["configuration"] == "config.toml"


async def test_a_list_for_other_readers_holds_feeds_that_were_never_polled(tmp_path: Path) -> None:
    done = await BotProcess(tmp_path, CONFIG.format(url="https://blog.example.org/feed?a=1&b=2")).call(
        "opml", "export", "list.opml"
    )
    assert done.out == "written: list.opml (1 feed)\n"
    body = ElementTree.parse(tmp_path / "list.opml").getroot()
    assert [outline.get("xmlUrl") for outline in body.iter("outline")] == ["https://blog.example.org/feed?a=1&b=2"]


async def test_a_dash_is_no_file(tmp_path: Path) -> None:
    bot = BotProcess(tmp_path, CONFIG.format(url="https://blog.example.org/feed"))
    listed = await bot.call("opml", "export", "-")
    assert "https://blog.example.org/feed" in listed.out
    assert not (tmp_path / "-").exists()
    again = await bot.call("opml", "import", "-", stdin=listed.out)
    assert (again.code, again.out) == (0, "")
    assert again.err == "already there: https://blog.example.org/feed\n0 feeds; nothing to append\n"


async def test_an_address_that_was_pasted_with_blanks_around_it_is_printed_without_them(tmp_path: Path) -> None:
    async with FeedServer() as feeds:
        url = feeds.serve("/feed.xml", Document(body=FEED.encode()))
        done = await BotProcess(tmp_path, "").call("inspect", f" {url}\n")
        assert f'\nurl = "{url}"\n' in done.out


async def test_what_readers_call_a_feeds_address_is_inspected_as_http_knows_it(tmp_path: Path) -> None:
    async with FeedServer() as feeds:
        url = feeds.serve("/feed.xml", Document(body=FEED.encode()))
        done = await BotProcess(tmp_path, "").call("inspect", f"feed:{url}")
        assert f'\nurl = "{url}"\n' in done.out


async def test_words_that_are_no_address_are_told_so(tmp_path: Path) -> None:
    done = await BotProcess(tmp_path, "").call("inspect", "my feed")
    assert (done.code, done.err) == (
        1,
        'error: "my feed" is no address; write it as a browser shows it, "https://…"\n',
    )


@pytest.mark.parametrize(
    "call",
    [
        ("inspect", "https://reader:hunter2@blog.example.org/feed"),
        ("resume", "slack-webhook:https://hooks.slack.com/services/T0/B0/hunter2"),
        ("send-test", "webhook:https://blog.example.org/hook?hunter2"),
        ("send-test", "slack:xoxb-1-hunter2"),
        ("preview", "--to", "slack:xoxb-1-hunter2"),
        ("preview", "--feed", "xoxb-1-hunter2"),
        ("why", "xoxb-1-hunter2"),
        ("inspect", "xoxb-1-hunter2"),
        ("xoxb-1-hunter2",),
        ("latest", "--count", "xoxb-1-hunter2"),
    ],
)
async def test_a_secret_in_what_was_typed_is_not_repeated(tmp_path: Path, call: tuple[str, ...]) -> None:
    done = await BotProcess(tmp_path, "").call(*call)
    assert done.code in (1, 2)
    assert done.err.startswith("error: ")
    assert "hunter2" not in done.out + done.err


@pytest.mark.parametrize("call", [("tags",), ("latest", "--json"), ("opml", "export"), ("--help",)])
async def test_whoever_stops_reading_makes_no_error(tmp_path: Path, call: tuple[str, ...]) -> None:
    bot = BotProcess(tmp_path, "")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as unread:
        done = await bot.call(*call, stdout=unread)
    assert (done.code, done.err) == (0, "")


async def test_a_refusal_stays_one_where_nobody_reads(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as unread:
        assert (await BotProcess(tmp_path, "zebra = 1\n").call("tags", stdout=unread)).code == 78


async def test_what_could_not_be_printed_is_told(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        for call in (("tags",), ("latest", "--json"), ("opml", "export"), ("check",)):
            done = await BotProcess(tmp_path, "").call(*call, stdout=full)
            assert (done.code, done.err) == (1, "error: cannot write the output: no space left on device\n"), call


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("once", (0, "0 feeds polled, 0 new entries, 0 messages sent")),
        ("check --config nope.toml", (78, "nope.toml: error: no such file; copy config.example.toml, or name another")),
        ("resume console", (1, 'error: no destination "console"; destinations: none yet')),
        ("status --nope", (2, "error: no such option '--nope'; see `feedbell status --help`")),
        *((each, (1, "error: cannot write the output: bad")) for each in ("status", "tags --json", "doctor", "--help")),
        ("send-test console", (1, "error: console did not take it: the console can't be written to")),
    ],
)
def test_streams_that_are_closed_or_full_change_no_answer(tmp_path: Path, call: str, told: tuple[int, str]) -> None:
    BotProcess(tmp_path, "")
    code, words = told
    done = redirected(tmp_path, call, ">&-")
    assert (done.returncode, done.stderr.startswith(words)) == (code, True), done.stderr
    assert redirected(tmp_path, call, "<&- >&- 2>&-").returncode == code
    printed = words.startswith("error: cannot write the output") or call == "send-test console"
    for nowhere in ("2>&-", "2>/dev/full"):
        assert redirected(tmp_path, call, nowhere).returncode == (0 if printed else code)


def test_a_list_that_could_not_be_written_is_an_error_that_says_why(tmp_path: Path) -> None:
    BotProcess(tmp_path, "")
    done = redirected(tmp_path, "opml export /dev/full", "")
    assert (done.returncode, done.stderr) == (1, "error: cannot write the file: no space left on device\n")


def redirected(folder: Path, call: str, streams: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a shell does that redirects or closes its streams."""
    line, environ = f'exec "$0" -m bot {call} {streams}', {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["sh", "-c", line, sys.executable], cwd=folder, env=environ, text=True, capture_output=True, timeout=60
    )


async def test_what_the_console_did_not_take_is_retried(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    async with FeedServer() as feeds:
        url = feeds.serve("/feed.xml", Document(body=FEED.encode()))
        bot = BotProcess(tmp_path, CONFIG.format(url=url) + 'initial = "latest:1"\n[[routes]]\nto = "console"\n')
        with os.fdopen(writer, "wb") as unread:
            done = await bot.call("once", stdout=unread)
        assert done.code == 75
        assert done.err == "1 feed polled, 1 new entry, 0 messages sent, 1 waiting to be retried\n"
