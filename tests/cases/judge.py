"""The checks of a case, each a small judge of what the servers received."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.cases.posts import Post
from tests.servers.faults import Json
from tests.servers.mail import Mail


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one target was shown in the time that a check speaks of."""

    target: str
    posts: Sequence[Post]
    check: Json

    @property
    def titles(self) -> list[str]:
        return [post.title for post in self.posts]

    def __str__(self) -> str:
        return f"{self.target} saw {self.titles}"


def squeezed(text: str) -> str:
    return " ".join(text.split())


def is_title(shown: str, wanted: str) -> bool:
    """Tell whether a headline is the one wanted; a platform's limit may have shortened it."""
    shown, wanted = squeezed(shown), squeezed(wanted)
    return shown == wanted or (shown.endswith("…") and wanted.startswith(shown[:-1].rstrip()))


def shows(post: Post, words: str) -> bool:
    return is_title(post.title, words) or squeezed(words) in squeezed(f"{post.title} {post.text}")


def find(seen: Seen, title: str) -> int:
    return sum(is_title(shown, title) for shown in seen.titles)


# --- one function for each key of a check ----------------------------------------------------------------------------


def new(seen: Seen, wanted: list[str]) -> None:
    assert len(seen.titles) == len(wanted), f"{seen}, not {wanted}"
    if seen.check.get("order") == "any":
        assert all(find(seen, title) == 1 for title in wanted), f"{seen}, not {wanted} in any order"
    else:
        assert all(map(is_title, seen.titles, wanted)), f"{seen}, not {wanted}"


def count(seen: Seen, wanted: int) -> None:
    assert len(seen.posts) == wanted, f"{seen}, not {wanted}"


def max_new(seen: Seen, most: int) -> None:
    assert len(seen.posts) <= most, f"{seen}, more than {most}"


def contains(seen: Seen, wanted: list[str]) -> None:
    for words in wanted:
        assert any(shows(post, words) for post in seen.posts), f"{seen}: no {words!r}"
    if "count" not in seen.check:
        allowed = [*wanted, *seen.check.get("optional", ()), *seen.check.get("total_once", ())]
        for post in seen.posts:
            assert any(shows(post, words) for words in allowed), f"{seen}: {post.title!r} is none of {allowed}"


def at_least_once(seen: Seen, wanted: list[str]) -> None:
    assert all(find(seen, title) for title in wanted), f"{seen}, not all of {wanted}"


def max_each(seen: Seen, most: int) -> None:
    assert not [title for title, times in Counter(seen.titles).items() if times > most], f"{seen}: one too often"


def links(seen: Seen, wanted: list[str]) -> None:
    for post, link in zip(seen.posts, wanted, strict=False):
        assert link in post.links, f"{seen.target}: {post.title!r} leads to {post.links}, not to {link}"


def link_lacks(seen: Seen, unwanted: list[str]) -> None:
    for post in seen.posts:
        bad = [link for link in post.links for part in unwanted if part.lower() in link.lower()]
        assert not bad, f"{seen.target}: {post.title!r} leads to {bad}"


def text_lacks(seen: Seen, unwanted: list[str]) -> None:
    for post in seen.posts:
        bad = [words for words in unwanted if words in f"{post.title}\n{post.text}"]
        assert not bad, f"{seen.target}: {post.title!r} shows {bad}: {post.text!r}"


def payload_lacks(seen: Seen, unwanted: list[str]) -> None:
    for post in seen.posts:
        bad = [words for words in unwanted if words in post.wire]
        assert not bad, f"{seen.target}: {bad} was sent: {post.wire}"


def allowed_mentions(seen: Seen, wanted: Json) -> None:
    if seen.target.startswith("discord:"):
        for post in seen.posts:
            assert post.message.allowed_mentions == wanted, f"{seen.target}: {post.message.allowed_mentions}"


def mail(seen: Seen, wanted: Json) -> None:
    if not seen.target.startswith("email"):
        return
    for post in seen.posts:
        _mail(post.message, wanted)


def _mail(found: Mail, wanted: Json) -> None:
    head = found.raw.partition(b"\r\n\r\n")[0]
    assert head.isascii()
    assert max(map(len, head.split(b"\r\n"))) < 998
    if "recipients" in wanted:
        assert list(found.recipients) == wanted["recipients"]
    for name in wanted.get("lacks_headers", ()):
        assert found.message[name] is None, f"{name}: {found.message[name]}"
    if "reply_to_not" in wanted:
        assert wanted["reply_to_not"] not in str(found.message["Reply-To"])
    if wanted.get("decoded_subject_equals_title"):
        assert "=?" not in found.subject, found.subject
        heading = re.search(r"<h1[^>]*>(.*?)</h1>", found.body("html"), re.S)
        assert squeezed(found.subject) in squeezed(found.body("plain")), found.subject
        assert heading is not None


JUDGES: Mapping[str, Callable[[Seen, Any], None]] = {
    judge.__name__: judge
    for judge in (
        new,
        count,
        max_new,
        contains,
        at_least_once,
        max_each,
        links,
        link_lacks,
        text_lacks,
        payload_lacks,
        allowed_mentions,
        mail,
    )
}
# Read by a judge beside its own key, or judged by the player, who knows more than posts.
BESIDE = frozenset({"after_step", "order", "optional", "only", "scope"})


def judge_posts(check: Json, posts: Mapping[str, Sequence[Post]]) -> None:
    """Hold each target's posts against a check; raises AssertionError with what was seen."""
    for target, shown in posts.items():
        if target in check.get("only", posts):
            seen = Seen(target=target, posts=shown, check=check)
            for key, judge in JUDGES.items():
                if key in check:
                    judge(seen, check[key])


def judge_answers(check: Json, answers: Sequence[str]) -> None:
    """What a check says about the answers to commands."""
    for words in check.get("contains", ()):
        assert any(squeezed(words) in squeezed(text) for text in answers), f"no {words!r} in {answers}"


def judge_total(check: Json, posts: Mapping[str, Sequence[Post]]) -> None:
    """What a check says about the whole case."""
    for target, shown in posts.items():
        seen = Seen(target=target, posts=shown, check=check)
        for title in check.get("total_once", ()):
            assert find(seen, title) == 1, f"{seen}: {title!r} not exactly once"
