"""Metrics for Prometheus, in a registry of their own; docs/operations.md has a line for each.

prometheus_client takes its time to import, so only `run` imports this module.
"""

from collections.abc import Mapping
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


class Metrics:
    """Counts what happens. Every method is cheap and never fails."""

    def __init__(self, version: str) -> None:
        self._registry = CollectorRegistry()
        self.history = PollHistory()
        r = self._registry
        ProcessCollector(registry=r)
        Info("feedbell_build", "Version of feedbell.", registry=r).info({"version": version})
        self._polls = Counter("feedbell_polls_total", "Polls, by outcome.", ["outcome"], registry=r)
        self._entries = Counter("feedbell_new_entries_total", "Entries seen for the first time.", registry=r)
        self._owed = Counter("feedbell_owed_deliveries_total", "Deliveries that entries came to owe.", registry=r)
        self._sent = Counter(
            "feedbell_deliveries_total",
            "Attempts to deliver, by service and outcome.",
            ["service", "outcome"],
            registry=r,
        )
        self._delay = Histogram(
            "feedbell_delivery_delay_seconds",
            "From due to sent, by service.",
            ["service"],
            buckets=_DELAYS,
            registry=r,
        )
        self._unknown = Counter(
            "feedbell_unknown_outcomes_total",
            "Unknown outcomes, by what a look-up said.",
            ["outcome"],
            registry=r,
        )
        self._kills = Counter(
            "feedbell_parser_kills_total", "Parser workers that were ended, by reason.", ["reason"], registry=r
        )
        self._loop = Histogram(
            "feedbell_loop_delay_seconds", "How late the event loop runs.", buckets=_LOOP_DELAYS, registry=r
        )
        self._connected = Gauge("feedbell_chat_connected", "1 while a chat connection is up.", ["service"], registry=r)
        self._cycle = Gauge(
            "feedbell_last_cycle_timestamp_seconds", "When the loop last looked for due work.", registry=r
        )
        self._reloads = Counter("feedbell_config_reloads_total", "Configurations read again.", ["outcome"], registry=r)
        self._gauges = {
            "feeds": Gauge("feedbell_feeds", "Feeds that are polled.", registry=r),
            "feeds_failing": Gauge("feedbell_feeds_failing", "Feeds whose last poll failed.", registry=r),
            "feeds_overdue": Gauge("feedbell_feeds_overdue", "Feeds due since three intervals.", registry=r),
            "entries": Gauge("feedbell_entries", "Entries known.", registry=r),
            "waiting": Gauge("feedbell_waiting_deliveries", "Deliveries due or to be retried.", registry=r),
            "parked": Gauge("feedbell_parked_destinations", "Destinations that are parked.", registry=r),
            "held": Gauge("feedbell_held_deliveries", "Deliveries that wait for a person.", registry=r),
            "dead": Gauge("feedbell_dead_deliveries", "Deliveries given up in the last 7 days.", registry=r),
        }
        self._oldest = Gauge(
            "feedbell_oldest_waiting_delivery_seconds",
            "Age of the oldest due delivery that nothing parks.",
            registry=r,
        )
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        """A counter that appears with its first error shows no increase."""
        for outcome in POLL_OUTCOMES:
            self._polls.labels(outcome)
        for outcome in UNKNOWN_OUTCOMES:
            self._unknown.labels(outcome)

    def polled(self, outcome: str, *, at: datetime, new: int = 0, owed: int = 0) -> None:
        """Count a poll; outcomes as in services.intake.PollEvent."""
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
