"""`preview` shows what would be sent, for any entry, as a digest and as an edit, without sending anything."""

import io
import json
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console

from bot.app.previewing import Subject, preview
from bot.cli.group import main
from bot.cli.showing import show
from bot.clock import SystemClock
from bot.config.load import parse
from bot.config.settings import Settings
from bot.core.errors import UsageError
from bot.core.model.delivery import DeliveryKind
from bot.store.store import open_store
from tests.store.builders import NOW, announced, entry, new, started

CONFIG = """
state = "sqlite:///bell.db"
[http]
public_url = "https://bell.example.org"
[email]
host = "localhost"
from = "news@example.org"
[[feeds]]
id = "blog"
url = "https://blog.example/feed.xml"
[[routes]]
to = ["slack:C0NEWS", "discord:123456789012345678", "email:a@example.org", "console"]
template = "headline"
[[routes]]
to = "webhook:deploy"
tags = ["nothing"]
"""


@pytest.fixture
async def settings(tmp_path: Path) -> Settings:
    """A configuration whose state holds three posts."""
    (tmp_path / "config.toml").write_text(CONFIG, encoding="utf-8")
    store = await open_store(f"sqlite:///{tmp_path}/bell.db", exclusive=True)
    await started(store, "blog", "other")
    posts = [
        new(entry(n, at=NOW + timedelta(minutes=n), summary_html="<ul><li>a <b>point</b></ul><pre>code</pre>"))
        for n in range(1, 4)
    ]
    await announced(store, *posts)
    await store.close(now=NOW)
    return parse(CONFIG, {}, path=tmp_path / "config.toml", secret_dirs=())


async def test_the_newest_entry_goes_to_every_destination_of_its_routes(settings: Settings) -> None:
    payloads = await preview(settings, SystemClock(), Subject())
    assert [uid.partition(":")[0] for uid in payloads] == ["slack", "discord", "email", "console"]
    assert all("Post 3" in json.dumps(payload) for payload in payloads.values())
    assert payloads["console"] == {"text": "Post 3 <https://blog.example/3/>"}  # type: ignore[index]  # the route's template: a headline
    assert "https://bell.example.org/unsubscribe/" in str(payloads["email:a@example.org"])  # type: ignore[index]


async def test_a_destination_that_no_route_takes_it_to_is_shown_all_the_same(settings: Settings) -> None:
    payloads = await preview(settings, SystemClock(), Subject(to="webhook:deploy", guid="https://blog.example/2"))
    (payload,) = payloads.values()
    assert (payload["type"], payload["entries"][0]["title"]) == ("entry", "Post 2")  # type: ignore[index,call-overload]


async def test_a_digest_holds_the_newest_entries_oldest_first(settings: Settings) -> None:
    payloads = await preview(settings, SystemClock(), Subject(kind=DeliveryKind.DIGEST, to="webhook:deploy"))
    (payload,) = payloads.values()
    assert [one["title"] for one in payload["entries"]] == ["Post 1", "Post 2", "Post 3"]  # type: ignore[union-attr,index,call-overload]


async def test_an_edit_goes_only_where_edits_are_told(settings: Settings) -> None:
    payloads = await preview(settings, SystemClock(), Subject(kind=DeliveryKind.EDIT))
    assert [uid.partition(":")[0] for uid in payloads] == ["slack", "discord"]
    with pytest.raises(UsageError, match="console"):
        await preview(settings, SystemClock(), Subject(kind=DeliveryKind.EDIT, to="console"))


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (Subject(guid="nope"), "no entry"),
        (Subject(feed="nope"), "feeds: blog, other"),
        (Subject(feed="nope", guid="https://blog.example/2"), "feeds: blog"),
        (Subject(feed="other", guid="https://blog.example/2"), "is an entry of blog, not of other"),
        (Subject(to="slak:#x"), 'begins with one of: .*; did you mean "slack"'),
    ],
)
async def test_what_is_not_there_is_said(settings: Settings, subject: Subject, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        await preview(settings, SystemClock(), subject)


async def test_people_see_it_side_by_side(settings: Settings) -> None:
    plain = parse(CONFIG.replace('template = "headline"', ""), {}, path=settings.folder / "c.toml", secret_dirs=())
    page = io.StringIO()
    show(await preview(plain, SystemClock(), Subject()), console=Console(file=page, width=190, highlight=False))
    text = page.getvalue()
    assert "{" not in text
    first = text.splitlines()[0]
    assert all(place in first for place in ("slack:C0NEWS", "discord:1234", "email:a@example.org", "console"))
    assert text.count("• a point") == 2
    assert text.count("Subject: Post 3") == 1


def test_programs_get_the_payload_itself(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["preview", "--to", "console", "--json", "--config", str(settings.folder / "config.toml")])
    assert left.value.code == 0
    assert json.loads(capsys.readouterr().out) == {"text": "Post 3 <https://blog.example/3/>"}
