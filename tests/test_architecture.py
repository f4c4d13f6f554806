"""The rules of the house that linters cannot say: shape, doors, dependencies, and docs that keep up with the code."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAX_FILE_LINES = 350
MAX_BODY_LINES = 40
MAX_DIRECT_DEPENDENCIES = 20
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}

# One guard in each may catch every Exception: a bad feed, or a bad delivery, must not stop the others.
GUARDED = ("bot/services/intake", "bot/services/outbox")
# The store's writer catches for those who wait for it, as every executor does: it hands each exception to its awaiter.
HANDS_ON = "bot/store/database.py"

PURE_LIBRARY = set(
    "__future__ abc base64 binascii bisect calendar codecs collections contextlib copy dataclasses datetime decimal "
    "difflib email enum functools hashlib heapq hmac html io ipaddress itertools json math operator re string struct "
    "textwrap types typing unicodedata urllib xml zlib zoneinfo bot feedparser jinja2 nh3".split()
)
PLATFORM_ROOMS = {  # a platform's library stays in its modules
    "discord": ("bot/chat/discord",),
    "feedparser": ("bot/core/parse",),
    "pydantic": ("bot/config",),
    "pydantic_settings": ("bot/config",),
    "psycopg": ("bot/store",),
    "slack_sdk": ("bot/notifiers/slack", "bot/chat/slack"),
}
PARTS = {  # published apart, part of the other's public face
    "markupsafe": "jinja2",
    "multidict": "aiohttp",
    "pydantic_core": "pydantic",
    "yarl": "aiohttp",
}
USED_WITHOUT_IMPORT = {"tzdata"}  # the standard library's zoneinfo reads it


def python_files(*rooms: str) -> list[Path]:
    """Return the Python files below `rooms`, the project's own ones when none is named."""
    rooms = rooms or ("bot", "tests", "bench", "bootstrap.py")
    found = (path for room in rooms for path in [ROOT / room, *sorted((ROOT / room).rglob("*.py"))])
    return [path for path in found if path.suffix == ".py" and path.is_file()]


def place(path: Path, node: ast.AST | None = None) -> str:
    """Return where a finding is, as an editor understands it."""
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports_of(path: Path) -> Iterator[tuple[str, ast.AST]]:
    """Yield each module that a file imports by its full name."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines a function's body has, its docstring not counted."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_no_file_is_longer_than_can_be_held_in_mind() -> None:
    lengths = {place(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}
    assert {where: length for where, length in lengths.items() if length > MAX_FILE_LINES} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    found = [
        f"{place(path, node)} {node.name}: {body_lines(node)}"
        for path in python_files()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and body_lines(node) > MAX_BODY_LINES
    ]
    assert found == []


def test_no_module_or_class_has_a_name_that_says_nothing() -> None:
    def words(name: str) -> set[str]:
        return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name)}

    found = [
        place(path) for path in python_files() if VAGUE_NAMES & words(path.stem) | VAGUE_NAMES & {path.parent.name}
    ]
    for path in python_files("bot"):
        classes = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef))
        found += [f"{place(path, node)} {node.name}" for node in classes if VAGUE_NAMES & words(node.name)]
    assert found == []


def test_package_files_hold_one_docstring() -> None:
    packages = (path for path in python_files("bot") if path.name == "__init__.py")
    assert [place(path) for path in packages if not is_only_a_docstring(tree_of(path))] == []


def is_only_a_docstring(tree: ast.Module) -> bool:
    """Say so also of a package that became one only for its length, and hands on the names it had as a file."""
    kept = [node for node in tree.body if not isinstance(node, ast.ImportFrom) and not assigns_all(node)]
    return ast.get_docstring(tree) is not None and len(kept) == 1


def assigns_all(node: ast.stmt) -> bool:
    """Say whether a statement is `__all__ = ...`."""
    return isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]


def test_every_module_opens_with_a_sentence() -> None:
    assert [place(path) for path in python_files("bot") if not ast.get_docstring(tree_of(path))] == []


def catch_all_handlers(path: Path) -> Iterator[ast.ExceptHandler]:
    """Yield the handlers that swallow everything; one that raises again does not."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ExceptHandler) and catches_all(node) and not raises_again(node):
            yield node


def catches_all(handler: ast.ExceptHandler) -> bool:
    """Say whether a handler takes any exception."""
    caught = ast.unparse(handler.type) if handler.type else "BaseException"
    return bool(re.search(r"\b(Base)?Exception\b", caught))


