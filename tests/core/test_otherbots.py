"""The states of other bots, read for a move to this one."""

import hashlib
import json

import pytest

from bot.core.errors import UsageError
from bot.core.otherbots import READERS, OtherFeed, from_feedforbot, from_monitorss, from_rss2email

URL = "https://example.org/feed.xml"
CFG = f"[DEFAULT]\nto = a@example.org\n\n[feed.news]\nurl = {URL}\n\n[feed.odd]\nurl = file:///etc/passwd\n"
YAML = f"schedulers:\n  - listener:\n      type: rss\n      params:\n        url: '{URL}'  # the news\n"


@pytest.mark.parametrize(
    "data",
    [
        {"version": 2, "feeds": [{"name": "news", "seen": {"g1": {"id": "<1@x>"}}}]},
        {"version": 1, "feeds": [{"name": "news", "seen": {"g1": "<1@x>"}}]},
    ],
)
def test_rss2email_is_read_in_both_versions_of_its_data(data: dict[str, object]) -> None:
    feeds = from_rss2email({"rss2email.cfg": CFG, "rss2email.json": json.dumps(data)})
    assert feeds == (OtherFeed(url=URL, title="news", told=frozenset({"g1"})),)


def test_rss2email_is_found_among_the_files_of_other_programs() -> None:
    told = json.dumps({"version": 2, "feeds": [{"name": "news", "seen": {"g1": {}}}]})
    others = {"a.json": "no json", "a.cfg": "[feed.other]\nurl = https://x.example/feed\n"}
    found = from_rss2email({**others, "rss2email.cfg": CFG, "rss2email.json": told})
    assert found == (OtherFeed(url=URL, title="news", told=frozenset({"g1"})),)


def test_rss2email_without_its_data_gives_the_feeds_alone() -> None:
    assert from_rss2email({"rss2email.cfg": CFG}) == (OtherFeed(url=URL, title="news"),)


def test_feedforbot_is_read_with_the_cache_of_each_feed() -> None:
    cache = json.dumps([{"id": "g1", "grabbed_at": "2026-01-01T00:00:00+00:00"}, {"id": ""}, "odd"])
    name = f"{hashlib.sha256(URL.encode()).hexdigest()}.json"
    assert from_feedforbot({"config.yml": YAML, name: cache}) == (OtherFeed(url=URL, told=frozenset({"g1"})),)
    assert from_feedforbot({"config.yaml": YAML}) == (OtherFeed(url=URL),)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{"url": URL, "title": "News"}, {"url": URL}, {"url": "javascript:1"}]),
        json.dumps({"feeds": [{"url": URL, "title": "News"}]}),
        json.dumps({"url": URL, "title": "News"}) + "\n\n" + json.dumps({"title": "no address"}),
    ],
)
def test_monitorss_is_read_from_a_list_an_object_and_lines(text: str) -> None:
    assert from_monitorss({"feeds.json": text}) == (OtherFeed(url=URL, title="News"),)


def test_an_address_with_a_password_is_left_out_of_no_list() -> None:
    url = "https://u:p@blog.example/feed"
    assert [feed.url for feed in from_monitorss({"feeds.json": json.dumps({"url": url})})] == [url]
    assert [feed.url for feed in from_rss2email({"rss2email.cfg": f"[feed.x]\nurl = {url}\n"})] == [url]
    assert [feed.url for feed in from_feedforbot({"config.yml": f"- url: {url}\n"})] == [url]


@pytest.mark.parametrize("bot", sorted(READERS))
@pytest.mark.parametrize("files", [{}, {"x.json": "[]"}, {"x.json": "", "x.cfg": "", "x.yml": ""}])
def test_a_folder_without_a_state_is_an_error_that_says_what_to_name(bot: str, files: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="no feeds found"):
        READERS[bot](files)


def test_a_state_that_is_no_json_is_an_error() -> None:
    with pytest.raises(UsageError, match="no JSON"):
        from_rss2email({"rss2email.cfg": CFG, "rss2email.json": "{"})
    with pytest.raises(UsageError, match="no feeds found"):
        from_rss2email({"rss2email.json": "7"})
    with pytest.raises(UsageError, match="no JSON"):
        from_monitorss({"x.json": "{broken"})
