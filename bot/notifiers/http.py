"""One HTTP request to a service, and what a failure of it says about the message: not sent, or unknown."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import aiohttp

from bot.core.errors import Deferred, NotifyError, OutcomeUnknown
from bot.core.model.message import Payload
from bot.core.retry_after import http_date, parse_retry_after
from bot.crash import point

TIMEOUT = aiohttp.ClientTimeout(total=30, connect=10)  # where the session has none of its own; far below half a lease
_LIBRARYS = aiohttp.ClientTimeout(total=300, sock_connect=30)  # aiohttp's default, too long for a lane to hang
MAX_ANSWER = 8 * 1024 * 1024  # bytes; a thousand messages of a history are some 2 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer read to its end; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool = True  # False: the connection broke after the head

    @property
    def json(self) -> object:
        """The body as JSON; None where it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def retry_after(self, *, now: datetime) -> timedelta | None:
        return parse_retry_after(self.headers.get("retry-after"), now=now)


async def ask(
    session: aiohttp.ClientSession,
    method: str,
    url: str,
    *,
    service: str,
    payload: Payload | bytes | None = None,
    headers: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
) -> Answer:
    """Ask once. Raises Deferred when surely no byte of the request left, OutcomeUnknown when one may have.

    `service` names it in errors, which never hold the URL: a webhook's is a secret. An answer whose body broke is
    returned with `whole` false, for those who need only the status. The session's timeout holds, if it has one.
    """
    kind = {"Content-Type": "application/json; charset=utf-8"} if payload is not None else {}
    body = payload if payload is None or isinstance(payload, bytes) else to_bytes(payload)
    try:
        async with session.request(
            method,
            url,
            data=body if form is None else form,
            params=params,
            headers={**kind, **(headers or {})},
            allow_redirects=False,
            timeout=TIMEOUT if session.timeout == _LIBRARYS else session.timeout,
        ) as response:
            return await _read(response, service)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise to_error(error, service=service) from None  # the library's text may hold the URL


def to_bytes(payload: Payload) -> bytes:
    """Return `payload` as the JSON that is sent."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def to_error(error: Exception, *, service: str) -> NotifyError:
    """Say whether the request may have reached the service, by the kind of the failure alone."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return Deferred(f"{service}: the server's name can't be resolved")
        case aiohttp.ClientConnectorCertificateError():
            return Deferred(f"{service}: the server's certificate is not trusted")
        case aiohttp.ClientConnectorSSLError():
            return Deferred(f"{service}: no TLS connection")
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
            return Deferred(f"{service}: can't connect")
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError() | ValueError():
            return Deferred(f"{service}: the configured address is no URL")
        case TimeoutError():
            return OutcomeUnknown(f"{service}: no answer in time")
        case _:
            return OutcomeUnknown(f"{service}: the connection broke")


def string_in(value: object, name: str) -> str | None:
    """Return the text that a part of an answer holds under `name`; None where it is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def clock_offset(answer: Answer, *, now: datetime) -> timedelta | None:
    """Return how far the service's clock is ahead of ours, by the Date header; None where that says nothing."""
    at = http_date(answer.headers.get("date", ""))
    return None if at is None else at - now


async def _read(response: aiohttp.ClientResponse, service: str) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    chunks: list[bytes] = []
    size, whole = 0, True
    try:
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > MAX_ANSWER:
                raise OutcomeUnknown(f"{service}: the answer is too long")
            chunks.append(chunk)
        point("send.body_read")  # aiohttp traces no chunks that are read as they come
    except (aiohttp.ClientError, TimeoutError, OSError):
        whole = False
    return Answer(status=response.status, headers=headers, body=b"".join(chunks), whole=whole)
