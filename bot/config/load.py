"""From the file, the environment and secret files to the settings, or to the list of every mistake in them."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from bot.config.checks import cross_checks, likely_secrets, secrets_in_file
from bot.config.errors import Problem, mask
from bot.config.explain import faults_of
from bot.config.hints import toml_hint
from bot.config.missing import lacking_secrets
from bot.config.places import Fault, Source, dotted
from bot.config.settings import HttpSettings, Settings
from bot.config.sources import Overlay, default_secret_dirs, read_sources
from bot.config.toml_positions import KeyPath, first_repeat
from bot.core.errors import ConfigError

MAX_DEPTH = 50  # of tables and lists in one another; we read five
MAX_FILE = 32_000_000  # bytes; a hundred thousand feeds fit in with room to spare

_TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff")


def load(path: Path, environ: Mapping[str, str], *, with_secrets: bool = False) -> Settings:
    """Read the configuration; raises ConfigError with every mistake at once.

    The environment wins over the file and over the folders of secrets. `with_secrets`: beside other mistakes a missing
    secret is told too; alone it is left to `missing_secrets`.
    """
    return parse(_read(path), environ, path=path, with_secrets=with_secrets)


def parse(
    text: str,
    environ: Mapping[str, str],
    *,
    path: Path,
    secret_dirs: Sequence[Path] | None = None,
    with_secrets: bool = False,
) -> Settings:
    """Do the same with the text of a file that lies, or would lie, at `path`.

    `secret_dirs` are searched in order, by default those of default_secret_dirs.
    """
    text = text.replace("\r\n", "\n")
    overlay = read_sources(environ, default_secret_dirs(environ) if secret_dirs is None else secret_dirs)
    try:
        raw = _tables_of(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError((_syntax_problem(error, str(path), text.split("\n")), *_errors(overlay.problems))) from error
    source = Source(path=str(path), text=text, origins=overlay.origins)
    missing = _missing(raw, overlay, source)
    settings, problems = _settings(raw, overlay, source, folder=path.absolute().parent)
    if settings is None or _errors(problems):
        raise ConfigError(tuple(_in_file_order([*_errors(problems), *(missing if with_secrets else ())])))
    settings._warnings = tuple(problems)
    settings._missing = tuple(missing)
    return settings


def listening_address(path: Path, environ: Mapping[str, str]) -> tuple[tuple[str, int], bool]:
    """Return the host and port that a bot of this configuration listens on, and whether the configuration is right.

    A running bot refuses a file with mistakes and goes on with the old one: its health must not depend on the file's.
    """
    try:
        return load(path, environ).http.address, True
    except ConfigError:
        pass
    try:
        raw = tomllib.loads(_read(path))
    except (ConfigError, ValueError, RecursionError):
        raw = {}
    http = _merge(raw, read_sources(environ, ()).values, without=[]).get("http")
    listen = http.get("listen") if isinstance(http, dict) else None
    try:
        return HttpSettings.model_validate({} if listen is None else {"listen": listen}).address, False
    except ValidationError:
        return HttpSettings().address, False


def load_complete(path: Path, environ: Mapping[str, str]) -> Settings:
    """The same for whoever sends: raises ConfigError also where a secret alone is missing."""
    settings = load(path, environ, with_secrets=True)
    if missing := missing_secrets(settings):
        raise ConfigError(missing)
    return settings


def missing_secrets(settings: Settings) -> tuple[Problem, ...]:
    """Return a problem for each destination, and each feed with credentials, whose secret isn't set."""
    return settings._missing


def _missing(raw: dict[str, object], overlay: Overlay, source: Source) -> list[Problem]:
    # A secret that is wrong or stands in the wrong place is told there, and not as missing besides.
    merged = _merge(raw, {**dict.fromkeys(overlay.refused, ""), **overlay.values}, without=[])
    return _in_file_order([source.problem(fault) for fault in lacking_secrets(merged)])


def _settings(
    raw: dict[str, object], overlay: Overlay, source: Source, *, folder: Path
) -> tuple[Settings | None, list[Problem]]:
    faults = list(secrets_in_file(raw))
    merged = _merge(raw, overlay.values, without=faults)
    settings: Settings | None = None
    try:
        settings = Settings.model_validate(merged)
    except ValidationError as error:
        faults += faults_of(error)
    faults += [*cross_checks(merged, folder=folder), *likely_secrets(raw)]
    problems = _in_file_order([*overlay.problems, *(source.problem(fault) for fault in _first_of_each(faults))])
    if settings is not None:
        settings._folder = folder
    return settings, problems


