"""Faults by platform: what each service would do wrong, in its own shape."""

from __future__ import annotations

from random import Random

from tests.servers.faults import Fault

SERVER = {"slack": "slack", "slack-webhook": "slack", "discord": "discord", "email": "smtp", "webhook": "hooks"}
SENDS = {
    "slack": "chat.postMessage",
    "slack-webhook": "POST /services/",
    "discord": "POST /api/v10/channels",
    "email": "END",
    "webhook": "POST /w",
}
LOOKS = {"slack": "conversations.history", "discord": "GET /api/v10/channels"}
RETRY_AFTER = ("0", "1", "0.25", "Wed, 01 Jan 2020 00:00:00 GMT", "-1", "abc", None, "")


def broken(platform: str, *, store: bool = False, times: int | None = None, late: float = 0.0) -> Fault:
    """The connection is reset in the place of an answer."""
    return Fault(kind="rst", match=SENDS[platform], store=store, times=times, late=late)


def rejected(platform: str, *, times: int | None = None) -> Fault:
    """The service finds the very message bad."""
    match = SENDS[platform]
    if platform == "slack":
        return Fault(kind="error", match=match, error="msg_too_long", times=times)
    if platform == "discord":
        return Fault(kind="error", match=match, error="50035", status=400, times=times)
    status, body = {"slack-webhook": (400, "invalid_blocks"), "email": (554, "5.6.0 no"), "webhook": (422, "no")}[
        platform
    ]
    return Fault(kind="status", match=match, status=status, body=body, times=times)


def refused(platform: str, *, times: int | None = None) -> Fault:
    """Surely not sent, and worth another try."""
    if platform == "email":
        return Fault(kind="status", match="MAIL", status=452, body="4.3.1 full", times=times)
    return Fault(kind="rate", match=SENDS[platform], retry_after="0", times=times)


def any_fault(platform: str, random: Random, *, late: float) -> Fault:
    """One of everything that may go wrong with a request; `late` is the longest a commit may lag."""
    match, skip = SENDS[platform], random.randrange(3)
    store = random.random() < 0.5
    if platform == "email":
        return random.choice(
            (
                Fault(kind="rst", match="END", store=store, skip=skip),
                Fault(kind="fin", match="END", store=store, skip=skip),
                Fault(kind="rst", match="BODY", at=random.randrange(1, 400), skip=skip),
                Fault(kind="fin", match=random.choice(("CONNECT", "EHLO", "MAIL", "RCPT")), skip=skip),
                Fault(kind="status", match="MAIL", status=452, skip=skip),
                Fault(kind="status", match="END", status=452, skip=skip),
                Fault(kind="status", match="CONNECT", status=421, skip=skip),
                Fault(kind="delay", match="END", seconds=random.random() * late, skip=skip),
            )
        )
    lag = random.random() * late if store and random.random() < 0.5 else 0.0
    where = random.choice((0, 10, None))
    look = LOOKS.get(platform, match)
    return random.choice(
        (
            Fault(kind="rst", match=match, store=store, late=lag, skip=skip),
            Fault(kind="fin", match=match, store=store, late=lag, skip=skip),
            Fault(kind="rst", match=match, store=True, at=where, skip=skip),
            Fault(kind="fin", match=match, store=True, at=where, skip=skip),
            Fault(kind="hang", match=match, store=store, late=lag, seconds=0.3, skip=skip),
            Fault(kind="status", match=match, status=random.choice((500, 502, 504)), store=store, late=lag, skip=skip),
            Fault(kind="status", match=match, status=503, headers={"Retry-After": "1"}, skip=skip),
            Fault(kind="rate", match=match, retry_after=random.choice(RETRY_AFTER), skip=skip),
            Fault(kind="delay", match=match, seconds=random.random() * late, skip=skip),
            Fault(kind="slow", match=match, seconds=0.001, skip=skip),
            Fault(kind="rst", match=look, skip=skip),
            Fault(kind="status", match=look, status=500, skip=skip),
        )
    )
