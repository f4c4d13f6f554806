"""Metrics for Prometheus, in a registry of their own; docs/operations.md has a line for each.

prometheus_client takes its time to import, so only `run` imports this module.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from bot.telemetry.polls import PollHistory

disable_created_metrics()  # type: ignore[no-untyped-call] # a second series for each counter that nothing reads

# From a message that goes at once to one that an outage held for a day.
_DELAYS = (0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400)
_LOOP_DELAYS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
POLL_OUTCOMES = ("new", "nothing", "failed", "lost")
UNKNOWN_OUTCOMES = ("found", "absent", "unreconcilable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What is looked up at each scrape."""

    feeds: int = 0
    feeds_failing: int = 0
    feeds_overdue: int = 0
    entries: int = 0
    waiting: int = 0
    oldest_waiting: timedelta = timedelta(0)  # since the first delivery that nothing parks fell due
    parked: int = 0  # destinations
    held: int = 0
    dead: int = 0


# Each is set from the field of Sample that it is named after.
_GAUGES = (
    ("feeds", "feedbell_feeds", "Feeds that are polled."),
    ("feeds_failing", "feedbell_feeds_failing", "Feeds whose last poll failed."),
    ("feeds_overdue", "feedbell_feeds_overdue", "Feeds due since three intervals."),
    ("entries", "feedbell_entries", "Entries known."),
    ("waiting", "feedbell_waiting_deliveries", "Deliveries neither sent nor settled otherwise."),
    ("parked", "feedbell_parked_destinations", "Destinations that are parked."),
    ("held", "feedbell_held_deliveries", "Deliveries that wait for a person."),
    ("dead", "feedbell_dead_deliveries", "Deliveries given up in the last 7 days."),
)


class Metrics:
    """Counts what happens. Every method is cheap and never fails."""

    def __init__(self, version: str) -> None:
        self.history = PollHistory()
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        Info("feedbell_build", "Version of feedbell.", registry=self._registry).info({"version": version})
        self._polls = self._counter("feedbell_polls_total", "Polls, by outcome.", "outcome")
        self._entries = self._counter("feedbell_new_entries_total", "Entries seen for the first time.")
        self._owed = self._counter("feedbell_owed_deliveries_total", "Deliveries that entries came to owe.")
        self._sent = self._counter(
            "feedbell_deliveries_total", "Attempts to deliver, by service and outcome.", "service", "outcome"
        )
        self._unknown = self._counter(
            "feedbell_unknown_outcomes_total", "Unknown outcomes, by what a look-up said.", "outcome"
        )
        self._kills = self._counter("feedbell_parser_kills_total", "Parser workers ended, by reason.", "reason")
        self._reloads = self._counter("feedbell_config_reloads_total", "Configurations read again.", "outcome")
        self._delay = self._histogram("feedbell_delivery_delay_seconds", "From due to sent.", _DELAYS, "service")
        self._loop = self._histogram("feedbell_loop_delay_seconds", "How late the event loop runs.", _LOOP_DELAYS)
        self._connected = self._gauge("feedbell_chat_connected", "1 while a chat connection is up.", "service")
        self._cycle = self._gauge("feedbell_last_cycle_timestamp_seconds", "When the loop last looked for due work.")
        self._oldest = self._gauge(
            "feedbell_oldest_waiting_delivery_seconds", "Age of the oldest due delivery that nothing parks."
        )
        self._gauges = {field: self._gauge(name, words) for field, name, words in _GAUGES}
        self._begin_at_zero()

    def _counter(self, name: str, words: str, *labels: str) -> Counter:
        return Counter(name, words, labels, registry=self._registry)

    def _gauge(self, name: str, words: str, *labels: str) -> Gauge:
        return Gauge(name, words, labels, registry=self._registry)

    def _histogram(self, name: str, words: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(name, words, labels, buckets=buckets, registry=self._registry)

    def _begin_at_zero(self) -> None:
        """A counter that appears with its first error shows no increase."""
        for outcome in POLL_OUTCOMES:
            self._polls.labels(outcome)
        for outcome in UNKNOWN_OUTCOMES:
            self._unknown.labels(outcome)

    def polled(self, outcome: str, *, at: datetime, new: int = 0, owed: int = 0) -> None:
        """Count a poll; outcomes as in services.events.PollEvent."""
        self._polls.labels(outcome).inc()
        self._entries.inc(new)
        self._owed.inc(owed)
        self.history.add(at, failed=outcome == "failed")

    def delivered(self, service: str, outcome: str, delay: timedelta) -> None:
        """Count an attempt; `delay`, since it was due, is looked at only when it was sent."""
        self._sent.labels(service, outcome).inc()
        if outcome in ("sent", "found"):
            self._delay.labels(service).observe(max(0.0, delay.total_seconds()))

    def reconciled(self, outcome: str) -> None:
        """Count an unknown outcome: found, absent or unreconcilable."""
        self._unknown.labels(outcome).inc()

    def parser_killed(self, reason: str) -> None:
        self._kills.labels(reason).inc()

    def loop_delayed(self, delay: timedelta) -> None:
        self._loop.observe(max(0.0, delay.total_seconds()))

    def chat(self, connections: Mapping[str, bool]) -> None:
        for service, is_up in connections.items():
            self._connected.labels(service.lower()).set(is_up)

    def ticked(self, at: datetime) -> None:
        self._cycle.set(at.timestamp())

    def reloaded(self, *, ok: bool) -> None:
        self._reloads.labels("applied" if ok else "refused").inc()

    def expose(self, sample: Sample) -> tuple[bytes, str]:
        """Return the text of a scrape and its content type."""
        for name, gauge in self._gauges.items():
            gauge.set(getattr(sample, name))
        self._oldest.set(max(0.0, sample.oldest_waiting.total_seconds()))
        return generate_latest(self._registry), CONTENT_TYPE_LATEST
