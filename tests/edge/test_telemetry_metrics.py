"""Metrics say what happened, and load only where they are served."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

from bot.telemetry.metrics import Metrics, Sample
from bot.telemetry.polls import HOURS, PollHistory, Polls

NOW = datetime(2026, 9, 16, 12, 5, tzinfo=UTC)


def scraped(metrics: Metrics, sample: Sample | None = None) -> dict[str, float]:
    text, content_type = metrics.expose(sample or Sample())
    assert content_type.startswith("text/plain")
    lines = [line.rpartition(" ") for line in text.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_what_happens_is_counted() -> None:
    metrics = Metrics("1.2.3")
    metrics.polled("new", at=NOW, new=2, owed=6)
    metrics.polled("failed", at=NOW)
    metrics.delivered("slack", "sent", timedelta(seconds=3))
    metrics.delivered("slack", "retry", timedelta(hours=3))
    metrics.reconciled("absent")
    metrics.parser_killed("memory")
    metrics.loop_delayed(timedelta(milliseconds=3))
    metrics.chat({"Slack": True, "Discord": False})
    metrics.ticked(NOW)
    metrics.reloaded(ok=False)
    found = scraped(metrics)
    assert found['feedbell_build_info{version="1.2.3"}'] == 1
    assert found['feedbell_polls_total{outcome="new"}'] == 1
    assert found['feedbell_polls_total{outcome="failed"}'] == 1
    assert found['feedbell_polls_total{outcome="nothing"}'] == 0
    assert found["feedbell_new_entries_total"] == 2
    assert found["feedbell_owed_deliveries_total"] == 6
    assert found['feedbell_deliveries_total{outcome="sent",service="slack"}'] == 1
    assert found['feedbell_delivery_delay_seconds_count{service="slack"}'] == 1
    assert found['feedbell_delivery_delay_seconds_bucket{le="5.0",service="slack"}'] == 1
    assert found['feedbell_unknown_outcomes_total{outcome="absent"}'] == 1
    assert found['feedbell_unknown_outcomes_total{outcome="found"}'] == 0
    assert found['feedbell_parser_kills_total{reason="memory"}'] == 1
    assert found['feedbell_loop_delay_seconds_bucket{le="0.005"}'] == 1
    assert found['feedbell_chat_connected{service="slack"}'] == 1
    assert found['feedbell_chat_connected{service="discord"}'] == 0
    assert found["feedbell_last_cycle_timestamp_seconds"] == NOW.timestamp()
    assert found['feedbell_config_reloads_total{outcome="refused"}'] == 1


def test_what_is_looked_up_shows_the_state_at_the_scrape() -> None:
    metrics = Metrics("1.2.3")
    first = scraped(metrics, Sample(feeds=3, feeds_failing=1, waiting=2, oldest_waiting=timedelta(minutes=2), parked=1))
    assert first["feedbell_feeds"] == 3
    assert first["feedbell_feeds_failing"] == 1
    assert first["feedbell_waiting_deliveries"] == 2
    assert first["feedbell_oldest_waiting_delivery_seconds"] == 120
    assert first["feedbell_parked_destinations"] == 1
    assert scraped(metrics)["feedbell_waiting_deliveries"] == 0


def test_two_bots_in_one_process_have_a_registry_each() -> None:
    Metrics("1").polled("new", at=NOW)
    assert scraped(Metrics("1"))['feedbell_polls_total{outcome="new"}'] == 0


def test_polls_are_kept_by_the_hour_for_two_days() -> None:
    history = PollHistory()
    for hour in range(HOURS + 5):
        history.add(NOW + timedelta(hours=hour), failed=False)
        history.add(NOW + timedelta(hours=hour, minutes=9), failed=True)
    kept = history.hours()
    assert len(kept) == HOURS
    assert kept[-1] == Polls(hour=datetime(2026, 9, 18, 16, tzinfo=UTC), ok=1, failed=1)


def test_logging_does_not_load_the_metrics_library() -> None:
    code = "import sys, bot.telemetry.logs; sys.exit('prometheus_client' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
