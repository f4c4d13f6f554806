"""docs/configuration.md names every key with the default that it really has."""

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from bot.config.reload import diff
from bot.config.settings import AuthSettings, FeedSettings, RouteSettings, Settings
from bot.config.sources import known_names
from tests.config.reading import read

TEXT = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
LISTS = ("feeds", "routes", "webhooks", "secrets")


def documented(title: str) -> dict[str, str]:
    """Return the keys and defaults of the table below a heading."""
    table = TEXT.split(f"\n{title}\n", 1)[1].split("\n#", 1)[0]
    return dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", table, re.MULTILINE))


def keys_of(model: type[BaseModel]) -> dict[str, object]:
    """Return a model's keys and defaults, but for secrets, which have a table of their own."""
    return {
        info.alias or name: info.default
        for name, info in model.model_fields.items()
        if "SecretStr" not in str(info.annotation)
    }


SECTIONS: dict[str, type[BaseModel]] = {
    "### `[feeds.auth]`": AuthSettings,
    "## `[[feeds]]`": FeedSettings,
    "## `[[routes]]`": RouteSettings,
}
SECTIONS.update({f"## `[{name}]`": type(value) for name, value in Settings() if isinstance(value, BaseModel)})


@pytest.mark.parametrize("title", SECTIONS)
def test_each_key_of_a_table_has_its_row_and_its_default(title: str) -> None:
    rows = documented(title)
    keys = keys_of(SECTIONS[title])
    assert set(rows) == set(keys)
    for key, default in keys.items():
        shown = rows[key].strip()
        if default is PydanticUndefined:
            assert shown == "needed", key
        elif shown == "–":
            assert default in (None, ()), key
        else:
            assert f"{value_of(title, key, shown)}" == f"{default}", key


def value_of(title: str, key: str, shown: str) -> object:
    """Return what a configuration that sets the documented default has at this key."""
    written = f"{key} = {shown.strip('`')}"
    if title == "## `[[feeds]]`":
        feed = read(f'[[feeds]]\nid = "a"\nurl = "https://example.org/"\n{written}').feeds[0]
        return getattr(feed, key)
    if title == "## `[[routes]]`":
        return getattr(read(f'[[routes]]\nto = "console"\n{written}').routes[0], key)
    name = title.strip("# `[]")
    assert tomllib.loads(written)
    return getattr(getattr(read(f"[{name}]\n{written}"), name), key)


def test_the_keys_at_the_top_have_their_rows() -> None:
    rows = documented("## At the top of the file")
    assert set(rows) == {name for name, value in Settings() if not isinstance(value, BaseModel) and name not in LISTS}
    written = read(f"state = {rows['state'].strip('`')}\ntimezone = {rows['timezone'].strip('`')}")
    assert diff(written, read("")) == ()


def test_each_secret_has_its_row() -> None:
    rows = set(re.findall(r"^\| `(FEEDBELL_\w+)` \|", TEXT, re.MULTILINE))
    assert rows == {name for name, key in known_names().items() if key.from_file} | {
        "FEEDBELL_WEBHOOKS__NAME",
        "FEEDBELL_SECRETS__NAME",
    }
