"""Who may see the pages (product.md, small print 17), and how a proof is compared."""

import base64
import binascii
import hmac
from enum import Enum

from bot.config.settings import HttpSettings
from bot.config.values import is_loopback


class Access(Enum):
    """What a request for a page gets."""

    GRANTED = 200
    PROOF_WANTED = 401
    NO_SUCH_PAGE = 404


def access(http: HttpSettings, *, host: str | None, authorization: str | None) -> Access:
    """Say whether a request may see pages and metrics.

    Nobody is asked on a machine of one's own: the bot listens on loopback, the browser asked for loopback (so that no
    name on the web can be pointed at it), and nothing says that a proxy publishes it. Else the token is asked for, and
    without a token there are no pages.
    """
    if http.public_url is None and is_loopback(http.address[0]) and is_loopback(host_name(host)):
        return Access.GRANTED
    if http.token is None:
        return Access.NO_SUCH_PAGE
    given = bearer(authorization) or _basic_password(authorization)
    return Access.GRANTED if is_secret(given, http.token.get_secret_value()) else Access.PROOF_WANTED


def is_secret(given: str | None, secret: str) -> bool:
    """Compare in a time that says nothing about how much was right."""
    return given is not None and hmac.compare_digest(_bytes(given), _bytes(secret))


def bearer(authorization: str | None) -> str | None:
    """Return the token of an Authorization header of that scheme."""
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def host_name(host: str | None) -> str:
    """Return a Host header without its port and brackets; "" where there is none."""
    host = (host or "").strip()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _basic_password(authorization: str | None) -> str | None:
    """Return the password of HTTP Basic, whoever the user claims to be (RFC 7617)."""
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    _, colon, password = decoded.partition(":")
    return password if colon else None


def _bytes(text: str) -> bytes:
    # A header is whatever a stranger sends: aiohttp turns what is no UTF-8 into surrogates.
    return text.encode("utf-8", "surrogateescape")
