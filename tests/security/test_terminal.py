"""T14: neither a feed nor a service writes to the operator's terminal anything but text."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.bot_process import BotProcess
from tests.edge.raw_http import RawServer, answer

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[1A\x9b31m\x08\x08\u202erev\u2069\r"
GUID = f"urn:{EVIL}guid"


def feed(*numbers: int) -> bytes:
    items = [
        {
            "id": GUID if number == 1 else f"{EVIL}{number}",
            "url": f"https://www.example.org/{EVIL}{number}",
            "title": f"Title {number} {EVIL}end",
            "content_text": f"Text {EVIL} of {number}",
            "tags": [f"tag{EVIL}{number}", EVIL],
            "authors": [{"name": EVIL}],
        }
        for number in numbers
    ]
    body = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": f"Feed {EVIL}",
        "home_page_url": f"https://e.org/{EVIL}",
    }
    return answer("200 OK", "Content-Type: application/feed+json", body=json.dumps({**body, "items": items}).encode())


REFUSAL = {"ok": False, "error": "invalid_blocks", "response_metadata": {"messages": [f"bad {EVIL} block"]}}
BUSY = answer("503 \x1b[2JBusy", "Retry-After: \x1b[2J", body=EVIL.encode())


async def test_no_output_of_any_command_steers_the_terminal(tmp_path: Path) -> None:
    refusing = answer("200 OK", "Content-Type: application/json", body=json.dumps(REFUSAL).encode())
    methods = ("chat.postMessage", "conversations.list", "conversations.info", "auth.test")
    pages = {"/feed": feed(0), "/busy": BUSY, **{f"/api/{method}": refusing for method in methods}}
    async with RawServer(pages) as server:  # type: ignore[arg-type]
        bot = BotProcess(tmp_path, config(server), {"FEEDBELL_SLACK__BOT_TOKEN": "xoxb-made-up"})
        await bot.once(expect=None)
        server.pages["/feed"] = feed(1, 0)
        shown = [await bot.once(expect=None)]
        calls = "latest|latest --json|latest nothing|tags|tags --json|feeds|feeds --json|status|status --json|doctor"
        calls += "|check|check --online|opml export|preview|preview --json|replay --since 2020-01-01 --dry-run"
        for call in calls.split("|"):
            shown.append(await bot.call(*call.split()))
        shown.append(await bot.call("why", GUID))
        shown.append(await bot.call("why", "--json", GUID))
        shown.append(await bot.call("why", f"no such {EVIL}"))
        shown.append(await bot.call("inspect", server.url("/feed")))
        shown.append(await bot.call("inspect", server.url("/busy")))
    text = "\n".join(one.out + one.err for one in shown)
    assert STEERING.findall(text) == []
    for words in ("Title 1", "bad ", "tag", "invalid_blocks", "Feed ", "busy or under repair"):
        assert words in text


def config(server: RawServer) -> str:
    feeds = "".join(
        f'[[feeds]]\nid = "{name}"\nurl = "{server.url("/" + name)}"\nallow_private = ["127.0.0.0/8"]\n'
        for name in ("feed", "busy")
    )
    routes = '[[routes]]\nto = ["slack:#news", "console"]\n'
    return f'[slack]\napi_url = "{server.url("/api/")}"\n{feeds}{routes}'
