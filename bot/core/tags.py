"""Tags: when two spellings are one tag, which categories are no tags, and what somebody may have meant."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from bot.core.text.characters import one_line
from bot.core.text.markup import decode_entities

MIN_ITEMS = 3  # fewer entries prove no habit of a feed
NEAR = 0.6  # how alike two spellings must be to be suggested, as difflib counts
MAX_NEAR = 3
MAX_COMPARED = 100  # characters; no tag that somebody mistypes is longer

# Between the name of a section and the name of its site: "AI Networking · Darren Qu", "Posts on Somebody's Blog".
_TITLE_JOINT = re.compile(r"\s+(?:[·•|»>/:–—-]+|on)\s+|:\s+")
_WRAPPED = (
    ("*", "*"),
    ('"', '"'),
    ("'", "'"),
    ("`", "`"),
    ("“", "”"),
    ("„", "“"),
    ("‘", "’"),
    ("«", "»"),
    ("「", "」"),
)
_VARIATION_SELECTORS = range(0xFE00, 0xFE10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """What `decide_section` found.

    `remember` is what to keep as `FeedMemory.section`; None means that the feed has not shown its habit yet, so that
    the next document is looked at again.
    """

    names: tuple[str, ...] = ()
    remember: tuple[str, ...] | None = None


@lru_cache(maxsize=8192)
def fold(tag: str) -> str:
    """Return what makes a tag the same tag: "AI Networking", "#AI_networking" and "ai-networking" meet.

    Case, width, a leading "#", quotes or emphasis around it, invisible characters, and the choice between blank,
    hyphen and underscore do not count. All else does: "c", "c++", "c#" and ".net" stay apart. Folding twice changes
    nothing.
    """
    plain = caseless("".join(char for char in tag if not _is_invisible(char)))
    joined = _join_words(plain)
    # A tag of nothing but such marks is still a tag.
    while (bare := _unwrap(joined)) not in ("", joined):
        joined = bare
    return joined or "".join(plain.split())


def decide_section(
    categories: Sequence[Sequence[str]],
    *,
    title: str,
    configured: str | None = None,
    remembered: tuple[str, ...] | None = None,
) -> Sections:
    """Say which categories name the whole feed and are therefore no tags.

    `categories` holds one sequence for each item of a document. First match wins:
    1. the operator named the section;
    2. an earlier document decided, and a later one never re-derives it;
    3. the term equals the feed's title or the title's head ("AI Networking · Darren Qu");
    4. the term stands on every one of at least three items, and without such terms most items still have a tag:
       a feed that has used only one tag so far must not lose it.
    """
    if configured is not None:
        return Sections(names=(configured,))
    if remembered is not None:
        return Sections(names=remembered, remember=remembered)
    names: dict[str, str] = {}
    for term in (term for item in categories for term in item):
        names.setdefault(fold(term), term)
    items = [fold_all(item) for item in categories]
    titled = _title_heads(title) & names.keys()
    if len(items) < MIN_ITEMS:
        return Sections(names=_spelled(titled, names))
    common = frozenset(names).intersection(*items)
    with_own = sum(1 for item in items if item - common - titled)
    section = titled | common if with_own * 2 > len(items) else titled
    found = _spelled(section, names)
    # Nothing is settled as long as one term stands on every item and may be section or tag, or there is none at all.
    is_open = not section and (common or not names)
    return Sections(names=found, remember=None if is_open else found)


def split_section(categories: Iterable[str], sections: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return an entry's (section, tags): both as written, in the feed's order, each tag once."""
    section_keys = {fold(name) for name in sections}
    unique = unique_tags(categories)
    section = tuple(term for term in unique if fold(term) in section_keys)
    return section, tuple(term for term in unique if fold(term) not in section_keys)


def entry_tags(categories: Iterable[str], sections: Collection[str], fixed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the tags of an entry: its categories without the section, then the feed's fixed tags (small print 15).

    A fixed tag stays even where it names the section: the operator asked for it.
    """
    return unique_tags((*split_section(categories, sections)[1], *fixed))


def unique_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return each tag once, in its first spelling; those without a visible character are none.

    Categories come as the feed writes them, and many feeds escape them twice: "R&amp;D" is shown as "R&D".
    """
    first: dict[str, str] = {}
    for tag in tags:
        shown = one_line(decode_entities(tag))
        first.setdefault(fold(shown), shown)
    return tuple(tag for key, tag in first.items() if key)


def fold_all(tags: Iterable[str]) -> frozenset[str]:
    """Return the folded forms of tags, for a comparison with a route's."""
    return frozenset(fold(tag) for tag in tags) - {""}


def nearest(tag: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return at most three known tags that somebody may have meant, the likeliest first, as they are written.

    Accents, blanks and a plural's ending matter less than letters; a beginning counts as near ("ai").
    """
    wanted = _squash(tag)[:MAX_COMPARED]
    if not wanted:
        return ()
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    scored = [(_likeness(matcher, wanted, _squash(name)[:MAX_COMPARED]), name) for name in unique_tags(known)]
    near = sorted((pair for pair in scored if pair[0] >= NEAR), key=lambda pair: (-pair[0], fold(pair[1])))
    return tuple(name for _, name in near[:MAX_NEAR])


def caseless(text: str) -> str:
    """Return Unicode's compatibility caseless form (Unicode Standard, 3.13, D146)."""
    once = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", text).casefold())
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", once.casefold()).casefold())


def _spelled(keys: Collection[str], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for key, name in names.items() if key in keys)


def _likeness(matcher: SequenceMatcher[str], wanted: str, name: str) -> float:
    if wanted == name:
        return 2.0
    if len(wanted) > 1 and (name.startswith(wanted) or (len(name) > 1 and wanted.startswith(name))):
        return 1.0 + min(len(wanted), len(name)) / (2 * max(len(wanted), len(name)))
    matcher.set_seq1(name)
    # The two quick ratios are upper bounds and spare most names the slow one.
    if min(matcher.real_quick_ratio(), matcher.quick_ratio()) < NEAR:
        return 0.0
    return matcher.ratio()


def _squash(tag: str) -> str:
    """Return the bare letters: no accents, nothing between words."""
    apart = unicodedata.normalize("NFKD", fold(tag))
    return "".join(char for char in apart if char != "-" and not unicodedata.combining(char))


def _title_heads(title: str) -> frozenset[str]:
    return fold_all((title, _TITLE_JOINT.split(title.strip(), maxsplit=1)[0]))


def _is_invisible(char: str) -> bool:
    if ord(char) in _VARIATION_SELECTORS:
        return True
    category = unicodedata.category(char)
    return category == "Cf" or (category == "Cc" and not char.isspace())


def _join_words(text: str) -> str:
    """Make one hyphen of every run of blanks, hyphens and underscores; none at the ends."""
    blank = "".join(" " if char == "_" or unicodedata.category(char) == "Pd" else char for char in text)
    return "-".join(blank.split())


def _unwrap(text: str) -> str:
    """Take off one layer: a "#" before the tag, or a pair of marks around it, as chats and people add them."""
    bare = text
    if text.startswith("#"):
        bare = text[1:]
    elif len(text) > 2 and (text[0], text[-1]) in _WRAPPED:
        bare = text[1:-1]
    return bare.strip("-")