def _merge(raw: dict[str, object], stronger: Mapping[KeyPath, object], *, without: list[Fault]) -> dict[str, object]:
    """Return the file's tables with misplaced secrets taken out and the stronger values laid over."""
    merged = {name: dict(value) if isinstance(value, dict) else value for name, value in raw.items()}
    for fault in without:
        if fault.at == "key":
            _remove(merged, [str(part) for part in fault.path])
    for path, value in stronger.items():
        *tables, last = (str(part) for part in path)
        table: object = merged
        for name in tables:
            table = table.setdefault(name, {}) if isinstance(table, dict) else None
        if isinstance(table, dict):
            table[last] = value
    return merged


def _remove(table: dict[str, object], path: list[str]) -> None:
    inner = table.get(path[0])
    if len(path) == 1:
        table.pop(path[0], None)
    elif isinstance(inner, dict):
        _remove(inner, path[1:])


def _first_of_each(faults: list[Fault]) -> list[Fault]:
    """Return one fault for each place: the first found says most."""
    found: dict[tuple[object, ...], Fault] = {}
    for fault in faults:
        found.setdefault((fault.path, fault.severity), fault)
    return list(found.values())


def _in_file_order(problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda p: (p.line is None, p.line or 0, p.column or 0, p.path, p.key, p.message))


def _errors(problems: list[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.severity == "error"]


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_FILE + 1)
    except FileNotFoundError as error:
        hint = "copy config.example.toml, or name another file with --config or FEEDBELL_CONFIG"
        raise _whole_file(path, f"no such file; {hint}") from error
    except IsADirectoryError as error:
        raise _whole_file(path, "this is a directory; name the file in it") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise _whole_file(path, f"can't be read: {(reason or 'not a usable name').lower()}") from error
    if len(content) > MAX_FILE:
        raise _whole_file(path, f"larger than {MAX_FILE // 1_000_000} MB; is this the right file?")
    return _decode(content, path)


def _decode(content: bytes, path: Path) -> str:
    if content.startswith(b"\xef\xbb\xbf"):
        raise _first_line(path, "begins with a byte order mark (BOM); save it as UTF-8 without BOM")
    if content.startswith(_OTHER_BOMS) or b"\0" in content[:4]:
        raise _first_line(path, "is UTF-16 or UTF-32; save it as UTF-8 without BOM")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8").replace("\r\n", "\n")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        start = content.rfind(b"\n", 0, error.start) + 1
        shown = content[start : content.find(b"\n", error.start) % (len(content) + 1)].decode("utf-8", "replace")
        message = f"not UTF-8 (byte 0x{content[error.start]:02X}); save the file as UTF-8"
        problem = Problem(
            path=str(path), line=line, column=column, message=message, source_line=mask(shown.rstrip("\r"))
        )
        raise ConfigError((problem,)) from error


def _whole_file(path: Path, message: str) -> ConfigError:
    return ConfigError((Problem(path=mask(str(path)), message=message),))


def _first_line(path: Path, message: str) -> ConfigError:
    return ConfigError((Problem(path=str(path), line=1, column=1, message=message),))


def _tables_of(text: str) -> dict[str, object]:
    """Raises ValueError, and RecursionError also for dotted keys, which tomllib nests without end."""
    raw: dict[str, object] = tomllib.loads(text)
    level: list[object] = [raw]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
    if level:
        raise RecursionError
    return raw


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _syntax_problem(error: Exception, path: str, lines: list[str]) -> Problem:
    if isinstance(error, RecursionError):
        return Problem(path=path, message="lists or tables are nested too deep")
    text = str(error)
    if text.startswith(("Cannot overwrite", "Cannot declare")) and (repeat := first_repeat("\n".join(lines))):
        # tomllib tells these only when it has gone on, often at the end of the document.
        key, position = repeat
        line, column = position.line, position.column
        return _at(path, lines, line, column, f"not valid TOML: {dotted(key)} is there twice")
    match = _TOML_PLACE.search(text)
    if match is None:
        return Problem(path=path, message=f"not valid TOML: {mask(text)}")
    message = text[: match.start()]
    if match[1] is None:
        line, column = len(lines), len(lines[-1]) + 1
    else:
        line, column = int(match[1]), int(match[2])
    hint = toml_hint(message, lines[line - 1], column)
    return _at(path, lines, line, column, f"not valid TOML: {mask(message)}{hint}")


def _at(path: str, lines: list[str], line: int, column: int, message: str) -> Problem:
    return Problem(path=path, line=line, column=column, message=message, source_line=mask(lines[line - 1]))
