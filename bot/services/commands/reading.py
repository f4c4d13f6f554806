"""Commands that only look: latest, tags, feeds, search, status. Each is answered in one go on a reader's thread."""

from collections.abc import Sequence

from bot.core.errors import UsageError
from bot.core.model.feed import FeedState
from bot.core.model.message import Bullets, Text
from bot.core.query import LatestQuery, parse_latest
from bot.core.render import display_moment, render_list
from bot.core.tags import fold, nearest
from bot.core.text.amounts import amount
from bot.core.text.characters import one_line
from bot.core.text.graphemes import cut
from bot.core.text.links import http_url
from bot.services.commands.asking import Answer, Asked, Button
from bot.services.commands.desk import Desk, Reading, echo, in_order, listed

LAST_PAGE = 50  # so that nobody makes the store skip through years
FOUND = 5  # entries on a page of a search
FEEDS = 10  # on a page of the list: with what is wrong with each, they find room in any message
WHY = 100  # characters of what is wrong with a feed
LINK = 200  # characters of a site's address that is linked in a list
MAX_WORDS = 10
TITLE = 80
HINTED = 200  # characters of tags below the newest entry
_QUOTES = "\"'“”„‘’"


def latest(desk: Desk, reading: Reading, asked: Asked) -> Answer:
    scope = desk.scope(reading, asked.who)
    query = parse_latest(asked.text, has_tag=scope.has_tag, feed_ids=scope.feed_ids)
    page = max(0, min(asked.page, LAST_PAGE))
    start = page * query.count
    found = scope.latest(tag=query.folded, feed=query.feed, limit=start + query.count + 1)
    shown = found[start : start + query.count]
    public = query.public or asked.public
    if not shown:
        return _none(desk, query, scope.tags())
    message = render_list(
        shown, timezone=desk.timezone(), now=desk.clock.now(), heading=_heading(query, start, len(shown))
    )
    is_plain = query.tag is None and query.feed is None and not page and not public
    tags = in_order(scope.tags()) if is_plain else []
    return Answer(
        message=message,
        public=public,
        buttons=() if public else _buttons(asked, page, more=len(found) > start + query.count),
        hint=f"Tags: {listed(tags, room=HINTED)}" if tags else "",
    )


def _heading(query: LatestQuery, start: int, count: int) -> str | None:
    if query.count == 1:
        return None
    about = f" tagged {echo(query.tag)}" if query.tag else ""
    source = f" from {query.feed}" if query.feed else ""
    place = f" · {start + 1}–{start + count}" if start else ""
    return f"Newest posts{about}{source}{place}"


def _buttons(asked: Asked, page: int, *, more: bool) -> tuple[Button, ...]:
    buttons = paging(asked, page, more=more)
    if asked.who.is_direct:
        return buttons
    return (*buttons, Button(label="Show in channel", name=asked.name, text=asked.text, page=page, posts=True))


def paging(asked: Asked, page: int, *, more: bool, words: tuple[str, str] = ("Newer", "Older")) -> tuple[Button, ...]:
    before = [Button(label=words[0], name=asked.name, text=asked.text, page=page - 1)] if page else []
    after = [Button(label=words[1], name=asked.name, text=asked.text, page=page + 1)] if more else []
    return (*before, *(after if page < LAST_PAGE else ()))


def _none(desk: Desk, query: LatestQuery, tags: Sequence[tuple[str, int]]) -> Answer:
    """Say what exists instead, to the person who asked alone: a mistake is nobody else's business."""
    names = in_order(tags)
    if query.tag is None:
        words = f"nothing from {query.feed} yet" if query.feed else "no posts yet: the feeds have not been read so far"
        return desk.tell(words)
    source = f" in {query.feed}" if query.feed else ""
    rest = f"tags: {listed(names)}" if names else "no post has a tag yet"
    near = [name for name in nearest(query.tag, names) if fold(name) != fold(query.tag)]
    lines = [f"no post tagged {echo(query.tag)}{source}; {rest}"]
    if near:
        lines.append(f"Did you mean {' or '.join(near)}?")
    buttons = tuple(Button(label=cut(name, 70), name="latest", text=name) for name in near if len(name) <= 70)
    return Answer(message=desk.say(*lines), buttons=buttons)


def tags(desk: Desk, reading: Reading, asked: Asked) -> Answer:
    scope = desk.scope(reading, asked.who)
    found = scope.tags()
    if not found:
        return desk.tell("no post has a tag yet")
    names = [f"{one_line(name)} ({count})" for name, count in found]
    return Answer(
        message=desk.say(listed(names), heading=amount(len(names), "tag")),
        hint="/latest and a tag shows its newest post",
    )


