"""The documentation keeps up with the code: every setting, command and metric has its line."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator

import click
import pytest

from tests.test_architecture import ROOT, python_files, tree_of

METRIC_KINDS = {"Counter", "Gauge", "Histogram", "Summary", "Info", "Enum"}


def text_of(*names: str) -> str:
    """Return the joined text of documents."""
    return "\n".join((ROOT / name).read_text(encoding="utf-8") for name in names)


def setting_keys() -> set[str]:
    """Return every key that may stand in config.toml or, for a secret, in the environment."""
    from pydantic import BaseModel

    package = importlib.import_module("bot.config")
    names = [found.name for found in pkgutil.walk_packages(package.__path__, "bot.config.")]
    models = {
        value
        for name in names
        for value in vars(importlib.import_module(name)).values()
        if inspect.isclass(value) and issubclass(value, BaseModel) and value.__module__.startswith("bot.config")
    }
    return {field.alias or key for model in models for key, field in model.model_fields.items()}


@pytest.mark.parametrize("document", ["config.example.toml", "docs/configuration.md"])
def test_every_setting_is_documented(document: str) -> None:
    text = text_of(document)
    keys = setting_keys()
    assert keys
    assert sorted(key for key in keys if not re.search(rf"\b{re.escape(key)}\b", text, re.IGNORECASE)) == []


def command_names(group: click.Group, before: str = "") -> Iterator[str]:
    """Yield each command as it is typed, `opml import` for one in a group."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from command_names(command, f"{before}{name} ")
        elif not command.hidden:
            yield f"{before}{name}"


def test_every_command_is_documented() -> None:
    text = text_of("docs/commands.md", "docs/operations.md")
    names = set(command_names(importlib.import_module("bot.cli.group").group))
    assert names
    assert sorted(name for name in names if not re.search(rf"[`| ]{re.escape(name)}\b", text)) == []


def metric_names() -> set[str]:
    """Return the names of the metrics that the product makes, read from its source."""
    found = set()
    for path in python_files("bot"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(re.findall(r"\Afeedbell_[a-z0-9_]+\Z", node.value))
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in METRIC_KINDS and node.args:
                found |= names_in_call(node)
    return found


def names_in_call(call: ast.Call) -> set[str]:
    """Return the full name that one call gives a metric, none when it is no literal."""
    given = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
    if not isinstance(given, str):
        return set()
    spaces = [ast.unparse(word.value).strip("'") for word in call.keywords if word.arg == "namespace"]
    return {f"{space}_{given}" for space in spaces} or {given}


def test_every_metric_is_documented() -> None:
    text = text_of("docs/operations.md")
    assert sorted(name for name in metric_names() if name not in text) == []
