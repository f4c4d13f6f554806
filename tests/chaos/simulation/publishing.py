"""Simulated sites: what they publish, edit, delete and rename, and the documents that say so."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime
from hashlib import blake2b

WORDS = ("alpha", "bravo", "carbon", "delta", "ember", "frost", "garnet", "harbor")


@dataclass(slots=True)
class Post:
    """One thing that was published; `serial` counts all posts of the world, and stands in its link."""

    serial: int
    feed: str
    guid: str
    link: str
    title: str
    at: datetime
    announced: bool  # False: it stood there before the bot came, or only a deletion brought it up
    born: float = 0.0
    served: int | None = None  # its place among all that was served for the first time; None: not yet
    served_at: float = 0.0
    exempt: bool = False  # from order: the document itself had none
    edits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How a site publishes, for good."""

    atom: bool = False
    dated: bool = True
    guids: bool = True
    etag: bool = True
    last_modified: bool = True
    window: int = 20
    oldest_first: bool = False
    max_age: int | None = None  # seconds
    ttl: int | None = None  # minutes
    hidden: int = 0  # old posts below the window's end at the start, which a deletion may bring up
    backdates: bool = False  # sometimes what it publishes carries an old date


@dataclass(slots=True)
class Document:
    """One state of the feed, as a server would hand it out."""

    body: bytes
    etag: str | None
    last_modified: str | None
    posts: tuple[Post, ...]  # in the document's order


@dataclass(slots=True)
class Site:
    """A feed's server. Newest posts stand last in `posts`."""

    name: str
    url: str
    host: str
    interval: int  # minutes, as configured
    habits: Habits
    chance: random.Random
    now: Callable[[], datetime]
    posts: list[Post] = field(default_factory=list)
    shuffled: bool = False
    before: Document | None = None  # what an old cache may still serve
    fresh: bool = False  # the bot has read the site as it is now
    _document: Document | None = None
    _renamed: bool = False  # and nobody may have read all of the new names yet
    version: int = 0

    @property
    def document(self) -> Document:
        if self._document is None:
            self._document = self._build()
        return self._document

    def changed(self) -> None:
        if self._document is not None:
            self.before = self._document
        self._document = None
        self.version += 1
        self.fresh = False

    def touch(self) -> None:
        """Other validators for the same words."""
        self.changed()

    # --- what its author does

    def publish(self, serial: int, *, born: float, announced: bool = True, age: timedelta = timedelta(0)) -> Post:
        link = f"https://{self.host}/{self.name}/{serial}"
        post = Post(
            serial=serial,
            feed=self.name,
            guid=f"http://{self.host}/?p={serial}" if serial % 3 else f"tag:{self.host},2026:{serial}",
            link=link,
            title=f"{self.chance.choice(WORDS).title()} {self.name} number {serial}",
            at=self.now() - age,
            announced=announced,
            born=born,
        )
        self.posts.append(post)
        self._renamed = self._renamed and not self.fresh
        # What falls off unread under new names, and comes up again without a date, no reader could tell from news.
        spare = 0 if self._renamed and not self.habits.dated else self.habits.hidden + 5
        del self.posts[: max(0, len(self.posts) - self.habits.window - spare)]
        self.changed()
        return post

    def edit(self) -> Post | None:
        told = [post for post in self.posts[-self.habits.window :] if post.served is not None]
        if not told or not self.fresh:
            return None
        post = self.chance.choice(told)
        post.edits += 1
        post.title = f"{post.title.partition(' (')[0]} (correction {post.edits})"
        self.changed()
        return post

    def delete(self) -> None:
        """Something older goes; what stood below the window's end comes up."""
        old = self.posts[-self.habits.window : -4]
        if len(old) > 6 and self.fresh:
            self.posts.remove(self.chance.choice(old))
            self.changed()

    def rename(self, how: str) -> None:
        """Every post gets another guid; `links` too, where the words stay."""
        window = self.posts[-self.habits.window :]
        if len(window) < 6 or not self.fresh:
            return
        # What nobody ever read has no words to be known by: with all names new it would be news when it comes up.
        self._renamed = how == "links"
        for post in window if how == "links" else self.posts:
            if how == "https":
                post.guid = post.guid.replace("http://", "https://www.", 1)
            else:
                post.guid = f"urn:{self.chance.getrandbits(64):x}"
            if how == "links":
                post.link = f"https://{self.host}/archive-{self.version}/{self.name}/{post.serial}"
        self.changed()

    # --- what its server says

    def _build(self) -> Document:
        shown = self.posts[-self.habits.window :]
        ordered = list(shown) if self.habits.oldest_first else list(reversed(shown))
        if self.shuffled:
            self.chance.shuffle(ordered)
        body = (self._atom(ordered) if self.habits.atom else self._rss(ordered)).encode()
        digest = blake2b(body + str(self.version).encode(), digest_size=8).hexdigest()
        return Document(
            body=body,
            etag=f'W/"{digest}"' if self.habits.etag else None,
            last_modified=format_datetime(self.now(), usegmt=True) if self.habits.last_modified else None,
            posts=tuple(ordered),
        )

    def _rss(self, posts: list[Post]) -> str:
        ttl = f"<ttl>{self.habits.ttl}</ttl>" if self.habits.ttl else ""
        head = f"<title>{self.name}</title><link>https://{self.host}/</link><description/>{ttl}"
        return f'<rss version="2.0"><channel>{head}{"".join(map(self._item, posts))}</channel></rss>'

    def _item(self, post: Post) -> str:
        guid = f'<guid isPermaLink="false">{post.guid}</guid>' if self.habits.guids else ""
        date = f"<pubDate>{format_datetime(post.at)}</pubDate>" if self.habits.dated else ""
        words = f"<description>Words of {post.serial} in {self.name}.</description>"
        return f"<item>{guid}<title>{post.title}</title><link>{post.link}</link>{date}{words}</item>\n"

    def _atom(self, posts: list[Post]) -> str:
        entries = "".join(map(self._entry, posts))
        head = f"<title>{self.name}</title><id>urn:{self.name}</id><updated>2026-01-01T00:00:00Z</updated>"
        return f'<feed xmlns="http://www.w3.org/2005/Atom">{head}{entries}</feed>'

    def _entry(self, post: Post) -> str:
        at = post.at.isoformat()
        date = f"<published>{at}</published><updated>{at}</updated>" if self.habits.dated else ""
        ids = f'<id>{post.guid}</id><link href="{post.link}"/>'
        return f"<entry>{ids}<title>{post.title}</title>{date}<summary>Words of {post.serial}.</summary></entry>\n"


def serial_of(link: str | None) -> int:
    """The post that a message's link leads to."""
    return int((link or "0").rpartition("/")[2])
