"""Clocks and gauges: CPU by the kernel's accounts, since a shared machine's wall clock says little."""

import os
import platform
import resource
import statistics
from collections.abc import Sequence
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(*pids: int) -> float:
    """CPU of this process, of its children that have ended, and of the processes `pids`, which still run."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total + sum(cpu_of(pid) for pid in pids)


def cpu_of(pid: int, *, with_ended: bool = False) -> float:
    """CPU seconds of another process so far, and of its children that have ended; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11 : 15 if with_ended else 13]) / _TICKS


def rss_mb(*pids: int) -> float:
    """Resident memory of the processes together, in MB; of this one where none is named."""
    return sum(_status_kb(pid, "VmRSS") for pid in pids or (os.getpid(),)) / 1024


def children_of(pid: int) -> list[int]:
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def machine() -> str:
    """What the numbers were measured on, in one line."""
    cpuinfo = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("model name")]
    kind = models[0] if models else platform.machine()
    cores = len(os.sched_getaffinity(0))
    system = f"Linux {platform.release().partition('-')[0]}, Python {platform.python_version()}"
    return f"{kind}, {cores} cores, {system}, load {os.getloadavg()[0]:.1f}"


def _status_kb(pid: int, name: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0.0)
