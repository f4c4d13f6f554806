"""Answers in Slack's form, and the way to a response URL."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

import aiohttp

from bot.chat.buttons import that_fit, to_value
from bot.chat.slack.requests import Request
from bot.core.errors import Deferred, NotifyError
from bot.core.model.message import JsonValue
from bot.notifiers.http import ask
from bot.notifiers.slack_layout import to_payload, words
from bot.ports import Clock
from bot.services.commands import Answer, Button

log = logging.getLogger(__name__)

Json = dict[str, JsonValue]

HOSTS = frozenset({"hooks.slack.com", "hooks.slack-gov.com"})
VALUE = 2_000  # characters of a button's value
LABEL = 75
HINT = 1_000
TRIES = 3
PAUSE = timedelta(seconds=1)


def to_json(answer: Answer) -> Json:
    """Return the body of an answer to a command."""
    payload = to_payload(answer.message, metadata=False)
    blocks = payload.get("blocks")
    shown: list[JsonValue] = [*blocks] if isinstance(blocks, list) else []
    if answer.hint:
        shown.append(_hint(answer.hint))
    if buttons := that_fit(answer.buttons, VALUE):
        shown.append({"type": "actions", "elements": _elements(buttons)})
    return {**payload, "blocks": shown, "response_type": "in_channel" if answer.public else "ephemeral"}


def to_reply(answer: Answer, request: Request) -> Json:
    """Return what is posted to the response URL."""
    return {**to_json(answer), "replace_original": request.replaces and not answer.public}


def _hint(text: str) -> Json:
    return {"type": "context", "elements": [words(text, HINT)]}


def _elements(buttons: Sequence[Button]) -> list[JsonValue]:
    return [_element(number, button) for number, button in enumerate(buttons)]


def _element(number: int, button: Button) -> Json:
    label = words(button.label, LABEL)
    element: Json = {"type": "button", "action_id": f"ask-{number}", "text": label, "value": to_value(button)}
    return {**element, "style": "primary"} if button.is_main else element


class ResponseUrls:
    """Posts to response URLs, but only to Slack's (small print 4)."""

    def __init__(self, session: aiohttp.ClientSession, clock: Clock, api_url: str) -> None:
        self._session = session
        self._clock = clock
        self._own = urlsplit(api_url).hostname

    async def post(self, url: str, body: Json) -> None:
        """Post once. Only what surely did not arrive is posted again: a second answer is worse than none."""
        if not self.is_slacks(url):
            log.warning("an answer was not sent: its response URL is not Slack's")
            return
        for attempt in range(TRIES):
            try:
                answer = await ask(self._session, "POST", url, service="Slack", payload=body)
            except Deferred:
                await self._clock.sleep(PAUSE * (attempt + 1))
                continue
            except NotifyError as error:
                log.warning("an answer may not have arrived", extra={"error": str(error)})
                return
            if answer.status != 429:
                if answer.status >= 400:
                    log.warning("Slack refused an answer", extra={"status": answer.status})
                return
            await self._clock.sleep(min(answer.retry_after(now=self._clock.now()) or PAUSE, timedelta(seconds=30)))
        log.warning("an answer could not be sent")

    def is_slacks(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        if parts.hostname is None or parts.username is not None:
            return False
        if parts.hostname in HOSTS:
            return parts.scheme == "https"
        return parts.scheme in ("http", "https") and parts.hostname == self._own
