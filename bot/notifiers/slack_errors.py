"""What Slack's answers mean for a message: the table of delivery.md, §1.1."""

import re
from datetime import timedelta

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

_LIMITED = frozenset({"ratelimited", "rate_limited"})
_LATER = frozenset({"message_limit_exceeded", "request_timeout"})
_MIGRATING = frozenset({"org_login_required", "team_added_to_org"})
MIGRATION_WAIT = timedelta(minutes=15)
_MESSAGE = frozenset(
    "no_text msg_too_long msg_blocks_too_long too_many_attachments metadata_too_large markdown_text_conflict "
    "invalid_attachments message_not_found cant_update_message edit_window_closed thread_not_found "
    "cannot_reply_to_message attachment_payload_limit_exceeded metadata_must_be_sent_from_app "
    "invalid_json json_not_object invalid_payload".split()
)
_MESSAGE_BEGINS = ("invalid_blocks", "invalid_metadata_", "invalid_arg")
_DESTINATION = {
    "channel_not_found": "the channel does not exist, or it is private and the bot is not invited",
    "is_archived": "the channel is archived",
    "channel_is_archived": "the channel is archived",
    "is_inactive": "the channel is archived or frozen",
    "not_in_channel": "the bot is not in the channel: invite it",
    "ekm_access_denied": "the workspace's own encryption keys refuse it",
    "messages_tab_disabled": "the app takes no direct messages",
    "no_permission": "the bot may not post there",
    "access_denied": "the bot may not post there",
    "action_prohibited": "an admin forbids posting there",
    "posting_to_general_channel_denied": "an admin forbids posting there",
    "user_not_found": "there is no such person",
    "user_disabled": "the person's account is disabled",
    "cannot_dm_bot": "a bot takes no direct messages",
    "no_service": "the webhook was removed",
    "no_active_hooks": "the webhook is disabled",
    "no_team": "the workspace is gone",
    "team_disabled": "the workspace is disabled",
    "invalid_token": "the webhook is not valid",
}
_ACCOUNT = frozenset(
    "invalid_auth not_authed account_inactive token_revoked token_expired missing_scope not_allowed_token_type "
    "accesslimited two_factor_setup_required team_access_not_granted no_authed".split()
)
# The token itself is no good, whatever is asked for.
REFUSED = frozenset("invalid_auth not_authed account_inactive token_revoked token_expired no_authed".split())
NO_HISTORY = frozenset(
    {"not_in_channel", "channel_not_found", "missing_scope", "method_not_supported_for_channel_type"}
)


def to_error(status: int, answer: object, *, retry_after: timedelta | None) -> NotifyError:
    """Say what an answer that is no success means. `answer`: the decoded body; HTTP is 200 even for most errors."""
    word = error_word(answer)
    if status == 429 or word in _LIMITED:
        return Deferred("Slack asks us to slow down", retry_after=retry_after, throttled=True)
    if status >= 500:
        return OutcomeUnknown(f"Slack answered {status}")
    if word in _LATER or word in _MIGRATING:
        return Deferred(f"Slack says {word}", retry_after=MIGRATION_WAIT if word in _MIGRATING else retry_after)
    if word in _MESSAGE or word.startswith(_MESSAGE_BEGINS):
        return MessageRejected(f"Slack refused the message: {word}{_details(answer)}")
    if word in _DESTINATION or word.startswith("restricted_action"):
        return DestinationDown(f"{_DESTINATION.get(word, 'a rule of the workspace forbids it')} ({word})")
    if word in _ACCOUNT:
        return DestinationDown(
            f"Slack refuses the bot token (FEEDBELL_SLACK__BOT_TOKEN): {word}{_needed(answer)}", scope=Scope.ACCOUNT
        )
    # internal_error and fatal_error may come after the message was stored; so may any word that we don't know.
    return OutcomeUnknown(f"Slack says {word}" if word else f"Slack gave an answer that can't be read ({status})")


def webhook_took_it(body: str) -> bool:
    """Tell whether a 2xx answer with this body means sent.

    Slack says "ok". Other servers that take Slack's messages say other things, and to doubt those would post again and
    again; but a page comes from something in between, and an error's word is an error.
    """
    said = body.strip()
    if said.startswith("<") or re.search(r'"(ok|success)"\s*:\s*false', said) or said.endswith("_error"):
        return False
    return isinstance(to_error(200, {"error": said}, retry_after=None), OutcomeUnknown)


def to_webhook_error(status: int, body: str, *, retry_after: timedelta | None) -> NotifyError:
    """The same for an incoming webhook, which answers by status and one word of text."""
    word = body.strip() if re.fullmatch(r"[a-z_]{3,60}", body.strip()) else ""
    known = to_error(status, {"error": word}, retry_after=retry_after)
    if not isinstance(known, OutcomeUnknown) or status >= 500 or status == 200:
        return known
    if status in (400, 413, 422):
        return MessageRejected(f"Slack refused the message ({status})")
    if status in (401, 403, 404, 410):
        return DestinationDown(f"Slack refuses the webhook ({status})")
    return Deferred(f"Slack's webhook answered {status}")


def to_lookup_error(error: NotifyError, answer: object) -> NotifyError:
    """Turn a failed look into the history into what it means: never, or not now."""
    word = error_word(answer)
    if word in NO_HISTORY:
        return LookupImpossible(why_no_history(answer))
    return LookupUnavailable(str(error), retry_after=error.retry_after)


def why_no_history(answer: object) -> str:
    """Return in words why a channel's history can't be read."""
    word = error_word(answer)
    if word == "missing_scope":
        return f"the token may not read the channel's history{_needed(answer)}"
    if word == "not_in_channel":
        return "the bot is not in the channel, so it can't read the history: invite it"
    return _DESTINATION.get(word, f"Slack says {word or 'nothing readable'}")


def error_word(answer: object) -> str:
    """Return the `error` of an answer; "" where there is none, or one that is no word."""
    word = answer.get("error") if isinstance(answer, dict) else None
    return word if isinstance(word, str) and re.fullmatch(r"\w{1,80}", word) else ""


def _details(answer: object) -> str:
    told = answer.get("response_metadata") if isinstance(answer, dict) else None
    messages = told.get("messages") if isinstance(told, dict) else None
    first = messages[0] if isinstance(messages, list) and messages else None
    return f", {first[:200]}" if isinstance(first, str) else ""


def _needed(answer: object) -> str:
    scope = answer.get("needed") if isinstance(answer, dict) else None
    return f" (it needs {scope[:100]})" if isinstance(scope, str) and scope else ""