def raises_again(handler: ast.ExceptHandler) -> bool:
    """Say whether a handler ends by a bare `raise`."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_only_the_two_guards_catch_every_exception() -> None:
    found = {place(path, node) for path in python_files("bot") for node in catch_all_handlers(path)}
    guards = {room: [where for where in found if re.match(rf"{room}[./]", where)] for room in GUARDED}
    handed_on = [where for where in found if where.startswith(HANDS_ON)]
    assert sorted(found.difference(handed_on, *guards.values())) == []
    assert {room: places for room, places in guards.items() if len(places) > 1} == {}
    suppressed = re.compile(r"suppress\((Base)?Exception\b")
    assert [place(path) for path in python_files("bot") if suppressed.search(path.read_text(encoding="utf-8"))] == []


def test_core_imports_only_what_is_pure() -> None:
    found = [
        f"{place(path, node)} {module}"
        for path in python_files("bot/core")
        for module, node in imports_of(path)
        if module.split(".")[0] not in PURE_LIBRARY
    ]
    assert found == []


def test_core_never_waits() -> None:
    waiting = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    files = python_files("bot/core")
    assert [place(path, n) for path in files for n in ast.walk(tree_of(path)) if isinstance(n, waiting)] == []


def test_platform_libraries_stay_in_their_rooms() -> None:
    found = [
        f"{place(path, node)} {module}"
        for path in python_files("bot")
        for module, node in imports_of(path)
        if not str(path.relative_to(ROOT)).startswith(PLATFORM_ROOMS.get(module.split(".")[0], ("bot",)))
    ]
    assert found == []


def normal(name: str) -> str:
    """Return a distribution's name as the package index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> dict[str, str]:
    """Return the direct runtime dependencies, the extra's too: normal name to requirement."""
    requirements = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["postgres"]]
    return {normal(re.split(r"[\[<>=!~; ]", requirement)[0]): requirement for requirement in requirements}


def imported() -> dict[str, str]:
    """Return what `bot` imports from outside the standard library: top-level module to one place."""
    own = sys.stdlib_module_names | {"bot"}
    files = python_files("bot")
    found = {module.split(".")[0]: place(path, node) for path in files for module, node in imports_of(path)}
    return {module: where for module, where in found.items() if module not in own}


def providers(module: str) -> set[str]:
    """Return the distributions that bring a top-level module."""
    module = PARTS.get(module, module)
    return {normal(name) for name in importlib.metadata.packages_distributions().get(module, [])}


def test_every_import_is_a_declared_dependency() -> None:
    found = {module: where for module, where in imported().items() if not providers(module) & declared().keys()}
    assert found == {}


def test_every_declared_dependency_is_imported() -> None:
    used = {name for module in imported() for name in providers(module)}
    assert declared().keys() - used - USED_WITHOUT_IMPORT == set()


def test_direct_dependencies_are_few() -> None:
    assert len(declared()) <= MAX_DIRECT_DEPENDENCIES


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_lock_pins_every_dependency_by_hash_and_names_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert re.findall(r"\w+://|--(?:extra-)?index-url|--find-links|--trusted-host| @ ", text) == []
    blocks = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    assert [block.splitlines()[0] for block in blocks if "--hash=sha256:" not in block] == []
    pinned = {normal(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)}
    assert declared().keys() - pinned.keys() == set()
    if lock == "requirements-dev.lock":
        runtime = re.findall(r"^([\w.-]+==\S+)", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)
        assert [pin for pin in runtime if pin not in text] == []


def project_texts() -> Iterator[Path]:
    """Yield the text files we wrote ourselves; feeds and other test data speak of anything."""
    known = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    names = known.stdout.decode().split("\0") if known.returncode == 0 else [str(p) for p in python_files()]
    written = {".py", ".md", ".toml", ".yaml", ".yml", ".lock", ".sh", ".service", ".txt", ".cfg", ".sql", ""}
    for path in (ROOT / name for name in names if name):
        if path.suffix in written and path.is_file() and not {"feeds", "cases"} & set(path.relative_to(ROOT).parts):
            yield path


def test_no_file_names_a_path_of_one_machine() -> None:
    machine = re.compile(r"(?<![\w./:>\-])/(?:work|root|home|Users|opt/pypi|tmp/\w+)/[\w.]")
    found = []
    for path in project_texts():
        text = path.read_bytes().decode("utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in machine.finditer(text)]
    assert found == []
