"""What people set chat up with: the Slack app's manifest, and the page about commands."""

from __future__ import annotations

import re
from pathlib import Path

from bot.services.commands import COMMANDS
from tests.servers.slack import SCOPES

ROOT = Path(__file__).parents[3]
MANIFEST = (ROOT / "deploy/slack-manifest.yaml").read_text(encoding="utf-8")


def test_the_manifest_asks_for_no_more_than_the_bot_uses() -> None:
    bot = MANIFEST.partition("    bot:\n")[2].partition("settings:")[0]
    assert set(re.findall(r"^ +- ([a-z:]+)", bot, re.MULTILINE)) == SCOPES - {"im:read"}


def test_the_manifest_has_both_commands_buttons_and_direct_messages() -> None:
    assert re.findall(r"command: (/\w+)", MANIFEST) == ["/latest", "/feedbell"]
    for line in ("messages_tab_enabled: true", "socket_mode_enabled: true", "is_enabled: true", "should_escape: false"):
        assert line in MANIFEST


def test_every_command_is_on_the_page_as_help_names_it() -> None:
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    assert [command.usage for command in COMMANDS.values() if f"`{command.usage}`" not in page] == []
