"""No secret in any output, whatever its shape, wherever it comes from (T16)."""

from __future__ import annotations

import base64
import io
import json
import logging
import sys
import warnings
from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote

import pytest

from bot.telemetry.logs import setup_logging
from bot.telemetry.redaction import HIDDEN, Redactor

SHAPED = [
    "xoxb-" + "1234567890-1234567890-AbCdEfGhIjKl",
    "xoxp-" + "9-8-7-secretsecret",
    "xoxe.xoxp-" + "1-Mi0yLTEyMzQ1Njc4",
    "xapp-" + "1-A012-345-0123456789abcdef",
    "https://hooks.slack.com/services/" + "T000/B000/XXXXXXXXXXXX",
    "https://hooks.slack.com/commands/" + "T000/123/AbCdEfGh",
    "https://discord.com/api/webhooks/" + "123456789012345678/AbC-dEf_gHi",
    "https://discord.com/api/v10/webhooks/" + "123456789012345678/AbC-dEf_gHi?wait=true",
    "MTIzNDU2Nzg5MDEyMzQ1Njc4" + ".GAbCdE.abcdefghijklmnopqrstuvwxyz0123456789AB",
    "postgresql://bell:" + "pa55-word@db.example.org/bell",
    "https://user:" + "s3cret@feeds.example.org/x",
    "{'Authorization': 'Bearer " + "abcdefgh12345678'}",
    "Authorization: Basic " + "dXNlcjpwYXNzd29yZA==",
    "Authorization: Bot " + "abc.def.ghi-jkl",
    "Bearer " + "0123456789abcdef",
    "AUTH PLAIN " + "AG5ld3MAaHVudGVyMg==",
    "password=" + "hunter2hunter2",
    "{'password': '" + "hunter2hunter2'}",
    "FEEDBELL_EMAIL__PASSWORD=" + "hunter2hunter2",
    "https://example.org/feed?access_token=" + "abcdef123456&x=1",
    "https://bell.example.org/unsubscribe/" + "AbCdEf-123_456",
]
TELLTALES = [
    "AbCdEf",
    "secretsecret",
    "Mi0yL",
    "0123456789abc",
    "XXXXXXXX",
    "gHi",
    "pa55",
    "s3cret",
    "abcdefgh",
    "dXNl",
    "ghi-jkl",
    "AG5l",
    "hunter2",
    "abcdef",
]


@pytest.mark.parametrize("text", SHAPED)
def test_what_is_shaped_like_a_secret_is_hidden(text: str) -> None:
    shown = Redactor()(f"failed: {text} and so on")
    assert HIDDEN in shown
    assert not [tale for tale in TELLTALES if tale in shown]
    assert shown.startswith("failed: ")
    assert shown.endswith(" and so on")


@pytest.mark.parametrize(
    "text",
    [
        "invalid token: revoked",
        "Slack asks for Basic authentication",
        "Bot connected to the gateway",
        "https://blog.example.org/ai-networking/index.xml?page=2#top",
        "user@example.org was rejected: 550 mailbox unavailable",
        "the signature does not match",
        "slack:#ai-networking",
        "keeps 12:05:33 as it is",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert Redactor(["a-known-secret"])(text) == text


def test_the_secrets_in_force_are_hidden_in_each_form_in_which_they_travel() -> None:
    secret = 'k"ä\\&? 1234'
    redact = Redactor([secret, "k", ""])
    for form in (
        secret,
        quote(secret, safe=""),
        repr(secret),
        json.dumps(secret, ensure_ascii=False),
        base64.b64encode(secret.encode()).decode(),
    ):
        assert "1234" not in redact(f"x {form} y")
        assert HIDDEN in redact(form)
    redact.know(["another-one"])
    assert redact("another-one") == HIDDEN


# --- the log ---------------------------------------------------------------------------------------------------------

CANARY = "canary-0815-canary"


@pytest.fixture
def kept_logging() -> Iterator[None]:
    """Put the process's logging back as it was."""
    root = logging.getLogger()
    before = root.handlers, root.level, sys.excepthook, logging.raiseExceptions
    yield
    root.handlers, _, sys.excepthook, logging.raiseExceptions = before
    root.setLevel(before[1])
    logging.captureWarnings(False)
    for name in list(logging.Logger.manager.loggerDict):
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.mark.usefixtures("kept_logging")
@pytest.mark.parametrize("format", ["text", "json"])
@pytest.mark.parametrize("level", ["debug", "info"])
def test_no_secret_reaches_the_log_on_any_path(format: Literal["text", "json"], level: str) -> None:
    out = io.StringIO()
    setup_logging(level, format, Redactor([CANARY]), out)
    log = logging.getLogger("bot.edge")
    log.info("event %s", CANARY)
    log.info(CANARY, extra={"url": f"https://x/{CANARY}", "list": [CANARY], "map": {"a": {"password": "pw-secret-9"}}})
    log.info("fact", extra={"poke_token": "pw-secret-9"})
    try:
        try:
            raise ValueError(f"inner {CANARY}")
        except ValueError as inner:
            raise RuntimeError(f"password=pw-secret-9 {CANARY}") from inner
    except RuntimeError:
        log.exception("failed", stack_info=True)
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    for library in ("slack_sdk.web.client", "discord.http", "aiohttp.client", "asyncio", "aiosmtplib"):
        logging.getLogger(library).debug("headers: Authorization=%s", CANARY)
        logging.getLogger(library).warning("headers: %s", {"Authorization": f"Bearer {CANARY}x"})
    log.info("%d %d", CANARY)  # a library that gets its own arguments wrong
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(f"odd {CANARY}", UserWarning, stacklevel=1)
    shown = out.getvalue()
    assert CANARY not in shown
    assert "pw-secret-9" not in shown
    assert "inner [redacted]" in shown
    assert len(shown.splitlines()) == 12


@pytest.mark.usefixtures("kept_logging")
@pytest.mark.parametrize("format", ["text", "json"])
def test_a_record_is_one_line_whatever_it_holds(format: Literal["text", "json"]) -> None:
    out = io.StringIO()
    setup_logging("info", format, None, out)
    hostile = "a\nb\r\x1b[31m\x00\u2028\u202e\x85 é 日本 👩‍💻"
    logging.getLogger("bot").info("title", extra={"title": hostile})
    line = out.getvalue()
    assert line.count("\n") == 1
    assert not any(char in line for char in "\r\x1b\x00\u2028\u202e\x85")
    assert "é 日本 👩‍💻" in line
    if format == "json":
        assert json.loads(line)["title"] == hostile


@pytest.mark.usefixtures("kept_logging")
def test_json_has_the_event_and_its_facts_and_text_reads_well() -> None:
    out = io.StringIO()
    setup_logging("info", "json", None, out)
    facts = {"feed": "ai", "new": 2, "ok": True, "none": None}
    logging.getLogger("bot.services.intake").info("feed polled", extra=facts)
    line = json.loads(out.getvalue())
    assert line.pop("at").endswith("Z")
    assert line == {"level": "info", "logger": "services.intake", "event": "feed polled", **facts}
    out = io.StringIO()
    setup_logging("info", "text", None, out)
    logging.getLogger("bot.services.intake").info("feed polled", extra={"feed": "ai", "error": "no answer"})
    logging.getLogger("bot.services.intake").debug("not shown")
    assert out.getvalue().endswith(' INFO  services.intake: feed polled  feed=ai error="no answer"\n')
    assert out.getvalue().count("\n") == 1
