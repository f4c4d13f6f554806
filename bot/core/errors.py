"""Every error that is raised on purpose; its class says what can be done about it."""

from datetime import timedelta
from enum import Enum


class FeedbellError(Exception):
    """Base of all errors raised on purpose. The text is for people: lower case, what and which, no secret."""


class ConfigError(FeedbellError):
    """The operator's configuration is wrong; exit 78. `problems` holds every mistake found, in file order."""

    def __init__(self, problems: tuple[object, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class UsageError(FeedbellError):
    """A person asked for something that does not exist or is not allowed; the text says what would do."""


class PortUnavailable(FeedbellError):
    """`http.listen` can't be had now: somebody else listens there, or the address is not this machine's; exit 75."""


# --- the feed's side -------------------------------------------------------------------------------------------------


class FetchError(FeedbellError):
    """A feed could not be fetched; polled again after the backoff, or when the server asked."""

    def __init__(self, reason: str, *, status: int | None = None, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.retry_after = retry_after


class AddressRefused(FetchError):
    """The address is private, or the scheme or port is not allowed; nothing was connected (T1)."""


class ParseError(FeedbellError):
    """The bytes could not be read as a feed; the poll failed and no state changes (N13)."""


class NotAFeed(ParseError):
    """An HTML page, an empty body, other XML or JSON."""


class ParserFailed(ParseError):
    """The parse worker crashed, or went over its time or memory (T8)."""


# --- the store's side ------------------------------------------------------------------------------------------------


class StoreError(FeedbellError):
    """The store refused or failed; nothing was written."""


class StoreUnavailable(StoreError):
    """Temporary (disk full, locked from outside, server gone): stop sending, try again (R-13)."""


class StoreUnusable(StoreError):
    """Corrupt, missing though it was there, or of a newer version: exit 78 with a recovery text, never start afresh."""


class StoreHeld(StoreError):
    """Another process holds the SQLite file; exit 75. The text names the lock and the process."""


class LeaseLost(StoreError):
    """Somebody else took the lease over while this work ran; what was to be written is dropped."""


# --- the destination's side ------------------------------------------------------------------------------------------


class NotifyError(FeedbellError):
    """An attempt to deliver failed; the subclass says what is known. `retry_after` is what the service asked for."""

    def __init__(self, reason: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Deferred(NotifyError):
    """Surely not sent, and worth another try: a rate limit, a refused connection, a 4xx of SMTP.

    `throttled` marks a rate limit, which says nothing about the destination's health (R-18: 429 does not count).
    """

    def __init__(self, reason: str, *, retry_after: timedelta | None = None, throttled: bool = False) -> None:
        super().__init__(reason, retry_after=retry_after)
        self.throttled = throttled


class MessageRejected(NotifyError):
    """Surely not sent, and this very message never will be: the service finds it malformed or too long."""


class Scope(Enum):
    """How much is down: one destination, or all that use the same token or server."""

    DESTINATION = "destination"
    ACCOUNT = "account"


class DestinationDown(NotifyError):
    """Surely not sent; nothing will be until a person acts: archived, kicked out, token revoked."""

    def __init__(self, reason: str, *, scope: Scope = Scope.DESTINATION) -> None:
        super().__init__(reason)
        self.scope = scope


class OutcomeUnknown(NotifyError):
    """The message may or may not have been stored: look before sending again."""


class LookupUnavailable(NotifyError):
    """The look-up itself failed (down, 429): nothing is known yet; look again later."""


class LookupImpossible(NotifyError):
    """This destination has no way to look (webhooks, no membership, no history permission)."""


# --- inbound requests ------------------------------------------------------------------------------------------------


class Forged(FeedbellError):
    """An inbound request is not what it claims to be: answer 401."""
