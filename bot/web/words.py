"""States in words, each with a tone that the CSS colours; never colour alone."""

from dataclasses import dataclass
from datetime import datetime

from bot.core.model.delivery import Delivery, DeliveryKind, DeliveryState
from bot.core.model.feed import FeedState
from bot.core.model.status import DeliveryRow, DestinationRow

SERVICES = {
    "console": "Console",
    "slack": "Slack",
    "slack-webhook": "Slack webhook",
    "discord": "Discord",
    "discord-user": "Discord, direct",
    "discord-webhook": "Discord webhook",
    "email": "E-mail",
    "webhook": "Webhook",
}
OUTCOMES = {
    "sent": "sent",
    "retry": "will be tried again",
    "unknown": "outcome unknown",
    "found": "found there: it had arrived",
    "absent": "not there: it had not arrived",
    "parked": "destination parked",
    "rejected": "rejected",
    "held": "may have arrived: waits for you",
    "unchanged": "nothing to change",
    "dead": "given up",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    tone: str  # ok, wait, warn, bad, off
    words: str
    why: str | None = None


def feed_state(state: FeedState) -> State:
    if state.stopped:
        return State(tone="bad", words="gone", why=state.stopped)
    if state.paused_at:
        return State(tone="off", words="paused")
    if state.failures:
        times = "once" if state.failures == 1 else f"{state.failures} times in a row"
        return State(tone="bad" if state.failures > 2 else "warn", words=f"failed {times}", why=state.error)
    if state.last_poll_at is None:
        return State(tone="wait", words="not polled yet")
    return State(tone="ok", words="well")


def destination_state(row: DestinationRow) -> State:
    destination = row.destination
    if destination.unsubscribed:
        return State(tone="off", words="unsubscribed", why="whoever reads it asked for no more")
    if destination.parked:
        return State(tone="bad", words="parked", why=destination.parked)
    if destination.failures:
        return State(tone="warn", words="can’t be reached")
    if destination.unwell_since:
        return State(tone="wait", words="asked us to wait")
    return State(tone="ok", words="well")


def delivery_state(row: DeliveryRow, now: datetime) -> State:
    return state_of(row.delivery, now, parked=row.parked)


def state_of(delivery: Delivery, now: datetime, *, parked: bool = False) -> State:
    """`parked`: its destination takes nothing."""
    if delivery.digest_id is not None and delivery.state is not DeliveryState.SENT:
        return State(tone="wait", words="part of a digest")
    if delivery.state is DeliveryState.PENDING:
        tone, words = _pending(delivery, now, parked=parked)
    else:
        tone, words = _SETTLED[delivery.state]
    return State(tone=tone, words=words, why=delivery.error if tone in ("warn", "bad") else None)


_SETTLED = {
    DeliveryState.SENDING: ("wait", "being sent"),
    DeliveryState.UNKNOWN: ("warn", "outcome unknown"),
    DeliveryState.SENT: ("ok", "sent"),
    DeliveryState.HELD: ("warn", "waits for you"),
    DeliveryState.DEAD: ("bad", "given up"),
}


def _pending(delivery: Delivery, now: datetime, *, parked: bool) -> tuple[str, str]:
    if parked:
        return "bad", "parked"
    if delivery.attempts:
        return "warn", "will be tried again"
    return ("wait", "for later") if delivery.due_at > now else ("wait", "waiting")


def kind_of(delivery: Delivery) -> str:
    """What a delivery without an entry is called."""
    match delivery.kind:
        case DeliveryKind.DIGEST:
            return "Digest"
        case DeliveryKind.NOTICE:
            return delivery.notice or "Notice"
        case DeliveryKind.EDIT:
            return "Edit"
        case DeliveryKind.ENTRY:
            return "Entry"


def service_name(uid: str) -> str:
    """Return what people call the platform of a destination."""
    scheme = uid.partition(":")[0]
    return SERVICES.get(scheme, scheme)


def address_of(uid: str) -> str:
    """Return a destination's address without its scheme, "" for the console."""
    return uid.partition(":")[2]
