"""Documents that change between polls in hostile ways: each poll tells exactly what is new in it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cases.posts import Post
from tests.cases.world import World
from tests.servers.faults import Json

HOSTILE = Path(__file__).parent.parent / "feeds" / "hostile"
START = datetime(2026, 9, 10, 12, tzinfo=UTC)
BURST = 200
SINGLY = 10  # [delivery] max_new_single
IN_A_DIGEST = 50  # a line each

# Where more than one answer is right, ours: what each poll after the first tells.
CHOSEN: dict[str, list[list[str]]] = {
    # The document is cut off behind post 8, which waits for a whole one.
    "truncated-midway": [[], ["Post 8"]],
    # A guid is the entry's name: another text under it is an edit.
    "guid-reused": [[], []],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    name: str
    polls: tuple[Json, ...]

    @property
    def url(self) -> str:
        return f"http://feeds.example.org/{self.name}.xml"

    @property
    def channel(self) -> str:
        return f"slack:#{self.name}"

    def titles(self, poll: Json) -> list[str]:
        """The titles of the entries that are new at a poll, oldest first."""
        document = (HOSTILE / poll["path"]).read_text(encoding="utf-8")
        items = re.findall(r"<(item|entry)>(.*?)</\1>", document, re.S)
        by_id = {id: _inner(item, "title") for _, item in items for id in (_inner(item, "guid"), _inner(item, "id"))}
        return [by_id[id] for id in reversed(poll["new_entries"])]

    def expected(self) -> list[list[str]]:
        return CHOSEN[self.name] if self.name in CHOSEN else [self.titles(poll) for poll in self.polls[1:]]


def _inner(item: str, tag: str) -> str:
    found = re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", item, re.S)
    return found[1] if found else ""


def all_sequences() -> list[Sequence]:
    lines = (HOSTILE / "index.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [row for row in map(json.loads, filter(None, lines)) if row.get("sequence")]
    names = dict.fromkeys(row["sequence"] for row in rows)
    return [Sequence(name=name, polls=tuple(row for row in rows if row["sequence"] == name)) for name in names]


async def poll_all(folder: Path, sequences: list[Sequence]) -> dict[str, list[list[Post]]]:
    """Poll all sequences side by side, each into its own channel; return what each poll told."""
    told: dict[str, list[list[Post]]] = {sequence.name: [] for sequence in sequences}
    async with World(folder, live=False) as world:
        world.clock.set(START)
        for sequence in sequences:
            world.subscribe(sequence.url, "", [sequence.channel])
        for turn in range(max(len(sequence.polls) for sequence in sequences)):
            for sequence in sequences:
                if turn < len(sequence.polls):
                    poll = sequence.polls[turn]
                    body = (HOSTILE / poll["path"]).read_bytes()
                    world.serve(sequence.url, body, poll["path"], {"headers": poll["headers"]})
            before = world.posts()
            world.clock.move(timedelta(hours=1))
            await world.once()
            for sequence in sequences:
                if turn < len(sequence.polls):
                    posts = world.posts()[sequence.channel]
                    told[sequence.name].append(posts[len(before[sequence.channel]) :])
    return told


async def test_each_poll_tells_exactly_the_new_entries_in_order(tmp_path: Path) -> None:
    sequences = [sequence for sequence in all_sequences() if sequence.name != "burst"]
    told = await poll_all(tmp_path, sequences)
    first = {name: [post.title for post in polls[0]] for name, polls in told.items() if polls[0]}
    assert not first, f"told at the first poll: {first}"
    later = {name: [[post.title for post in posts] for posts in polls[1:]] for name, polls in told.items()}
    assert later == {sequence.name: sequence.expected() for sequence in sequences}
    half = [post.text for post in told["truncated-in-entry"][-1] if "Text of post 8" not in post.text]
    assert not half


async def test_a_burst_is_digests_and_the_newest_ten(tmp_path: Path) -> None:
    [burst] = [sequence for sequence in all_sequences() if sequence.name == "burst"]
    told = await poll_all(tmp_path, [burst])
    titles = burst.titles(burst.polls[1])
    assert len(titles) == BURST
    assert [post.title for post in told["burst"][1]] == titles
    messages = {post.message.ts for post in told["burst"][1]}
    assert len(messages) == SINGLY + math.ceil((BURST - SINGLY) / IN_A_DIGEST)
