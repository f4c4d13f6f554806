"""Every key and value of a valid document has its place."""

import string
import tomllib
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from bot.config.toml_positions import KeyPath, Place, Position, first_repeat, locate

DOCUMENT = """\
# a comment with [brackets] and = signs
title = "x" # another
http.listen = '127.0.0.1:8080'

[[feeds]]
"quoted id" = \"\"\"
many [lines]
\\" id = 3 \"\"\"\"
  tags = [ "a", # [not, this]
    'b', [1, 2],
  ]
  [feeds.auth]
  username = "u"
[[feeds]]
auth = { username = "u", more = { bearer = "B" } }
at = 1979-05-27 07:32:00
"""


def test_keys_and_values_of_every_shape_are_found() -> None:
    places = locate(DOCUMENT)
    expected: dict[KeyPath, tuple[int, int, int, int]] = {
        ("title",): (2, 1, 2, 9),
        ("http",): (3, 1, 3, 1),
        ("http", "listen"): (3, 6, 3, 15),
        ("feeds", 0): (5, 1, 5, 1),
        ("feeds", 0, "quoted id"): (6, 1, 6, 15),
        ("feeds", 0, "tags"): (9, 3, 9, 10),
        ("feeds", 0, "tags", 1): (10, 5, 10, 5),
        ("feeds", 0, "tags", 2, 1): (10, 14, 10, 14),
        ("feeds", 0, "auth"): (12, 3, 12, 3),
        ("feeds", 0, "auth", "username"): (13, 3, 13, 14),
        ("feeds", 1): (14, 1, 14, 1),
        ("feeds", 1, "auth", "more", "bearer"): (15, 35, 15, 44),
        ("feeds", 1, "at"): (16, 1, 16, 6),
    }
    for path, (key_line, key_column, line, column) in expected.items():
        assert places[path] == Place(Position(key_line, key_column), Position(line, column)), path


def test_a_document_with_a_fault_gives_what_stands_before_it() -> None:
    assert set(locate("a = 1\nb = \nc = 2")) == {("a",), ("b",)}
    assert set(locate("a = [1, 2\n")) == {("a",), ("a", 0), ("a", 1)}


def test_the_second_of_two_equal_keys_is_found() -> None:
    assert first_repeat("a = 1\nb = 2\n  a = 3\n") == (("a",), Position(3, 3))
    assert first_repeat("[a]\n[b]\n[a]\n") == (("a",), Position(3, 1))
    assert first_repeat("[[a]]\nx = 1\n[[a]]\nx = 1\n") is None


KEYS = st.text(string.ascii_letters + string.digits + "_-. ä\"'\\", min_size=1, max_size=6)
VALUES = st.recursive(
    st.integers(-99, 99) | st.booleans() | st.text(string.printable.replace("\r", "") + "ä€", max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, VALUES, max_size=5), st.booleans())
def test_the_paths_are_those_that_tomllib_reads(tables: dict[str, object], literal: bool) -> None:
    text = "".join(f"{written(key)} = {written(value, literal=literal)} # = [\n" for key, value in tables.items())
    assert set(locate(text)) == set(paths_of(tomllib.loads(text)))


def written(value: object, *, literal: bool = False) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list():
            return "[\n" + ",\n".join(written(item, literal=literal) for item in value) + "]"
        case dict():
            pairs = ", ".join(f"{written(key)} = {written(item, literal=literal)}" for key, item in value.items())
            return "{ " + pairs + " }"
        case str() if literal and "'" not in value and value.isprintable():
            return f"'{value}'"
        case str():
            return '"' + "".join(c if c.isalnum() or c in " =[]{}#,'" else f"\\U{ord(c):08x}" for c in value) + '"'
    return str(value)


def paths_of(value: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths_of(item, (*path, key))
