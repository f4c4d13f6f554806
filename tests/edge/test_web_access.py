"""Who may see what: the pages' rule of small print 17, and the proofs that other paths carry."""

from __future__ import annotations

import base64
import io

import pytest

from bot.web.guard import Access, access
from tests.edge.web_bot import POKE, TOKEN, Bot, serve, settings
from tests.edge.web_facts import FEED

LOCAL = "127.0.0.1:8080"


def basic(password: str, user: str = "anyone") -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("http", "host", "authorization", "expected"),
    [
        ({}, LOCAL, None, Access.GRANTED),
        ({}, "localhost", None, Access.GRANTED),
        ({}, "[::1]:8080", None, Access.GRANTED),
        ({"listen": "[::1]:8080"}, "localhost:8080", None, Access.GRANTED),
        ({}, "feedbell.example.org", None, Access.NO_SUCH_PAGE),
        ({}, "localhost.example.org", None, Access.NO_SUCH_PAGE),
        ({}, "127.0.0.1.nip.io", None, Access.NO_SUCH_PAGE),
        ({}, "", None, Access.NO_SUCH_PAGE),
        ({}, None, None, Access.NO_SUCH_PAGE),
        ({"listen": "0.0.0.0:8080"}, LOCAL, None, Access.NO_SUCH_PAGE),
        ({"public_url": "https://bell.example.org"}, LOCAL, None, Access.NO_SUCH_PAGE),
        ({"token": TOKEN}, LOCAL, None, Access.GRANTED),
        ({"token": TOKEN}, "bell.example.org", None, Access.PROOF_WANTED),
        ({"token": TOKEN}, "bell.example.org", f"Bearer {TOKEN}", Access.GRANTED),
        ({"token": TOKEN}, "bell.example.org", f"bearer  {TOKEN}", Access.GRANTED),
        ({"token": TOKEN}, "bell.example.org", basic(TOKEN), Access.GRANTED),
        ({"token": TOKEN}, "bell.example.org", basic(TOKEN, ""), Access.GRANTED),
        ({"token": TOKEN}, "bell.example.org", basic("wrong"), Access.PROOF_WANTED),
        ({"token": TOKEN}, "bell.example.org", basic(""), Access.PROOF_WANTED),
        ({"token": TOKEN}, "bell.example.org", "Bearer ", Access.PROOF_WANTED),
        ({"token": TOKEN}, "bell.example.org", "Bearer \udcff", Access.PROOF_WANTED),
        ({"token": TOKEN}, "bell.example.org", f"Digest {TOKEN}", Access.PROOF_WANTED),
        ({"token": TOKEN}, "bell.example.org", "Basic %%%", Access.PROOF_WANTED),
        ({"token": TOKEN}, "bell.example.org", "Basic /w==", Access.PROOF_WANTED),
        ({"token": TOKEN}, "bell.example.org", "", Access.PROOF_WANTED),
        ({"token": TOKEN, "public_url": "https://bell.example.org"}, LOCAL, None, Access.PROOF_WANTED),
        ({"token": TOKEN, "listen": "0.0.0.0:80"}, LOCAL, f"Bearer {TOKEN}", Access.GRANTED),
    ],
)
def test_pages_are_open_only_where_all_is_local_and_else_want_the_token(
    http: dict[str, str], host: str | None, authorization: str | None, expected: Access
) -> None:
    assert access(settings(**http).http, host=host, authorization=authorization) is expected


PAGES = [
    "/",
    "/feeds",
    f"/feeds/{FEED}",
    "/destinations",
    "/deliveries",
    "/search",
    "/inbox",
    "/events",
    "/metrics",
    "/nowhere",
]


@pytest.mark.parametrize("path", PAGES)
async def test_without_a_token_a_stranger_finds_no_page_at_all(path: str) -> None:
    async with serve() as (bot, client):
        answer = await client.get(bot.url + path, headers={"Host": "bell.example.org"})
        assert answer.status == 404
        assert "WWW-Authenticate" not in answer.headers


@pytest.mark.parametrize("path", PAGES)
async def test_with_a_token_a_stranger_is_asked_for_it_whether_the_page_exists_or_not(path: str) -> None:
    async with serve(Bot(settings=settings(token=TOKEN))) as (bot, client):
        asked = await client.get(bot.url + path, headers={"Host": "bell.example.org"})
        assert asked.status == 401
        assert asked.headers["WWW-Authenticate"].startswith("Basic ")
        proof = {"Host": "bell.example.org", "Authorization": basic(TOKEN)}
        assert (await client.get(bot.url + path, headers=proof)).status == (404 if path == "/nowhere" else 200)


