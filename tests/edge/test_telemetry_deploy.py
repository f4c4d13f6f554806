"""Alerts and dashboard speak of metrics that exist, and of nothing that the documentation leaves out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bot.telemetry.metrics import Metrics, Sample

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboard.json"


def known() -> set[str]:
    text = Metrics("0").expose(Sample())[0].decode()
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    parts = {"histogram": ("_bucket", "_count", "_sum")}
    return {name + part for name, kind in kinds.items() for part in parts.get(kind, ("",))} | {"feedbell_build_info"}


@pytest.mark.parametrize("path", [ALERTS, DASHBOARD], ids=lambda path: path.name)
def test_only_metrics_that_exist_are_asked_for(path: Path) -> None:
    used = set(re.findall(r"\b(?:feedbell|process)_\w+", path.read_text(encoding="utf-8")))
    assert used
    assert used - known() == set()


def test_each_alert_is_explained() -> None:
    names = re.findall(r"- alert: (\w+)", ALERTS.read_text(encoding="utf-8"))
    explained = re.findall(
        r"^### (\w+) \(", (ROOT / "docs" / "operations.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert names == explained


def test_the_dashboard_is_one_that_grafana_reads() -> None:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    assert board["title"] == "feedbell"
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids)) > 10
    assert all(panel["targets"] and panel["title"] and panel["gridPos"] for panel in board["panels"])


def test_the_alerts_fire_when_they_should() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    done = subprocess.run(
        [promtool, "test", "rules", "alerts_test.yaml"], cwd=ALERTS.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
