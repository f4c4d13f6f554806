"""Whatever stands in the file or the environment: settings, or ConfigError with places that exist."""

from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.config.errors import Problem
from bot.config.load import load, missing_secrets
from bot.config.sources import known_names
from bot.core.errors import ConfigError
from tests.config.reading import read

EXAMPLE = (Path(__file__).parents[2] / "config.example.toml").read_text(encoding="utf-8")
LINES = EXAMPLE.split("\n")
PIECES = [
    "", "=", '"', "'", "[", "]", "[[", "{", "}", ",", "\\", "#", "\0", "\ufeff", "-1", "1e400", "nan", "true", "[]",
    "{}", '""', '"\\u0000"', "1979-05-27", "x = 1", '"""', "feeds", "[feeds]", "[[http]]", "ä", "\ud7ff",
]  # fmt: skip
VALUES = st.sampled_from(PIECES) | st.text(max_size=8) | st.integers().map(str)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Draw the example with a few lines lost, repeated, swapped, cut, or given other values."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        match draw(st.sampled_from(["drop", "repeat", "move", "value", "cut", "insert"])):
            case "drop":
                lines[at] = ""
            case "repeat":
                lines.insert(at, line)
            case "move":
                lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(at))
            case "value":
                lines[at] = f"{line.partition('=')[0]}= {draw(VALUES)}"
            case "cut":
                lines[at] = line[: draw(st.integers(0, len(line)))]
            case _:
                lines[at] = line + draw(VALUES)
    return "\n".join(lines)


def assert_told_well(text: str, error: ConfigError) -> None:
    assert error.problems
    lines = text.replace("\r\n", "\n").split("\n")
    for problem in error.problems:
        assert isinstance(problem, Problem)
        assert str(problem)
        assert "\n" not in problem.headline
        if problem.line is not None and problem.column is not None:
            assert problem.line <= len(lines)
            assert problem.column <= len(lines[problem.line - 1]) + 1


@given(mutated())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_changed_example_is_read_or_refused(text: str) -> None:
    try:
        missing_secrets(read(text))
    except ConfigError as error:
        assert_told_well(text, error)


TOML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=4,
)


def written(value: object) -> str:
    match value:
        case None:
            return "1979-05-27T07:32:00Z"
        case bool():
            return str(value).lower()
        case list():
            return "[" + ", ".join(map(written, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{key} = {written(item)}" for key, item in value.items()) + "}"
        case str():
            return '"' + "".join(f"\\U{ord(char):08x}" for char in value) + '"'
    return str(value)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_value_under_any_key_is_read_or_refused(data: st.DataObject) -> None:
    keys = [name for name in known_names() if "__" in name]
    name = data.draw(st.sampled_from(keys)).removeprefix("FEEDBELL_").lower().replace("__", ".")
    route_keys = "to feeds tags match mention digest quiet timezone max_age on_edit template image".split()
    feed_keys = "id url interval own initial section tags allow_private headers auth".split()
    text = f"{name} = {written(data.draw(TOML))}\n"
    for table, table_keys in (("feeds", feed_keys), ("routes", route_keys)):
        text += f"[[{table}]]\n"
        for key in data.draw(st.sets(st.sampled_from(table_keys), max_size=4)):
            text += f"{key} = {written(data.draw(TOML))}\n"
    try:
        missing_secrets(read(text))
    except ConfigError as error:
        assert_told_well(text, error)


@given(st.binary(max_size=60))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    with suppress(ConfigError):
        load(path, {})


NAMES = st.sampled_from(sorted(known_names())) | st.text("ABEFCLRS_019x", max_size=12).map("FEEDBELL_".__add__)


@given(st.dictionaries(NAMES, st.text(max_size=10) | st.sampled_from(PIECES), max_size=4))
@settings(max_examples=300, deadline=None)
def test_any_environment_is_read_or_refused(environ: dict[str, str]) -> None:
    with suppress(ConfigError):
        read("", environ)
