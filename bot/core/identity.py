"""What makes an entry the same entry within its feed: one key, and the aliases under which it may come again.

The same functions serve the first poll and every other one. Nothing here depends on the place of
an item in its document, on dates being readable, or on the URL that the feed was fetched from.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from urllib.parse import quote, urlsplit

from bot.core.model.entry import Identity, Key, Known, KnownEntry, Listed, ParsedEntry

KEY_VERSION = 1  # a new one means: re-key every stored entry from its raw fields, never announce anew (N9)
WORDS = 512  # characters of the text that tell entries apart

_TRACKING = frozenset(
    "fbclid gclid dclid gbraid wbraid gclsrc msclkid yclid ysclid twclid ttclid igshid igsh li_fat_id epik srsltid "
    "mc_cid mc_eid _hsenc _hsmi __hstc __hssc __hsfp hsctatracking mkt_tok vero_id vero_conv oly_anon_id oly_enc_id "
    "rb_clickid s_cid wickedid ml_subscriber ml_subscriber_hash _openstat _ga _gl guccounter guce_referrer "
    "guce_referrer_sig at_medium at_campaign at_custom1 at_custom2 at_custom3 at_custom4".split()
)
_TRACKING_PREFIXES = ("utm_", "mtm_", "pk_", "piwik_", "matomo_")
_PERCENT = re.compile("%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_DEFAULT_PORT = re.compile(r"(?::(?:80|443)|[.:])+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """The names of a document's items, in its order (None: nothing to know the item by), and what it shows of ids."""

    identities: tuple[Identity | None, ...]
    links_shared: bool  # so far, this document included (N6)
    guids_shared: bool  # so far (N7)


def identify(
    entry: ParsedEntry, *, links_shared: bool = False, guids_shared: bool = False, home: str | None = None
) -> Identity | None:
    """Return the names of `entry` under the feed's policy; None if it has nothing to be known by (N2).

    `home` is the canonical link of the feed itself.
    """
    key = key_of(entry, links_shared=links_shared, guids_shared=guids_shared)
    if key is None:
        return None
    alias = bare_url(entry.guid or entry.link or "")
    return Identity(
        key=key,
        guid_alias=_hash("u", alias) if alias and not guids_shared else None,
        link_alias=_link_alias(entry, entry.link, home) if entry.link and not links_shared else None,
        fingerprint=fingerprint(entry),
        moment=_moment(entry.title, entry.published) if entry.has_time else None,
    )


def key_of(entry: ParsedEntry, *, links_shared: bool = False, guids_shared: bool = False) -> Key | None:
    """Return the key of `entry`: its guid, else its link, its enclosure, its words.

    Where guids are shared the link is added; where links are shared too, or stand in for the
    guid, the words. The policy is the feed's, for good: never one document's (N8).
    """
    if not entry.guid and not entry.link and not entry.enclosure:
        words = entry.title + entry.text
        return _hash("w", entry.title, entry.raw_date, entry.text[:WORDS]) if words.strip() else None
    plain = _plain_key(entry)
    if not guids_shared:
        return plain
    if entry.guid and entry.link and not links_shared:
        return _hash("gl", entry.guid, canonical_url(entry.link))
    return _hash("gw", plain.hex(), (fingerprint(entry) or b"").hex())


def fingerprint(entry: ParsedEntry) -> Key | None:
    """Return A4: title, day and first words; None for an entry without words."""
    if not entry.title and not entry.text:
        return None
    date = entry.published or entry.updated
    return _hash("f", entry.title, date.date().isoformat() if date else entry.raw_date, entry.text[:WORDS])


def with_moments(known: Known, titled: Iterable[tuple[str, KnownEntry]]) -> Known:
    """Let stored entries, each with its title, be known by title and instant too, where that means one alone."""
    named = [(_moment(title, entry.published), entry) for title, entry in titled]
    times = Counter(name for name, _ in named)
    alone = {name: entry for name, entry in named if name is not None and times[name] == 1}
    return replace(
        known,
        by_hash={name: entry.id for name, entry in alone.items()} | known.by_hash,
        entries={entry.id: entry for entry in alone.values()} | known.entries,
    )


def identify_document(
    items: Sequence[ParsedEntry | Listed],
    *,
    links_shared: bool = False,
    guids_shared: bool = False,
    home: str | None = None,
) -> Identified:
    """Return the names of a document's items, under the policy that memory and this document give.

    Equal guid, link and title are one entry and get equal names; equal guids alone change the
    policy for good. In the document that changes it each item has its former key as an alias,
    so that what is known by it is not new (N7). `home` is the feed's own link.
    """
    fresh = [item for item in items if isinstance(item, ParsedEntry)]
    guids = guids_shared or _guids_shared(fresh)
    links = links_shared or _links_shared(fresh)
    changed = (links, guids) != (links_shared, guids_shared)
    home = None if home is None else canonical_url(home)
    identities: list[Identity | None] = []
    for item in items:
        if isinstance(item, Listed):
            identities.append(Identity(key=item.key))
            continue
        identity = identify(item, links_shared=links, guids_shared=guids, home=home)
        former = key_of(item, links_shared=links_shared, guids_shared=guids_shared) if changed else None
        if identity is not None and former is not None and former != identity.key:
            identity = replace(identity, guid_alias=former)
        identities.append(identity)
    named = tuple(identities)
    return Identified(
        identities=named if guids else _without_shared_aliases(named), links_shared=links, guids_shared=guids
    )


