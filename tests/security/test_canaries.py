"""T16, T17: secrets are in no output, no page, no metric and no file, whatever goes wrong with those who know them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest

from bot.app.observing import secrets_of
from bot.config.load import load
from bot.telemetry.redaction import HIDDEN, Redactor
from tests.bot_process import BotProcess, eventually
from tests.cases.world import free_port
from tests.edge.raw_http import RSS, RawServer, Request, answer
from tests.servers.certificates import Certificates

CANARIES = {
    "FEEDBELL_SLACK__BOT_TOKEN": "xoxb-canary-1-slackbot",
    "FEEDBELL_SLACK__APP_TOKEN": "xapp-canary-2-slackapp",
    "FEEDBELL_SLACK__SIGNING_SECRET": "canary3signingsecret",
    "FEEDBELL_DISCORD__BOT_TOKEN": "canary4.discord.bot-token",
    "FEEDBELL_EMAIL__PASSWORD": "canary5 mail+password/é",
    "FEEDBELL_HTTP__TOKEN": "canary6-page-token",
    "FEEDBELL_HTTP__POKE_TOKEN": "canary7-poke-token",
    "FEEDBELL_SECRETS__FEED": "canary8&feed?password",
    "FEEDBELL_SECRETS__BEARER": "canary9-bearer-token",
    "FEEDBELL_SECRETS__HOOK": "whsec_Y2FuYXJ5MTAtaG9vay1rZXk=",
}
HOOKS = {  # the path alone is the secret: an address may be shown without it
    "SLACKHOOK": "/services/T0/B0/canary11slackhook",
    "DISCORDHOOK": "/api/webhooks/123456789012345678/canary12-discordhook",
    "HOOK": "/in/canary13-hook?key=canary14-query",
}
WORDS = [*CANARIES.values(), "canary11slackhook", "canary12-discordhook", "canary13-hook", "canary14-query"]
KEPT = {"config.toml"}  # holds none of them; all else of the folder is searched


def forms_of(secret: str) -> Iterator[bytes]:
    """As it is, in a URL, in base64 alone and behind a user's name (HTTP Basic, AUTH PLAIN), in a repr."""
    yield from {secret.encode(), quote(secret, safe="").encode(), repr(secret)[1:-1].encode()}
    for whole in (secret, f"me:{secret}", f"\0me\0{secret}"):
        yield base64.b64encode(whole.encode()).rstrip(b"=")


def leaks(texts: Iterable[bytes]) -> set[str]:
    forms = [(secret, form) for secret in WORDS for form in forms_of(secret)]
    return {secret for text in texts for secret, form in forms if form in text}


def files_of(folder: Path) -> Iterator[bytes]:
    return (path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in KEPT)


async def echo(_: asyncio.StreamWriter, request: Request) -> AsyncIterator[bytes]:
    """A service that is broken in the most talkative way: it gives back all it was sent, and the address."""
    yield answer("500 Broken", "Content-Type: text/plain", body=request.head + b"\n" + request.body)


async def refuse(_: asyncio.StreamWriter, request: Request) -> AsyncIterator[bytes]:
    yield answer("401 Unauthorized", f"Location: {request.target}", body=request.head)


class Anything(dict[str, object]):
    """Every path but the feed's gives the same answer."""

    def __init__(self, play: object) -> None:
        super().__init__({"/open": answer(body=RSS)})
        self.play = play

    def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
        return self[key] if key in self else self.play


def config(base: str, mail_port: int, web_port: int, *, security: str = "none") -> str:
    feeds = (
        ("closed", 'auth = { username = "me", password = "feed" }'),
        ("bearer", 'auth = { bearer = "bearer" }'),
        ("open", ""),
    )
    usual = 'allow_private = ["127.0.0.0/8"]\ninitial = "latest:1"'
    blocks = "".join(f'[[feeds]]\nid = "{name}"\nurl = "{base}/{name}"\n{usual}\n{auth}\n' for name, auth in feeds)
    routes = '["slack:#news", "discord:123", "email:a@example.org", "slack-webhook:slackhook", "webhook:hook"'
    return (
        'ops = "slack:#ops"\n'
        f'[http]\nlisten = "127.0.0.1:{web_port}"\npublic_url = "https://bell.example.org"\n'
        f'[slack]\napi_url = "{base}/api/"\n[discord]\napi_url = "{base}/api/v10"\n'
        f'[email]\nhost = "127.0.0.1"\nport = {mail_port}\nsecurity = "{security}"\nusername = "me"\n'
        f'from = "news@example.org"\n[delivery]\ngrace = "1s"\nlook_again = "1s"\nretry_base = "1s"\n'
        f'{blocks}[[routes]]\nto = {routes}, "discord-webhook:discordhook"]\n'
    )


def environ(base: str, **more: str) -> dict[str, str]:
    hooks = {f"FEEDBELL_WEBHOOKS__{name}": base + path for name, path in HOOKS.items()}
    return {**CANARIES, **hooks, "FEEDBELL_LOG__LEVEL": "debug", **more}


