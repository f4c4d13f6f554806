"""Feeds to poll: made from a number alone, of the size and the kinds that are met (15 items, about 60 kB)."""

import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import lru_cache

ITEMS = 15
_START = datetime(2026, 1, 1, tzinfo=UTC)
_WORDS = (
    "anycast backbone cable carrier colocation datagram decibel failover fibre firmware handover hub latency "
    "lattice ledger listing loss mesh metric modem naïve peering prefix queue relay release roaming rollout router "
    "session signal sluice spectrum standard switch table telemetry throughput trunk tunnel uplink vendor „Wert“ of "
    "the and in for with on at from a by über between without again later sooner which while"
).split()
_TAGS = ("BGP", "RoCE", "Open Source", "R&amp;D", "Security", "Optics", "IPv6", "Ops")
_RSS = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>Site {number}</title>'
    "<link>https://site{number}.example/</link><description>Posts</description>"
    "<lastBuildDate>{stamp}</lastBuildDate><language>en</language>\n"
)
_ATOM = (
    '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><title>Site {number}</title>'
    '<link href="https://site{number}.example/"/><id>https://site{number}.example/</id><updated>{stamp}</updated>\n'
)
_LONG = (
    '<item><title>{title}</title><link>{link}</link><guid isPermaLink="false">{link}?p={entry}</guid>'
    "<pubDate>{date}</pubDate><dc:creator>author</dc:creator><category>{one}</category><category>{two}</category>"
    "<description><![CDATA[<p>{short}</p>]]></description>"
    "<content:encoded><![CDATA[{long}]]></content:encoded></item>\n"
)
_SHORT = (
    "<item><title>{title}</title><link>{link}</link><guid>{link}</guid><pubDate>{date}</pubDate>"
    "<category>{one}</category><description>{short}</description></item>\n"
)
_ENTRY = (
    '<entry><title>{title}</title><link href="{link}"/><id>{link}</id><updated>{date}</updated>'
    '<category term="{one}"/><category term="{two}"/><summary>{short}</summary>'
    '<content type="html"><![CDATA[{long}]]></content></entry>\n'
)


def document(number: int, *, version: int = 0, stamp: int = 0) -> bytes:
    """Feed `number` with `version` entries more than at first; `stamp` moves the date of its head alone."""
    items = "".join(_item(number, entry) for entry in range(version + ITEMS - 1, version - 1, -1))
    is_atom = number % 5 == 4
    head = (_ATOM if is_atom else _RSS).format(number=number, stamp=_date(stamp, iso=is_atom))
    return (head + items + ("</feed>" if is_atom else "</channel></rss>\n")).encode()


def modified(number: int, version: int) -> str:
    return format_datetime(_START + timedelta(hours=version, minutes=number % 60), usegmt=True)


@lru_cache(maxsize=60_000)
def _item(number: int, entry: int) -> str:
    titles, shorts, longs = _pool()
    draw = number * 7919 + entry * 104_729
    form = _ENTRY if number % 5 == 4 else _SHORT if number % 5 in (1, 3) else _LONG
    return form.format(
        title=titles[draw % len(titles)],
        link=f"https://site{number}.example/{entry}/",
        entry=entry,
        date=_date(entry, iso=form is _ENTRY),
        one=_TAGS[draw % len(_TAGS)],
        two=_TAGS[draw // 8 % len(_TAGS)],
        short=shorts[draw % len(shorts)],
        long=longs[draw % len(longs)],
    )


@lru_cache(maxsize=4096)
def _date(hours: int, *, iso: bool) -> str:
    moment = _START + timedelta(hours=hours)
    return moment.isoformat() if iso else format_datetime(moment)


@lru_cache(maxsize=1)
def _pool() -> tuple[list[str], list[str], list[str]]:
    dice = random.Random(9)
    titles = [_words(dice, 8).capitalize() for _ in range(211)]
    shorts = [_words(dice, 50) for _ in range(101)]
    longs = ["".join(_paragraph(dice) for _ in range(dice.randint(7, 13))) for _ in range(97)]
    return titles, shorts, longs


def _words(dice: random.Random, count: int) -> str:
    return " ".join(dice.choices(_WORDS, k=count))


def _paragraph(dice: random.Random) -> str:
    words = _words(dice, 75)
    kind = dice.random()
    if kind < 0.2:
        return f'<p><img src="https://img.example/{dice.randint(1, 99)}.png" alt="chart"/>{words}</p>\n'
    if kind < 0.4:
        return f'<p>{words} <a href="https://site.example/{dice.randint(1, 99)}">more</a></p>\n'
    return f"<ul><li>{words[:200]}</li><li>{words[200:]}</li></ul>\n" if kind < 0.5 else f"<p>{words}</p>\n"
