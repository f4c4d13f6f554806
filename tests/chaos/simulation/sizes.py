"""Whether anything of the bot grows with time: memory, open files, tasks, the database."""

import asyncio
import gc
import os
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.simulation.calendar import DAY
from tests.chaos.simulation.clock import VirtualLoop

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    day: float
    rss: int  # bytes
    files: int
    tasks: int
    database: int  # bytes


class Sizes:
    """One sample a day."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.samples: list[Sample] = []

    def take(self, state: Path) -> None:
        gc.collect()
        self.samples.append(
            Sample(
                day=self._loop.elapsed / DAY,
                rss=int(Path("/proc/self/statm").read_text().split()[1]) * PAGE,
                files=len(os.listdir("/proc/self/fd")),
                tasks=len(asyncio.all_tasks(self._loop)),
                database=state.stat().st_size if state.exists() else 0,
            )
        )

    def slope(self, after: float) -> float:
        """Bytes of memory gained per 30 days, by least squares, from day `after` on."""
        points = [(sample.day, float(sample.rss)) for sample in self.samples if sample.day >= after]
        if len(points) < 2:
            return 0.0
        days = sum(day for day, _ in points) / len(points)
        mean = sum(rss for _, rss in points) / len(points)
        over = sum((day - days) * (rss - mean) for day, rss in points)
        return 30 * over / sum((day - days) ** 2 for day, _ in points)

    def __str__(self) -> str:
        if not self.samples:
            return "none"
        last, after = self.samples[-1], min(30.0, self.samples[-1].day / 2)
        files = f"{min(s.files for s in self.samples[1:] or self.samples)} to {max(s.files for s in self.samples)}"
        tasks = f"at most {max(sample.tasks for sample in self.samples)}"
        slope = f"{self.slope(after) / 1e6:+.2f} MB in 30 days after day {after:.0f}"
        return (
            f"memory {last.rss / 1e6:.0f} MB, {slope}; files {files}; tasks {tasks};"
            f" database {last.database / 1e6:.1f} MB"
        )
