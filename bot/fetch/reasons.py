"""Says in plain words, and without a secret, why a fetch failed."""

import errno
import socket
import ssl
from datetime import timedelta
from typing import Final

import aiohttp

from bot.core.errors import AddressRefused, FetchError
from bot.fetch.guard import REFUSED, ConnectionRefusedByGuard

_STATUS_WORDS: Final = {
    204: "it has nothing to give",
    205: "it has nothing to give",
    206: "it gave only a part",
    300: "it offers several pages and no feed",
    304: "nothing has changed, though we asked for all of it",
    400: "it does not understand the request",
    401: "it wants a login, or another one",
    402: "it wants to be paid",
    403: "it does not let us in",
    404: "there is no such page",
    406: "it has no feed in a form that we read",
    408: "it waited too long for us",
    410: "the feed is gone for good",
    421: "it does not answer for this host",
    429: "too many requests",
    451: "it may not show this, for legal reasons",
    500: "it has an error of its own",
    502: "the server behind it does not answer well",
    503: "it is busy or under repair",
    504: "the server behind it does not answer",
}
_OS_WORDS: Final = {
    errno.ECONNREFUSED: "refuses connections",
    errno.ECONNRESET: "closed the connection",
    errno.EHOSTUNREACH: "can't be reached",
    errno.ENETUNREACH: "can't be reached",
    errno.ETIMEDOUT: "does not answer",
    errno.EADDRNOTAVAIL: "can't be reached",
}


def status_error(status: int, retry_after: timedelta | None) -> FetchError:
    words = _STATUS_WORDS.get(status) or _class_words(status)
    return FetchError(f"the server says {status}: {words}", status=status, retry_after=retry_after)


def _class_words(status: int) -> str:
    if status >= 500:
        return "it has an error of its own"
    if status >= 400:
        return "it refuses the request"
    return "it gave no feed"


def to_error(error: BaseException, host: str) -> FetchError:
    """Translate what aiohttp, ssl and the system raise; names at most the host, as URLs may hold tokens."""
    if isinstance(error, FetchError):
        return error
    if isinstance(error, aiohttp.InvalidURL) or isinstance(getattr(error, "os_error", None), ConnectionRefusedByGuard):
        return AddressRefused(REFUSED)
    return FetchError(_connection_words(error, host) or _answer_words(error, host))


def _connection_words(error: BaseException, host: str) -> str | None:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"the certificate of {host} is not trusted{_certificate_words(error.certificate_error)}"
        case aiohttp.ClientConnectorDNSError():
            return _name_words(error.os_error, host)
        case aiohttp.ClientConnectorSSLError():
            return f"{host} does not speak proper TLS"
    return None


def _answer_words(error: BaseException, host: str) -> str:
    match error:
        case TimeoutError():
            return f"{host} does not answer in time"
        case aiohttp.ClientPayloadError():
            return "the answer broke off before its end"
        case aiohttp.ClientResponseError():
            return f"{host} does not speak proper HTTP"
        case OSError():
            return f"{host} {_OS_WORDS.get(error.errno or 0, 'broke the connection')}"
    return f"{host} closed the connection without an answer"


def _certificate_words(error: BaseException) -> str:
    words = getattr(error, "verify_message", "") if isinstance(error, ssl.SSLCertVerificationError) else ""
    return f": {words}" if words else ""


def _name_words(error: OSError, host: str) -> str:
    if error.errno == socket.EAI_AGAIN:
        return f"the name {host} can't be looked up just now"
    return f"there is no host named {host}"