async def all_commands(bot: BotProcess) -> list[bytes]:
    calls = "once|check --online|doctor|status --json|feeds|why urn:1|preview --json|opml export"
    calls += "|send-test email:a@example.org|send-test slack-webhook:slackhook|send-test discord-webhook:discordhook"
    done = [await bot.call(*call.split()) for call in calls.split("|")]
    return [(one.out + one.err).encode() for one in done]


async def parrot(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A mail server that repeats the login it refuses."""
    writer.write(b"220 mail\r\n")
    while line := await reader.readline():
        if line.upper().startswith(b"EHLO"):
            writer.write(b"250-mail\r\n250 AUTH PLAIN LOGIN\r\n")
        elif line.upper().startswith(b"AUTH"):
            writer.write(b"535 5.7.8 no such login: " + line)
        else:
            writer.write(b"221 bye\r\n" if line.upper().startswith(b"QUIT") else b"535 no: " + line)
    writer.close()


@pytest.fixture
async def mail_port() -> AsyncIterator[int]:
    server = await asyncio.start_server(parrot, "127.0.0.1", 0)
    yield int(server.sockets[0].getsockname()[1])
    server.close()


async def pages_of(port: int) -> list[bytes]:
    found = []
    tokens = (CANARIES["FEEDBELL_HTTP__TOKEN"], "wrong")
    logins = [{"Authorization": f"Basic {base64.b64encode(f'me:{token}'.encode()).decode()}"} for token in tokens]
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
        for path in ("/", "/feeds", "/deliveries", "/destinations", "/metrics", "/healthz", "/readyz", "/nothing"):
            for login in ({}, *logins):
                async with session.get(path, headers=login) as response:
                    found.append(await response.read() + repr(response.headers).encode())
        bearer = {"Authorization": f"Bearer {CANARIES['FEEDBELL_HTTP__POKE_TOKEN']}"}
        for headers in ({}, bearer, {"Authorization": "Bearer wrong"}):
            async with session.post("/hooks/poke/open", headers=headers) as response:
                found.append(await response.read())
        for path in ("/slack/commands", "/slack/interactive", "/websub/open", "/unsubscribe/x"):
            async with session.post(path, data=b"x=1") as response:
                found.append(await response.read())
    return found


@pytest.mark.parametrize("format", ["text", "json"])
async def test_a_running_bot_whose_services_repeat_what_they_are_sent_tells_no_secret(
    tmp_path: Path, mail_port: int, format: str
) -> None:
    port = free_port()
    async with RawServer(Anything(echo if format == "text" else refuse)) as server:  # type: ignore[arg-type]
        bot = BotProcess(
            tmp_path, config(server.url("").rstrip("/"), mail_port, port), environ(server.url("").rstrip("/"))
        )
        bot.environ["FEEDBELL_LOG__FORMAT"] = format
        item = b"<item><guid>urn:1</guid><title>Post</title><description>x</description></item></channel>"
        server.pages["/open"] = answer(body=RSS.replace(b"</channel>", item))
        await bot.start()
        await eventually(lambda: bot.log.count("127.0.0.1") + bot.log.count("retry") + bot.log.count("parked") > 4)
        shown = await pages_of(port)
        await bot.stop()
        assert len(server.requests) > 5
    sent = b"".join(request.head for request in server.requests)
    assert b"canary" in sent  # the secrets were in use
    assert leaks([*shown, *files_of(tmp_path)]) == set()


@pytest.mark.parametrize("trouble", ["echo", "refuse", "nobody there", "bad TLS"])
async def test_no_command_tells_a_secret(tmp_path: Path, mail_port: int, trouble: str) -> None:
    plays = {"echo": echo, "refuse": refuse, "nobody there": echo, "bad TLS": echo}
    tls = Certificates().server_context() if trouble == "bad TLS" else None
    async with RawServer(Anything(plays[trouble]), tls=tls) as server:  # type: ignore[arg-type]
        base = "http://127.0.0.1:1" if trouble == "nobody there" else server.url("").rstrip("/")
        bot = BotProcess(
            tmp_path, config(base, 1 if trouble == "nobody there" else mail_port, free_port()), environ(base)
        )
        shown = await all_commands(bot)
    assert leaks([*shown, *files_of(tmp_path)]) == set()


@pytest.mark.parametrize(
    "state", ["postgresql://bell:{}@127.0.0.1:1/bell", "postgresql://127.0.0.1:1/bell?user=bell&password={}"]
)
async def test_the_password_of_a_store_that_can_not_be_reached_is_told_by_nobody(tmp_path: Path, state: str) -> None:
    pytest.importorskip("psycopg")
    password = "canary20/of the%store"
    bot = BotProcess(
        tmp_path, "", {"FEEDBELL_STATE": state.format(quote(password, safe="")), "FEEDBELL_LOG__LEVEL": "debug"}
    )
    forms = ("canary20", quote(password, safe=""))
    for call in ("status", "doctor", "once"):
        done = await bot.call(*call.split())
        assert done.code == 75
        assert not [form for form in forms if form in done.out + done.err]
    settings = load(tmp_path / "config.toml", {"FEEDBELL_STATE": state.format(quote(password, safe=""))})
    redact = Redactor(secrets_of(settings))
    assert redact(f"a {password} b {quote(password, safe='')} c") == f"a {HIDDEN} b {HIDDEN} c"
