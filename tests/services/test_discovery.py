"""From a page to the feed behind it, asking for no more than may be there."""

import pytest

from bot.core.errors import FetchError, NotAFeed
from bot.core.model.feed import Fetched, Validators
from bot.services.discovery import Discovery
from tests.services.fakes import FakeParser, Page, body_of

SITE = "https://example.org"
FEED = body_of(Page(titles=["a"]))


class Pages:
    """A site of these pages; `asked` for what it was."""

    def __init__(self, pages: dict[str, bytes]) -> None:
        self._pages = pages
        self.asked: list[str] = []

    async def get_page(self, url: str, *, from_chat: bool, allow_private: tuple[str, ...] = ()) -> Fetched:
        self.asked.append(url)
        if url not in self._pages:
            raise FetchError("not there", status=404)
        return Fetched(url=url, body=self._pages[url], content_type=None, validators=Validators(url=url))


async def found(pages: dict[str, bytes], url: str) -> tuple[str, list[str]]:
    site = Pages(pages)
    discovered = await Discovery(site, FakeParser()).find(url, from_chat=False)
    return discovered.url, site.asked


@pytest.mark.parametrize("place", ["index.xml", "feed/", "feed.xml", "atom.xml", "rss.xml", "rss", "feed.json"])
async def test_a_page_that_names_no_feed_may_have_one_at_any_usual_place(place: str) -> None:
    url, _ = await found({f"{SITE}/": b"<html></html>", f"{SITE}/{place}": FEED}, f"{SITE}/")
    assert url == f"{SITE}/{place}"


async def test_the_feed_of_a_site_is_found_from_a_page_within_it() -> None:
    page = f"{SITE}/2026/05/post.html"
    url, _ = await found({page: b"<html></html>", f"{SITE}/feed/": FEED}, page)
    assert url == f"{SITE}/feed/"


async def test_where_a_page_names_feeds_no_other_place_is_tried_and_not_many_of_these() -> None:
    names = b"".join(b'<link rel="alternate" type="application/rss+xml" href="/%d">' % number for number in range(9))
    site = Pages({f"{SITE}/": names, f"{SITE}/index.xml": FEED})
    with pytest.raises(NotAFeed):
        await Discovery(site, FakeParser()).find(f"{SITE}/", from_chat=False)
    assert site.asked == [f"{SITE}/", *(f"{SITE}/{number}" for number in range(4))]
