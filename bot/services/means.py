"""What sending goes by; a reload puts another one in its place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.core.model.delivery import Owed
from bot.core.model.message import Message
from bot.core.settle import DeliveryRules
from bot.ports import Notifier
from bot.services.pacing import Pacer


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Who sends, how messages are made, by which rules, and how fast."""

    notifiers: Mapping[str, Notifier]
    render: Callable[[Owed], Message]
    rules: DeliveryRules
    pacer: Pacer
