"""What Discord's answers mean for a message: the JSON codes of delivery.md, §1.2."""

from datetime import datetime, timedelta

from bot.core.errors import (
    Deferred,
    DestinationDown,
    LookupImpossible,
    LookupUnavailable,
    MessageRejected,
    NotifyError,
    OutcomeUnknown,
    Scope,
)
from bot.core.retry_after import parse_retry_after
from bot.notifiers.http import Answer

UNKNOWN_MESSAGE = 10008
_DESTINATION = {
    10003: "the channel does not exist",
    10004: "the server does not exist, or the bot is not in it",
    10013: "there is no such person",
    10015: "the webhook was removed",
    40058: "a forum channel takes no messages: name one of its threads",
    50001: "the bot may not see the channel",
    50007: "the person takes no direct messages from the bot",
    50008: "the channel takes no messages (a forum channel? name one of its threads)",
    50013: "the bot may not write there",
    50027: "the webhook's token is not valid",
    50033: "there is no such person",
    50083: "the thread is archived",
    160005: "the thread is locked",
    160006: "the server has too many active threads",
    220001: "the webhook belongs to a forum channel, which takes no plain messages",
}
_MESSAGE = {
    10008: "the message to change is gone",
    40005: "the message is too large",
    50005: "the message is not ours",
    50006: "the message is empty for Discord (does the bot lack EMBED_LINKS?)",
    50035: "the message is malformed",
    50109: "the message is no JSON",
    240000: "the harmful-link filter stopped it",
}
_LATER = frozenset({20016, 20028, 20029, 40062, 40333})
_NO_HISTORY = frozenset({10003, 10004, 50001, 50013})


def to_error(answer: Answer, *, now: datetime) -> NotifyError:
    """Say what an answer that is no success means."""
    body, code = answer.json, code_of(answer)
    if answer.status == 429 or code in _LATER:
        asked = parse_retry_after(body.get("retry_after"), now=now) if isinstance(body, dict) else None
        asked = asked if asked is not None else answer.retry_after(now=now)
        return Deferred("Discord asks us to slow down", retry_after=asked, throttled=True)
    if answer.status >= 500 or answer.status < 400:
        return OutcomeUnknown(f"Discord answered {answer.status}")
    if code in _MESSAGE:
        return MessageRejected(f"{_MESSAGE[code]} ({code}{_where(body)})")
    if code in _DESTINATION:
        return DestinationDown(f"{_DESTINATION[code]} ({code})")
    return _by_status(answer.status, code)


def to_lookup_error(error: NotifyError, answer: Answer) -> NotifyError:
    """Turn a failed look into the history into what it means: never, or not now."""
    if code_of(answer) in _NO_HISTORY or answer.status == 403:
        return LookupImpossible(f"the bot may not read the channel's history: {error}")
    return LookupUnavailable(str(error), retry_after=error.retry_after)


def is_invalid_request(answer: Answer) -> bool:
    """Whether Discord counts this answer towards the ban of our address: 10,000 in ten minutes (T29)."""
    shared = answer.headers.get("x-ratelimit-scope") == "shared"
    return answer.status in (401, 403) or (answer.status == 429 and not shared)


def code_of(answer: Answer) -> int:
    """Return the JSON code; 0 where there is none."""
    body = answer.json
    code = body.get("code") if isinstance(body, dict) else None
    return code if isinstance(code, int) else 0


def asked_wait(answer: Answer, *, now: datetime) -> timedelta | None:
    """Return how long the bucket stays empty, where this answer used its last request up."""
    if answer.headers.get("x-ratelimit-remaining") != "0":
        return None
    return parse_retry_after(answer.headers.get("x-ratelimit-reset-after"), now=now)


def _by_status(status: int, code: int) -> NotifyError:
    told = f"{status}, code {code}" if code else str(status)
    if status == 401:
        return DestinationDown(
            f"Discord refuses the bot token (FEEDBELL_DISCORD__BOT_TOKEN): {told}", scope=Scope.ACCOUNT
        )
    if status in (403, 404, 410):
        return DestinationDown(f"Discord refuses the destination ({told})")
    if status in (400, 413, 422):
        return MessageRejected(f"Discord refused the message ({told})")
    return Deferred(f"Discord answered {told}")


def _where(body: object) -> str:
    """Return the path to the first complaint: which field it was."""
    path: list[str] = []
    errors = body.get("errors") if isinstance(body, dict) else None
    while isinstance(errors, dict) and errors and "_errors" not in errors and len(path) < 6:
        name = next(iter(errors))
        path.append(str(name)[:40])
        errors = errors[name]
    return f", {'.'.join(path)}" if path else ""
