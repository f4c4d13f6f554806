"""Outside of a run at scale: many feeds that publish by a plan, and a Slack that knows when each entry came out.

    python -m bench.scale_world --port N --feeds N

GET /scale/<number>.xml        a feed; three of five have validators
POST /api/<method>             Slack's Web API: always well, and noted
GET /__plan?<interval>,<intervals>,<share>   publish from now on: in each interval of so many seconds that share
GET /__report                  what has come of it
"""

import argparse
import asyncio
import json
import random
import re
import time
from array import array
from bisect import bisect_right
from collections import defaultdict

from bench.feed_text import ITEMS, document, modified
from bench.measuring import percentile
from bench.world import Wire, World, respond

_LINK = re.compile(rb"https://site(\d+)\.example/(\d+)/")


class ScaleWorld(World):
    """Feeds by number, in their short form, so that a hundred thousand are read in minutes."""

    def __init__(self, feeds: int) -> None:
        super().__init__()
        self.last = array("d", bytes(8 * feeds))
        self.gaps = array("d")
        self.planned_at = float("inf")
        self.plan: dict[int, list[float]] = {}
        self.fetched: dict[tuple[int, int], float] = {}
        self.told: defaultdict[tuple[int, int], list[float]] = defaultdict(list)

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> bytes:
        if method == "POST":
            now = time.time()
            for number, entry in set(_LINK.findall(body)):
                self.told[int(number) // 5, int(entry) - ITEMS + 1].append(now)
            return respond(200, json.dumps({"ok": True, "ts": f"{now:.6f}", "channel": "C0000001"}).encode())
        if target.startswith("/__plan?"):
            interval, intervals, share = target.partition("?")[2].split(",")
            self._publish(float(interval), int(intervals), float(share))
            return respond(200, b"{}")
        if target.startswith("/__report"):
            return respond(200, json.dumps(self._report()).encode())
        return self._scale_feed(int(target.rpartition("/")[2].removesuffix(".xml")), headers)

    def _publish(self, interval: float, intervals: int, share: float) -> None:
        dice, start = random.Random(4), time.time()
        for turn in range(intervals):
            for number in dice.sample(range(len(self.last)), round(len(self.last) * share)):
                self.plan.setdefault(number, []).append(start + (turn + dice.random()) * interval)
        self.planned_at = start

    def _scale_feed(self, number: int, headers: dict[str, str]) -> bytes:
        now = time.time()
        if self.last[number] >= self.planned_at:  # what came before was read while all were read for the first time
            self.gaps.append(now - self.last[number])
        self.last[number] = now
        version = bisect_right(self.plan.get(number, []), now)
        for one in range(1, version + 1):
            self.fetched.setdefault((number, one), now)
        extra = ""
        if number % 5 < 3:
            etag, date = f'"{number}-{version}"', modified(number, version)
            extra = f"ETag: {etag}\r\nLast-Modified: {date}\r\n"
            if headers.get("if-none-match") == etag:
                self.seen["304"] += 1
                return f"HTTP/1.1 304 Not Modified\r\n{extra}\r\n".encode()
        self.seen["200"] += 1
        return respond(200, document(number * 5 + 1, version=version), extra)

    def _report(self) -> dict[str, object]:
        wanted = {(number, turn + 1): at for number, times in self.plan.items() for turn, at in enumerate(times)}
        came = {name: times[0] for name, times in self.told.items() if name in wanted}
        return {
            "read": sum(at > 0 for at in self.last),
            "answers": dict(self.seen),
            "gaps": _spread(self.gaps),
            "longest_silence": time.time() - min(self.last),
            "published": sum(at <= time.time() for at in wanted.values()),
            "told": len(came),
            "twice": sum(len(times) > 1 for times in self.told.values()),
            "unasked": len(self.told) - len(came),
            "from_publish": _spread([at - wanted[name] for name, at in came.items()]),
            "from_fetch": _spread([at - self.fetched[name] for name, at in came.items()]),
        }


def _spread(values: "array[float] | list[float]") -> dict[str, float]:
    if not values:
        return {}
    return {"p50": percentile(values, 0.5), "p99": percentile(values, 0.99), "most": max(values)}


async def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--feeds", type=int, required=True)
    options = parser.parse_args()
    world = ScaleWorld(options.feeds)
    await asyncio.get_running_loop().create_server(lambda: Wire(world), "127.0.0.1", options.port, backlog=4096)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
