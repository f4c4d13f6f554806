"""Who takes part: sites with their habits, destinations, and the routes between them, as a configuration says it."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bot.config.load import parse
from bot.config.settings import Settings
from tests.chaos.simulation.oracle import Wish
from tests.chaos.simulation.publishing import WORDS, Habits, Post, Site

OPS = "slack:#ops"
HEAD = f'ops = "{OPS}"\n\n[email]\nhost = "mail.example.org"\nfrom = "bell@example.org"\n'
DIGEST_SHARE = 0.15
SCHEMES = ("slack", "slack", "discord", "discord", "email", "webhook")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How large a run is. Intervals are in minutes."""

    days: float = 7
    feeds: int = 50
    destinations: int = 20
    intervals: tuple[int, ...] = (15, 30, 60, 60)
    posts_per_day: float = 1.5  # of one feed
    harm: float = 1.0  # how much trouble, 1 is the calendar's own rate
    kills_per_day: float = 6.0
    stops_per_day: float = 1.0
    jumps_per_day: float = 0.3
    full_disks_per_day: float = 0.3
    prune_each: int = 6
    idle: int = 1
    feeds_per_destination: int = 8

    @property
    def most_posts(self) -> int:
        return int(self.feeds * (60 + self.days * self.posts_per_day * 4)) + 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Route:
    """What one destination is to get; routes never share one."""

    uid: str
    feeds: frozenset[str] | None
    word: str | None
    digest: bool

    def wants(self, post: Post) -> bool:
        here = self.feeds is None or post.feed in self.feeds
        return here and (self.word is None or post.title.lower().startswith(self.word))

    def to_toml(self) -> str:
        lines = ["[[routes]]", f'to = "{self.uid}"']
        if self.feeds is not None:
            names = ", ".join(f'"{name}"' for name in sorted(self.feeds))
            lines.append(f"feeds = [{names}]")
        if self.word is not None:
            lines.append(f'match = "{self.word}"')
        if self.digest:
            lines.append('digest = "daily 08:00"')
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    sites: list[Site]
    wishes: list[Wish]
    settings: Settings

    @property
    def uids(self) -> list[str]:
        return [wish.uid for wish in self.wishes]


def make_scene(scale: Scale, *, seed: int, folder: Path, now: Callable[[], datetime]) -> Scene:
    """Everything that a seed decides before time begins."""
    chance = random.Random(f"scene {seed}")
    sites = [_site(number, scale, chance, seed, now) for number in range(scale.feeds)]
    routes = [_route(number, scale, chance, [site.name for site in sites]) for number in range(scale.destinations)]
    text = "\n\n".join((HEAD, *map(_to_toml, sites), *(route.to_toml() for route in routes)))
    wishes = [
        Wish(
            uid=route.uid,
            wants=route.wants,
            ordered=not route.digest,
            doubles=route.uid.startswith(("email:", "webhook:")),
        )
        for route in routes
    ]
    return Scene(sites=sites, wishes=wishes, settings=parse(text, {}, path=folder / "config.toml", secret_dirs=[]))


def _site(number: int, scale: Scale, chance: random.Random, seed: int, now: Callable[[], datetime]) -> Site:
    host = f"site{number * 2 // 3}.example"
    dated = chance.random() < 0.85
    backdates = dated and chance.random() < 0.2
    atom = chance.random() < 0.4
    habits = Habits(
        atom=atom,
        dated=dated,
        guids=chance.random() < 0.85,
        etag=chance.random() < 0.8,
        last_modified=chance.random() < 0.7,
        window=chance.choice((10, 15, 20, 25)),
        oldest_first=dated and chance.random() < 0.1,
        max_age=chance.choice((None, None, None, 7200)),
        ttl=chance.choice((None, None, 90)) if not atom else None,
        hidden=3 if dated and not backdates else 0,
        backdates=backdates,
    )
    return Site(
        name=f"feed{number}",
        url=f"https://{host}/{number}.xml",
        host=host,
        interval=chance.choice(scale.intervals),
        habits=habits,
        chance=random.Random(f"site {seed} {number}"),
        now=now,
    )


def _to_toml(site: Site) -> str:
    return f'[[feeds]]\nid = "{site.name}"\nurl = "{site.url}"\ninterval = "{site.interval}m"'


def _route(number: int, scale: Scale, chance: random.Random, names: list[str]) -> _Route:
    scheme = SCHEMES[number % len(SCHEMES)]
    target = {
        "slack": f"slack:#room{number}",
        "discord": f"discord:{10_000_000_000_000_000 + number}",
        "email": f"email:reader{number}@example.org",
        "webhook": f"webhook:hook{number}",
    }[scheme]
    every = chance.random() < 0.1
    return _Route(
        uid=target,
        feeds=None if every else frozenset(chance.sample(names, min(scale.feeds_per_destination, len(names)))),
        word=chance.choice(WORDS) if every or chance.random() < 0.3 else None,
        digest=chance.random() < DIGEST_SHARE,
    )
