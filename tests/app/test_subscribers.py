"""Whom a poll is for, as feed servers are told."""

from pathlib import Path

from bot.app.parts import subscribers_of
from bot.config.load import parse

CONFIG = """
[[feeds]]
id = "one"
url = "https://one.example/feed.xml"

[[feeds]]
id = "two"
url = "https://two.example/feed.xml"

[[routes]]
to = ["slack:#news", "console"]

[[routes]]
to = ["console", "discord:1", "discord:2"]
feeds = ["two"]
"""


def test_each_feed_is_polled_for_the_destinations_that_its_routes_name(tmp_path: Path) -> None:
    settings = parse(CONFIG, {}, path=tmp_path / "config.toml", secret_dirs=())
    assert subscribers_of(settings) == {"one": 2, "two": 4}


def test_a_feed_that_no_route_names_is_polled_for_one(tmp_path: Path) -> None:
    settings = parse(CONFIG.partition("[[routes]]")[0], {}, path=tmp_path / "config.toml", secret_dirs=())
    assert subscribers_of(settings) == {"one": 1, "two": 1}