def feeds(desk: Desk, reading: Reading, asked: Asked) -> Answer:
    states = desk.scope(reading, asked.who).feeds()
    if not states:
        return desk.tell("no feeds yet")
    pages = (len(states) - 1) // FEEDS
    page = max(0, min(asked.page, pages))
    shown = states[page * FEEDS : (page + 1) * FEEDS]
    items = Bullets(items=tuple(_feed_line(desk, state) for state in shown))
    return Answer(
        message=desk.say(heading=amount(len(states), "feed"), blocks=(items,)),
        buttons=paging(asked, page, more=page < pages, words=("Previous", "Next")),
    )


def _feed_line(desk: Desk, state: FeedState) -> tuple[Text, ...]:
    title = cut(one_line(state.title), TITLE) or str(state.feed.id)
    site = http_url(state.site_url)
    return (
        Text(text=title, bold=True, href=site if site and len(site) <= LINK else None),
        Text(text=f" ({state.feed.id}) · {_state_words(desk, state)}"),
    )


def _state_words(desk: Desk, state: FeedState) -> str:
    if state.paused_at is not None:
        return f"paused since {display_moment(state.paused_at, timezone=desk.timezone())}"
    if state.stopped is not None:
        return f"stopped: {one_line(state.stopped)}"
    if state.failing_since is not None:
        why = f": {cut(one_line(state.error), WHY)}" if state.error else ""
        return f"failing since {display_moment(state.failing_since, timezone=desk.timezone())}{why}"
    if state.last_new_at is not None:
        return f"last new post {display_moment(state.last_new_at, timezone=desk.timezone())}"
    return "nothing new since the first reading" if state.primed_at is not None else "not read yet"


def search(desk: Desk, reading: Reading, asked: Asked) -> Answer:
    words = [word for part in asked.text.split() if (word := part.strip(_QUOTES))]
    if not words:
        raise UsageError("search for which words? /feedbell search WORDS")
    if len(words) > MAX_WORDS:
        raise UsageError(f"search takes {MAX_WORDS} words at most")
    scope = desk.scope(reading, asked.who)
    page = max(0, min(asked.page, LAST_PAGE))
    start = page * FOUND
    found = scope.search(words, limit=start + FOUND + 1)
    shown = found[start : start + FOUND]
    if not shown:
        return desk.tell(f"nothing holds {echo(' '.join(words))}; every word must stand in title, text or tags")
    message = render_list(
        shown, timezone=desk.timezone(), now=desk.clock.now(), heading=f"Posts that hold {echo(' '.join(words))}"
    )
    return Answer(message=message, buttons=_buttons(asked, page, more=len(found) > start + FOUND))


def status(desk: Desk, reading: Reading, asked: Asked) -> Answer:
    states = desk.scope(reading, asked.who).feeds()
    lines = [_summary(states)]
    unwell = [state for state in states if _is_unwell(state)]
    lines += [f"{state.feed.id}: {_state_words(desk, state)}" for state in unwell[:10]]
    if len(unwell) > 10:
        lines.append(f"… and {len(unwell) - 10} more feeds")
    last = max((state.last_new_at for state in states if state.last_new_at), default=None)
    if last is not None:
        lines.append(f"The last new post came {display_moment(last, timezone=desk.timezone())}.")
    waiting = reading.waiting(now=desk.clock.now())
    lines.append(
        f"{amount(waiting, 'message')} {'waits' if waiting == 1 else 'wait'} to be delivered."
        if waiting
        else "Nothing waits to be delivered."
    )
    return desk.tell(*lines, *_parked(desk, reading, asked))


def _summary(states: Sequence[FeedState]) -> str:
    counts = (
        ("failing", sum(s.failing_since is not None and not s.paused_at and not s.stopped for s in states)),
        ("paused", sum(s.paused_at is not None for s in states)),
        ("stopped", sum(s.stopped is not None and s.paused_at is None for s in states)),
    )
    said = ", ".join(f"{count} {word}" for word, count in counts if count)
    return f"{amount(len(states), 'feed')}: {said or 'all well'}." if states else "No feeds yet."


def _is_unwell(state: FeedState) -> bool:
    return any(at is not None for at in (state.failing_since, state.stopped, state.paused_at))


def _parked(desk: Desk, reading: Reading, asked: Asked) -> list[str]:
    """A destination may be somebody's address: only admins read which ones take nothing."""
    rows = [row for row in reading.destinations() if row.parked is not None]
    if not rows:
        return []
    if not desk.is_admin(asked.who):
        return [f"{amount(len(rows), 'destination takes', 'destinations take')} nothing right now."]
    shown = [f"{row.uid} takes nothing: {one_line(row.parked or '')}" for row in rows[:10]]
    return [*shown, *([f"… and {len(rows) - 10} more"] if len(rows) > 10 else [])]
