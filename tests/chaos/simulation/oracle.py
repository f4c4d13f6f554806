"""What must be at each destination, reckoned without the bot: from what was published, served and stored elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from tests.chaos.simulation.publishing import Post

LONGEST_DIGEST = 26 * 3600.0
MOST_COMPLAINTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A message as it came in at a service."""

    key: str
    kind: str
    serials: tuple[int, ...]
    late: bool
    words: str


@dataclass(slots=True)
class Wish:
    """One destination, and which posts it is to get."""

    uid: str
    wants: Callable[[Post], bool]
    ordered: bool = True  # False: a route with digests
    doubles: bool = False  # webhooks and mail: what may have been lost is sent again
    told: bytearray = field(default_factory=bytearray)  # by serial, how often
    last: int = 0  # the place of the last post that was told in order
    unsure: dict[str, float | None] = field(default_factory=dict)  # key: when its answer reached the bot


class Oracle:
    """Hears everything that services store, and complains where it is too much, too little or too early."""

    def __init__(self, wishes: Sequence[Wish], *, seed: int, most_posts: int, fates: Mapping[str, float]) -> None:
        self.wishes = {wish.uid: wish for wish in wishes}
        for wish in wishes:
            wish.told = bytearray(most_posts)  # as long as it will ever be, so that growth means a leak of the bot
        self.posts: dict[int, Post] = {}
        self.complaints: list[str] = []
        self.delivered = 0
        self.digests = 0
        self.late = 0
        self.doubled = 0
        self.out_of_order = 0
        self.lost = 0
        self.notices = 0
        self.killed_at = -1.0
        self.on_complaint: Callable[[str], None] = lambda words: None
        self.may_be_late: Callable[[str], bool] = lambda uid: True
        self.trail = 0  # a hash of all that arrived: equal seeds, equal trails
        self._seed = seed
        self._fates = fates
        self._told_notices: set[str] = set()

    def complain(self, words: str) -> None:
        if len(self.complaints) < MOST_COMPLAINTS:
            self.complaints.append(words)
        self.on_complaint(words)

    def fate(self, uid: str, serial: int) -> str | None:
        """What a service has against one message, for good."""
        roll = crc32(f"{self._seed} {uid} {serial}".encode()) / 2**32
        for name, share in self._fates.items():
            if roll < share:
                return name
            roll -= share
        return None

    # --- what services hear

    def unsure(self, uid: str, key: str) -> None:
        """From here on the bot cannot know whether this message was stored."""
        wish = self.wishes.get(uid)
        if wish is not None and wish.doubles:
            wish.unsure[key] = None

    def sure(self, uid: str, key: str, *, now: float) -> None:
        wish = self.wishes.get(uid)
        if wish is not None and wish.doubles:
            wish.unsure[key] = now
            if len(wish.unsure) > 500:
                wish.unsure = dict(list(wish.unsure.items())[250:])

    def arrived(self, uid: str, message: Arrival, *, now: float) -> None:
        self.trail = hash((self.trail, len(uid), message.serials, message.late, round(now, 6)))
        if message.kind == "notice":
            self._notice(message)
            return
        wish = self.wishes[uid]
        self.digests += message.kind == "digest"
        for serial in message.serials:
            self._told(wish, message, serial, now)
        if wish.ordered and not message.late:
            self._in_order(wish, message, now)
        elif message.late:
            self.late += 1
            if not self.may_be_late(uid):
                self.complain(f"{uid}: {message.serials} is marked late, though nothing held it up")

    def edited(self, uid: str, message: Arrival) -> None:
        for serial in message.serials:
            if not self.wishes[uid].told[serial]:
                self.complain(f"{uid}: {serial} was edited before it was told")

    def _notice(self, message: Arrival) -> None:
        self.notices += 1
        if message.key in self._told_notices:
            self.complain(f"a notice came twice: {message.words[:200]}")
        self._told_notices.add(message.key)
        if len(self._told_notices) > 2000:
            self._told_notices = set()

    def _told(self, wish: Wish, message: Arrival, serial: int, now: float) -> None:
        post = self.posts.get(serial)
        if post is None:
            self.complain(f"{wish.uid}: {serial} is told, which is none or forgotten long ago")
        elif not post.announced or not wish.wants(post):
            self.complain(f"{wish.uid}: {serial} is told, though it should not be: {post}")
        again = wish.told[serial] > 0
        wish.told[serial] = min(255, wish.told[serial] + 1)
        self.delivered += not again
        if again:
            answered = wish.unsure.get(message.key, now)
            self.doubled += 1
            if not wish.doubles or (answered is not None and answered != self.killed_at):
                self.complain(f"{wish.uid}: {serial} is told twice, {message}, at {now:.3f}, {post}")

    def _in_order(self, wish: Wish, message: Arrival, now: float) -> None:
        places = []
        for serial in message.serials:
            post = self.posts.get(serial)
            if post is not None and post.served is not None and not post.exempt and wish.told[serial] == 1:
                places.append(post.served)
        if not places:
            return
        if places != sorted(places) or places[0] < wish.last:
            self.out_of_order += 1
            self.complain(f"{wish.uid}: out of order at {now:.3f}: {message}, places {places} after {wish.last}")
        wish.last = max(wish.last, *places)

    # --- at the end, and on the way

    def owed(self, wish: Wish, post: Post) -> bool:
        wanted = post.announced and post.served is not None and wish.wants(post)
        return wanted and self.fate(wish.uid, post.serial) != "never"

    def settle(self, now: float) -> None:
        """After the quiet: whatever was served must have been told, or waits for its digest."""
        for post in self.posts.values():
            for wish in self.wishes.values():
                if wish.ordered or post.served_at < now - LONGEST_DIGEST:
                    self._is_told(wish, post)

    def forget(self, before: float) -> None:
        """Judge and drop what is so old that it can't be on its way any more."""
        for post in [post for post in self.posts.values() if post.born < before]:
            for wish in self.wishes.values():
                self._is_told(wish, post)
            del self.posts[post.serial]

    def _is_told(self, wish: Wish, post: Post) -> None:
        if self.owed(wish, post) and not wish.told[post.serial]:
            self.lost += 1
            self.complain(f"{wish.uid}: {post.serial} was never told: {post}")
