"""What the operator is told, and when it is the same thing again: each notice says what to do."""

from datetime import datetime

from bot.core.model.delivery import Dead, Delivery, DeliveryKind, Destination, Held, Parked, RetryAt, Sent, Settlement
from bot.core.model.plan import Notice


def notices_of(
    result: Settlement, delivery: Delivery, destination: Destination, *, now: datetime
) -> tuple[Notice, ...]:
    """The notices that one settled attempt is worth; most are worth none."""
    uid = destination.uid
    match result:
        case Parked() if destination.parked is None:
            what = "every destination of the same account" if result.account else uid
            return (
                Notice(
                    key=f"parked|{uid if not result.account else uid.partition(':')[0]}|{result.why}|{_hour(now)}",
                    words=f"{what} is parked: {result.why}. Nothing is lost: what is owed waits. "
                    f"Put it right, then run `feedbell resume {uid}`; it is also looked at every hour.",
                ),
            )
        case Dead() if delivery.kind is not DeliveryKind.EDIT:  # nobody misses a correction of what is gone
            return (
                Notice(
                    key=f"dead|{uid}|{_hour(now)}",
                    words=f"a message to {uid} was given up: {result.why}. "
                    "`feedbell status` lists what is dead; `feedbell replay` sends it again.",
                ),
            )
        case Held():
            return (
                Notice(
                    key=f"held|{uid}|{delivery.idem}",
                    words=f"a message to {uid} may or may not have arrived ({result.why}). Look there; "
                    f"if it is missing, run `feedbell resume {uid}`.",
                ),
            )
        case RetryAt() if (result.at - now).total_seconds() >= 86_000:
            return (
                Notice(key=f"told-to-wait|{uid}|{_hour(now)}", words=f"{uid} asked us to wait for a day or longer."),
            )
        case Sent() if destination.parked is not None:
            return (Notice(key=f"back|{uid}|{_hour(now)}", words=f"{uid} takes messages again."),)
        case _:
            return ()


def _hour(now: datetime) -> str:
    """At most one notice of a kind for one destination in an hour (R-17)."""
    return now.strftime("%Y-%m-%dT%H")