def canonical_url(url: str) -> str:
    """Return the one form of a URL: https, host in lower case, no default port, trailing slash or tracking (N10).

    The fragment stays: changelogs differ only by it. Applying it twice changes nothing.
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return url
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return url
    query = "&".join(p for p in _decoded(parts.query).split("&") if p and not _is_tracking(p))
    fragment = _decoded(parts.fragment)
    return "".join(
        (
            "https://",
            _host(parts.netloc),
            _decoded(parts.path).rstrip("/"),
            f"?{query}" if query else "",
            f"#{fragment}" if fragment else "",
        )
    )


def bare_url(guid: str) -> str | None:
    """Return A2 of a guid that is a URL: canonical, without scheme and `www.`; None for any other guid."""
    if not guid[:8].lower().startswith(("http://", "https://")):
        return None
    scheme, _, rest = guid.partition("://")
    canonical = canonical_url(f"{scheme.lower()}://{rest}")
    return canonical.partition("://")[2].removeprefix("www.")


def _moment(title: str, at: datetime | None) -> Key | None:
    return _hash("t", title, str(int(at.timestamp()))) if title and at is not None else None


def _plain_key(entry: ParsedEntry) -> Key:
    if entry.guid:
        return _hash("g", entry.guid)
    # A3 of an entry whose guid went away is this very key, so it is known at once.
    return link_key(entry.link) if entry.link else _hash("e", canonical_url(entry.enclosure or ""))


def link_key(link: str) -> Key:
    """Return A3 of whatever stands at `link`, in any spelling of it."""
    return _hash("l", canonical_url(link))


def _link_alias(entry: ParsedEntry, link: str, home: str | None) -> Key:
    """Return A3. Alerts of a feed may all lead to the feed's own page, one at a time: there only the words differ."""
    canonical = canonical_url(link)
    return _hash("l", canonical) if canonical != home else _hash("lf", canonical, (fingerprint(entry) or b"").hex())


def _hash(kind: str, *parts: str) -> Key:
    text = "\x1f".join((str(KEY_VERSION), kind, *(part.replace("\x1f", " ") for part in parts)))
    return Key(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())


def _guids_shared(entries: Iterable[ParsedEntry]) -> bool:
    """Whether one id stands on items that differ in link or title."""
    seen: dict[Key, tuple[str, str]] = {}
    for entry in entries:
        if entry.guid or entry.link or entry.enclosure:
            rest = (canonical_url(entry.link or ""), entry.title)
            if seen.setdefault(_plain_key(entry), rest) != rest:
                return True
    return False


def _links_shared(entries: Iterable[ParsedEntry]) -> bool:
    """Whether one link stands on two guids, or on items of one guid that differ in title."""
    seen: dict[str, tuple[str | None, str]] = {}
    for entry in entries:
        if not entry.link:
            continue
        rest = (entry.guid, entry.title)
        if seen.setdefault(canonical_url(entry.link), rest) != rest:
            return True
    return False


def _without_shared_aliases(identities: tuple[Identity | None, ...]) -> tuple[Identity | None, ...]:
    """Drop the A2 of entries that differ only in what A2 ignores: it would make one of them the other."""
    keys: dict[Key, set[Key]] = {}
    for identity in identities:
        if identity is not None and identity.guid_alias is not None:
            keys.setdefault(identity.guid_alias, set()).add(identity.key)
    shared = {alias for alias, named in keys.items() if len(named) > 1}
    return tuple(
        replace(identity, guid_alias=None) if identity is not None and identity.guid_alias in shared else identity
        for identity in identities
    )


def _host(netloc: str) -> str:
    user, at, host = netloc.rpartition("@")
    host = host.lower()
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")  # may leave out or turn characters: before anything is judged
        except UnicodeError:
            host = quote(host, safe=":[]")
    host = _DEFAULT_PORT.sub("", host)
    return user + at + _PERCENT.sub(lambda octet: octet.group().upper(), host)


def _decoded(part: str) -> str:
    """Percent-encoding in one form: unreserved characters plain, everything else that needs it encoded."""
    encoded = quote(part, safe="%!$&'()*+,;=:@/?-._~[]|")
    return _PERCENT.sub(_octet, encoded)


def _octet(match: re.Match[str]) -> str:
    char = chr(int(match.group(1), 16))
    return char if char in _UNRESERVED else match.group().upper()


def _is_tracking(parameter: str) -> bool:
    name = parameter.partition("=")[0].lower()
    return name in _TRACKING or name.startswith(_TRACKING_PREFIXES)