async def test_a_reload_that_sets_a_public_address_closes_the_pages_at_once() -> None:
    async with serve() as (bot, client):
        assert (await client.get(bot.url + "/")).status == 200
        bot.settings = settings(public_url="https://bell.example.org")
        assert (await client.get(bot.url + "/")).status == 404


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/static/style.css", "/unsubscribe/good"])
async def test_what_needs_no_proof_is_open_to_strangers(path: str) -> None:
    async with serve() as (bot, client):
        assert (await client.get(bot.url + path, headers={"Host": "bell.example.org"})).status == 200


# --- the poke hook ---------------------------------------------------------------------------------------------------


async def test_a_poke_with_the_token_is_accepted() -> None:
    async with serve(Bot(settings=settings(poke_token=POKE))) as (bot, client):
        answer = await client.post(f"{bot.url}/hooks/poke/{FEED}", headers={"Authorization": f"Bearer {POKE}"})
        assert answer.status == 202
        assert bot.poked == [FEED]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_without_a_token_the_hook_is_off(method: str) -> None:
    async with serve() as (bot, client):
        answer = await client.request(method, f"{bot.url}/hooks/poke/{FEED}")
        assert (answer.status, bot.poked) == (404, [])


@pytest.mark.parametrize("proof", ["", "Bearer", "Bearer wrong", f"Basic {POKE}", POKE, f"Bearer {POKE}x", "Bearer é"])
async def test_a_poke_with_a_wrong_proof_is_refused_whatever_the_feed(proof: str) -> None:
    async with serve(Bot(settings=settings(poke_token=POKE))) as (bot, client):
        for feed in (FEED, "no-such-feed"):
            answer = await client.post(f"{bot.url}/hooks/poke/{feed}", headers={"Authorization": proof})
            assert answer.status == 401
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert bot.poked == []


async def test_the_token_of_the_pages_opens_no_hook() -> None:
    async with serve(Bot(settings=settings(poke_token=POKE, token=TOKEN))) as (bot, client):
        answer = await client.post(f"{bot.url}/hooks/poke/{FEED}", headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status == 401


async def test_a_poke_of_an_unknown_feed_is_404_and_a_get_is_405() -> None:
    async with serve(Bot(settings=settings(poke_token=POKE))) as (bot, client):
        proof = {"Authorization": f"Bearer {POKE}"}
        assert (await client.post(f"{bot.url}/hooks/poke/other", headers=proof)).status == 404
        wrong = await client.get(f"{bot.url}/hooks/poke/{FEED}", headers=proof)
        assert (wrong.status, wrong.headers["Allow"]) == (405, "POST")


# --- one-click unsubscribing -----------------------------------------------------------------------------------------


async def test_opening_an_unsubscribe_link_changes_nothing_and_shows_a_button() -> None:
    async with serve() as (bot, client):
        for method in ("GET", "HEAD"):
            answer = await client.request(method, f"{bot.url}/unsubscribe/good")
            assert answer.status == 200
        assert '<form method="post">' in await (await client.get(f"{bot.url}/unsubscribe/good")).text()
        assert bot.unsubscribed == []


async def test_a_post_unsubscribes_as_mail_programs_do_it() -> None:
    async with serve() as (bot, client):
        answer = await client.post(f"{bot.url}/unsubscribe/good", data={"List-Unsubscribe": "One-Click"})
        assert answer.status == 200
        assert bot.unsubscribed == ["good"]
        refused = await client.post(f"{bot.url}/unsubscribe/bad")
        assert (refused.status, refused.content_type) == (404, "text/html")
        assert "This link is not, or no longer, known." in await refused.text()
        assert (await client.post(f"{bot.url}/unsubscribe/%00%3Cx%3E")).status == 404


# --- WebSub ----------------------------------------------------------------------------------------------------------


async def test_a_hub_gets_its_challenge_back_as_plain_text_only_for_what_was_asked_for() -> None:
    async with serve() as (bot, client):
        query = {"hub.mode": "subscribe", "hub.topic": "https://f/", "hub.challenge": "<b>1</b>"}
        answer = await client.get(f"{bot.url}/websub/{FEED}", params=query)
        assert (answer.status, await answer.text(), answer.content_type) == (200, "<b>1</b>", "text/plain")
        other = await client.get(f"{bot.url}/websub/{FEED}", params={**query, "hub.topic": "https://other/"})
        assert other.status == 404


async def test_a_push_is_taken_when_signed_also_a_long_one() -> None:
    async with serve() as (bot, client):
        url, signed = f"{bot.url}/websub/{FEED}", {"X-Hub-Signature": "sha256=good"}
        assert (await client.post(url, data=b"x" * 100_000, headers=signed)).status == 202
        assert (await client.post(url, data=b"y")).status == 401
        assert (await client.post(f"{bot.url}/websub/other", data=b"z", headers=signed)).status == 404
        assert [len(body) for body in bot.hub.bodies] == [100_000, 1]
        assert (await client.post(url, data=io.BytesIO(b"x" * 2_000_001), headers=signed)).status == 413
