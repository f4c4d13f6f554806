"""Sentences of `expected` that no check of the case puts into a form: for a case by its id, after all its steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from tests.cases.posts import Post
from tests.cases.world import World

Listing = list[dict[str, object]]


async def listed(world: World, *command: str) -> Listing:
    done = await world.bot.call(*command, "--json")
    assert isinstance(done.json, list), done.err
    return done.json


def every(world: World) -> list[Post]:
    return [post for posts in world.posts().values() for post in posts]


async def still_readable(world: World) -> None:
    assert [entry["title"] for entry in await listed(world, "latest", "news")] == ["Ёлка «Победа» — открыта"]


async def no_wrong_date(world: World) -> None:
    assert not [post for post in every(world) if " Oct " in post.text]


async def absolute_in_mail(world: World) -> None:
    assert all(link.startswith(("https://", "http://")) for post in every(world) for link in post.links)


async def subscription_shows_redirector(world: World) -> None:
    [feed] = await listed(world, "feeds")
    assert str(feed["url"]).endswith("/go.xml")


async def honest_agent(world: World) -> None:
    assert all((request.header("User-Agent") or "").startswith("feedbell/") for request in world.feeds.requests)


async def same_titles_by_latest(world: World) -> None:
    titles = {str(entry["title"]) for entry in await listed(world, "latest", "news", "-n", "4")}
    assert titles == {"Tom & Jerry’s day", "Fish & chips", "“Quoted” – twice", "AT&T results"}


async def clean_cuts(world: World) -> None:
    for post in every(world):
        for line in (post.title, *post.text.split("\n")):
            assert not line.rstrip("…").endswith(("&", "&a", "&am", "&amp", "\u200d")), line
            line.encode()  # half an emoji is no character


async def few_refusals(world: World) -> None:
    assert posted_to(world, "") <= 2 * 2, "more than one refused attempt for an entry"


async def only_own_links(world: World) -> None:
    assert all("://www.example.org" in link for post in every(world) for link in post.links)


async def dead_channels_are_told(world: World) -> None:
    status = await world.bot.call("status")
    for name in ("#archived", "#missing"):
        assert posted_to(world, name) <= 4, f"{name} was tried {posted_to(world, name)} times"
        assert name in status.out, status.out


async def blank_is_encoded(world: World) -> None:
    [post] = [post for post in every(world) if post.title == "Blank inside"]
    assert post.links[0] == "https://www.example.org/a%20b.html"


async def no_mail_twice(world: World) -> None:
    ids = [mail.message_id for mail in world.smtp.messages]
    assert len(ids) == len(set(ids))


def posted_to(world: World, channel: str) -> int:
    requests = [request for request in world.slack.requests if request.path.endswith("chat.postMessage")]
    return sum(f'"channel":"{channel}' in request.body.decode().replace('": "', '":"') for request in requests)


BESIDE: Mapping[str, Callable[[World], Awaitable[None]]] = {
    "C035": still_readable,
    "C037": no_wrong_date,
    "C038": absolute_in_mail,
    "C052": subscription_shows_redirector,
    "C055": honest_agent,
    "C066": same_titles_by_latest,
    "C068": clean_cuts,
    "C073": few_refusals,
    "C074": only_own_links,
    "C076": dead_channels_are_told,
    "C081": blank_is_encoded,
    "C089": no_mail_twice,
}
