"""Which picture of a post is shown, and what an episode without a page leads to."""

import pytest

from bot.core.model.entry import ParsedEntry
from tests.core.documents import first, read, rss
from tests.core.test_publishers import card

PAGE = "<title>t</title><link>https://e.org/2026/post.html</link>"


def pictured(html: str) -> str | None:
    """The picture of a post with this text, which leads to PAGE."""
    return first(rss(f"{PAGE}<description><![CDATA[{html}]]></description>")).image


@pytest.mark.parametrize(
    ("html", "image"),
    [
        ('<p>a</p><img alt="x" src="https://e.org/a.jpg"><img src="b.jpg">', "https://e.org/a.jpg"),
        ("<IMG SRC='a.jpg?x=1&amp;y=2' />", "https://e.org/2026/a.jpg?x=1&y=2"),
        ('<img src="//cdn.e.org/a.jpg" width="640">', "https://cdn.e.org/a.jpg"),
        ('<img src="https://count.org/p.gif" width="1" height="1"><img src="/a.jpg">', "https://e.org/a.jpg"),
        ('<img src="https://count.org/p.gif" height=" 1px ">', None),
        ('<img src="https://s.org/1f600.png" class="wp-smiley"><img src="/a.jpg">', "https://e.org/a.jpg"),
        ('<img src="https://s.org/emoji/1f600.png">', None),
        ('<img src="data:image/png;base64,AA">', None),
        ("<img alt='no address'>", None),
        ("<p>None</p>", None),
    ],
)
def test_the_picture_of_a_post_may_stand_in_its_text(html: str, image: str | None) -> None:
    assert pictured(html) == image


def test_a_picture_that_the_feed_names_comes_before_one_in_the_text() -> None:
    named = '<enclosure url="https://e.org/named.jpg" type="image/jpeg"/>'
    assert (
        first(rss(f'{PAGE}{named}<description>&lt;img src="a.jpg"&gt;</description>')).image
        == "https://e.org/named.jpg"
    )
    long = f"{PAGE}<description>Teaser</description><content:encoded><![CDATA[<img src='a.jpg'>]]></content:encoded>"
    assert first(rss(long)).image == "https://e.org/2026/a.jpg"
    item = '{"id": "1", "url": "https://e.org/2026/x", "content_html": "<img src=\'a.jpg\'>"%s}'
    document = '{"version": "https://jsonfeed.org/version/1.1", "items": [%s]}'
    assert first(document % item % "").image == "https://e.org/2026/a.jpg"
    assert first(document % item % ', "image": "https://e.org/b.jpg"').image == "https://e.org/b.jpg"


def test_an_episode_without_a_page_leads_to_what_there_is_to_hear() -> None:
    sound = '<enclosure url="https://e.org/5.mp3" type="audio/mpeg" length="1"/>'
    [episode] = read(rss(f"<title>Episode 5</title><guid isPermaLink='false'>5</guid>{sound}")).items
    assert isinstance(episode, ParsedEntry)
    assert (episode.link, card(episode).link) == (None, "https://e.org/5.mp3")
    assert card(first(rss(f"{PAGE}{sound}"))).link == "https://e.org/2026/post.html"
