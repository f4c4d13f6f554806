"""T17, T22, T25: what is open, and where secrets are, before anybody has configured anything."""

from __future__ import annotations

import re

import pytest

from bot.config.settings import Settings
from bot.config.values import is_loopback
from tests.config.reading import headlines
from tests.test_architecture import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")


def test_unless_told_otherwise_the_port_is_for_this_machine_alone() -> None:
    assert is_loopback(Settings().http.address[0])
    assert re.findall(r"^EXPOSE (.+)$", DOCKERFILE, re.MULTILINE) == ["8080"]
    assert re.findall(r"- ([\d.:]+):8080$", COMPOSE, re.MULTILINE) == ["127.0.0.1:8080"]


def test_the_image_runs_as_nobody_and_needs_no_shell() -> None:
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE) == ["65532:65532"]
    steps = re.findall(r"^(?:RUN|CMD|ENTRYPOINT|HEALTHCHECK .*CMD) (.)", DOCKERFILE, re.MULTILINE)
    assert len(steps) > 3
    assert set(steps) == {"["}


def test_no_layer_of_the_image_holds_a_secret() -> None:
    assert not re.search(r"FEEDBELL_\w*(TOKEN|SECRET|PASSWORD|WEBHOOK)", DOCKERFILE)
    copied = re.findall(r"^COPY (?:--\S+ )*(.+)$", DOCKERFILE, re.MULTILINE)
    assert not any(name in (".", "config", "config.toml", "secrets") for line in copied for name in line.split()[:-1])


@pytest.mark.parametrize(
    "text",
    [
        '[slack]\nbot_token = "xoxb-1-canary"',
        '[http]\ntoken = "canary"',
        '[[feeds]]\nid = "a"\nurl = "https://me:canary@e.org/"',
        '[webhooks]\nhook = "https://hooks.example/canary"',
    ],
)
def test_a_secret_in_the_file_is_an_error_that_does_not_repeat_it(text: str) -> None:
    told = headlines(text)
    assert told
    assert not any("canary" in line for line in told)
