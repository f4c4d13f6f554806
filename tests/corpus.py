"""Score the parser against a folder of feeds with known readings: `python -m tests.corpus FOLDER [--json]`.

FOLDER holds an `index.jsonl`; each line names a file and what at least two independent readings
agree on. Only the keys that are there are scored.
"""

import argparse
import gzip
import hashlib
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from bot.core.errors import NotAFeed
from bot.core.model.entry import ParsedEntry, ParsedFeed
from bot.core.parse.document import parse
from bot.core.text.markup import title_text

URL = "https://corpus.example/feeds/feed.xml"
TEXT_CHARACTERS = 300  # the index keeps no more
FAULTS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    zlib.error,
)
CUT_FIELDS = ("entries", "ids", "ids_unique", "ids_missing", "ids_sha256")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One expected value and what was read."""

    path: str
    field: str
    expected: object
    got: object
    right: bool
    cut_off: bool = False


def score(folder: Path) -> Iterator[Value]:
    """Yield every expected value of the folder's index with what the parser made of it."""
    with (folder / "index.jsonl").open(encoding="utf-8") as index:
        for line in index:
            row = json.loads(line)
            expected = row.get("expected") or {}
            if row.get("path") and expected:
                yield from _score_file(folder, row, expected)


def _score_file(folder: Path, row: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[Value]:
    url = (row.get("source") or {}).get("feed_url") or URL
    try:
        feed = read(folder / row["path"], row.get("headers") or {}, url)
    except FAULTS as fault:  # counted as misses: one crash must not hide the rest of the table
        print(f"{row['path']}: {type(fault).__name__}: {fault}", file=sys.stderr)
        feed = None
    for field, wanted in expected.items():
        if field == "first":
            first = feed.items[0] if feed is not None and feed.items else None
            for name, value in (wanted or {}).items():
                got = _first(first if isinstance(first, ParsedEntry) else None, name)
                yield _compared(row["path"], f"first.{name}", value, got, url=url)
        elif field != "by_hand" and wanted != "unclear":
            value = _compared(row["path"], field, wanted, _whole(feed, field, wanted), url=url)
            yield replace(value, cut_off=feed is not None and feed.truncated)


def read(path: Path, headers: Mapping[str, str], url: str = URL) -> ParsedFeed | None:
    """Parse one file as it would be served with `headers`; None: not a feed."""
    body = path.read_bytes()
    encoding = headers.get("Content-Encoding", "")
    if encoding == "gzip":
        body = gzip.decompress(body)
    elif encoding == "deflate":
        body = _inflated(body)
    try:
        return parse(body, url=url, content_type=headers.get("Content-Type"))
    except NotAFeed:
        return None


def _inflated(body: bytes) -> bytes:
    try:
        return zlib.decompress(body)
    except zlib.error:
        return zlib.decompress(body, -zlib.MAX_WBITS)


def _whole(feed: ParsedFeed | None, field: str, wanted: object) -> object:
    """What was read for a field of the whole document."""
    if field == "outcome":
        return _outcome(feed, wanted)
    entries = [item for item in feed.items if isinstance(item, ParsedEntry)] if feed is not None else []
    ids = [entry.guid or "" for entry in entries]
    values = {
        "entries": len(entries),
        "complete_entries": len(entries),
        "ids": [one or None for one in ids],
        "ids_sha256": hashlib.sha256("\n".join(ids).encode()).hexdigest(),
        "ids_unique": len({one for one in ids if one}),
        "ids_missing": ids.count(""),
    }
    return values.get(field, f"no such field: {field}")


def _outcome(feed: ParsedFeed | None, wanted: object) -> str:
    if feed is None:
        return "not-a-feed"
    if feed.truncated:
        return "truncated"
    return str(wanted) if wanted in ("feed", "feed-lenient") else "feed"


def _first(entry: ParsedEntry | None, field: str) -> object:
    if entry is None:
        return "no entry"
    if field in ("published", "updated"):
        at = entry.published if field == "published" else entry.updated
        return at.astimezone(UTC) if at is not None else None
    values = {
        "id": entry.guid,
        "link": entry.link,
        "link_raw": entry.link,
        "title": entry.title or None,
        "title_raw": entry.title or None,
        "text": entry.text or None,
        "media_description": entry.text or None,
        "tags": list(entry.categories),
    }
    return values.get(field, f"no such field: {field}")


def _compared(path: str, field: str, expected: object, got: object, *, url: str) -> Value:
    return Value(path=path, field=field, expected=expected, got=got, right=_is_right(field, expected, got, url=url))


def _is_right(field: str, expected: object, got: object, *, url: str) -> bool:
    if expected is None or got is None:
        return expected == got or (expected == "" and got is None)
    if field in ("first.text", "first.media_description"):
        return _bare(expected)[:TEXT_CHARACTERS] == _bare(got)[: len(_bare(expected)[:TEXT_CHARACTERS])]
    if field == "first.tags" and isinstance(expected, list) and isinstance(got, list):
        return {" ".join(tag.split()) for tag in expected} == set(got)
    if field in ("first.published", "first.updated"):
        return isinstance(got, datetime) and datetime.fromisoformat(str(expected)) == got
    if field == "first.link_raw":
        return got == urljoin(url, str(expected).strip())
    if field == "first.title":
        return " ".join(str(expected).split()) == " ".join(str(got).split())
    if field == "first.title_raw":  # the source of the title; what is shown is made of it
        return str(got) in (" ".join(str(expected).split()), title_text(str(expected)))
    return bool(expected == got)


def _bare(text: object) -> str:
    return "".join(str(text).split())


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    arguments.add_argument("folder", type=Path, help="a folder with an index.jsonl")
    arguments.add_argument("--json", action="store_true", help="print one JSON object")
    options = arguments.parse_args()
    values = list(score(options.folder))
    misses = [value for value in values if not value.right]
    if options.json:
        print(json.dumps(_summary(values, misses), ensure_ascii=False, default=str))
    else:
        _print_table(values, misses)
    return 0


def _summary(values: list[Value], misses: list[Value]) -> dict[str, object]:
    fields = ("path", "field", "expected", "got")
    return {
        "files": len({value.path for value in values}),
        "values": len(values),
        "right": len(values) - len(misses),
        "misses": [{**{name: getattr(miss, name) for name in fields}, "reason": reason(miss)} for miss in misses],
    }


def _print_table(values: list[Value], misses: list[Value]) -> None:
    total = Counter(value.field for value in values)
    wrong = Counter(miss.field for miss in misses)
    print(f"{'field':<24}{'values':>8}{'right':>8}{'share':>9}")
    for field, count in total.items():
        print(f"{field:<24}{count:>8}{count - wrong[field]:>8}{(count - wrong[field]) / count:>9.2%}")
    share = (len(values) - len(misses)) / max(1, len(values))
    print(f"{'all':<24}{len(values):>8}{len(values) - len(misses):>8}{share:>9.2%}")
    for miss in misses:
        print(f"\n{miss.path}: {miss.field}: {reason(miss)}")
        print(f"  expected {str(miss.expected)[:200]!r}\n  got      {str(miss.got)[:200]!r}")


def reason(miss: Value) -> str:
    """Why a value may differ, in words."""
    if miss.got == "truncated" or (miss.cut_off and miss.field in CUT_FIELDS):
        return "the document is cut off: its half entry is dropped, though other readers take it"
    if miss.field.startswith("first.link") and ":" in str(miss.expected)[:20] and miss.got is None:
        return "the link is not http(s), so nobody is sent there"
    if miss.got in (None, "no entry"):
        return "nothing was read"
    if miss.expected is None:
        return "something was read where the readings find nothing"
    if miss.field in ("first.published", "first.updated"):
        return "another moment was read"
    if "<" in str(miss.expected) or "&" in str(miss.expected) or "<" in str(miss.got):
        return "markup and text are told apart differently"
    return "another value was read"


if __name__ == "__main__":
    sys.exit(main())
