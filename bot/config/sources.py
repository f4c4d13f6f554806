"""Values from the environment and from secret files (small print 14 and 16)."""

import base64
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import get_args

from pydantic import BaseModel, SecretStr

from bot.config.errors import Problem, mask
from bot.config.settings import Settings
from bot.config.toml_positions import KeyPath
from bot.config.values import did_you_mean

PREFIX = "FEEDBELL_"
SIGNING = "whsec_"  # how keys of Standard Webhooks begin
MAX_SECRET = 65_536  # bytes; keys and tokens are far smaller, a device file has no end

# Names that are no keys: where the file is, and what tests and bench read.
_OTHER_NAMES = ("FEEDBELL_CONFIG", "FEEDBELL_CRASH", "FEEDBELL_CASES", "FEEDBELL_CORPUS", "FEEDBELL_RUNNER")
# Kubernetes sets these by itself for a service named feedbell.
_KUBERNETES = re.compile(r"FEEDBELL_(?:SERVICE_.*|PORT.*)")
_NAMED = re.compile(r"FEEDBELL_(WEBHOOKS|SECRETS)__([A-Z0-9_]+)")
_NOT_SCALAR = ("admins", "feeds", "routes", "webhooks", "secrets")
# How the token begins that people take for it, and where the right one is.
_TOKENS: Mapping[KeyPath, tuple[str, str]] = {
    ("slack", "bot_token"): ("xapp-", 'wanted is the Bot User OAuth Token, "xoxb-…"'),
    ("slack", "app_token"): ("xox", 'wanted is an app-level token, "xapp-…"'),
    ("discord", "bot_token"): ("Bot ", "leave that word out"),
}
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


@dataclass(frozen=True, slots=True)
class Key:
    """A scalar key that the environment can set."""

    path: KeyPath
    kind: type = str
    from_file: bool = False  # it may be a secret file; but for the public key it must not stand in config.toml


@dataclass(slots=True)
class Overlay:
    """What the environment and secret files say: values by key path, and the name that said each."""

    values: dict[KeyPath, object] = field(default_factory=dict)
    origins: dict[KeyPath, tuple[str, str]] = field(default_factory=dict)  # (Problem.path, Problem.key)
    problems: list[Problem] = field(default_factory=list)
    refused: set[KeyPath] = field(default_factory=set)  # set, and not as it may be: told as that, not as missing

    def put(self, path: KeyPath, value: object, *, origin: tuple[str, str]) -> None:
        """Keep the value unless a stronger source has set it before."""
        if path not in self.values:
            self.values[path] = value
            self.origins[path] = origin

    def refuse(self, key: Key, why: str, *, origin: tuple[str, str]) -> None:
        """Keep what is wrong with the value of a key."""
        self.refused.add(key.path)
        self.problems.append(_problem(origin, why))


def default_secret_dirs(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return where secret files are looked for: systemd's credentials first, then the container's secrets."""
    systemd = environ.get("CREDENTIALS_DIRECTORY")
    return (*((Path(systemd),) if systemd else ()), Path("/run/secrets"))


def known_names() -> dict[str, Key]:
    """Return each environment name of a scalar key; the names of [webhooks] and [secrets] are the operator's."""
    names: dict[str, Key] = {}
    for name, info in Settings.model_fields.items():
        section = info.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            for inner, inner_info in section.model_fields.items():
                kind = _scalar_kind(inner_info.annotation)
                key = inner_info.alias or inner
                names[f"{PREFIX}{name}__{key}".upper()] = Key(
                    (name, key), kind, kind is SecretStr or key == "public_key"
                )
        elif name not in _NOT_SCALAR:
            # The state's address may hold PostgreSQL's password.
            names[f"{PREFIX}{name}".upper()] = Key((name,), str, name == "state")
    return names


def _scalar_kind(annotation: object) -> type:
    kinds = get_args(annotation) or (annotation,)
    return next((kind for kind in (bool, int, SecretStr) if kind in kinds), str)


def key_of(name: str, known: Mapping[str, Key]) -> Key | None:
    """Return the key that an environment name (without `_FILE`) sets, or None."""
    if (match := _NAMED.fullmatch(name)) is not None:
        return Key((match[1].lower(), match[2].lower()), SecretStr, from_file=True)
    return known.get(name)


def read_sources(environ: Mapping[str, str], secret_dirs: Sequence[Path]) -> Overlay:
    """Read every FEEDBELL_ name, then the files that `…_FILE` names point at, then the secret directories."""
    overlay = Overlay()
    known = known_names()
    names = sorted(name for name in environ if name.startswith(PREFIX) and not _KUBERNETES.fullmatch(name))
    for name in names:
        _read_variable(overlay, name, environ, known)
    for directory in secret_dirs:
        for file in _files_in(directory):
            _read_secret_file(overlay, file, known)
    return overlay


def _read_variable(overlay: Overlay, name: str, environ: Mapping[str, str], known: Mapping[str, Key]) -> None:
    value, origin = environ[name], ("environment", name)
    key = None if name.endswith("_FILE") and name not in known else key_of(name, known)
    if name in _OTHER_NAMES:
        return
    if key is not None:
        if value:
            _put_text(overlay, key, value, origin)
        return
    base = name.removesuffix("_FILE")
    key = key_of(base, known) if base != name else None
    if key is None or not key.from_file:
        overlay.problems.append(_problem(origin, _unknown(name, known)))
    elif value and environ.get(base):
        overlay.problems.append(_problem(origin, f"{base} is set too; keep one of the two"))
    elif value:
        _put_file(overlay, key, Path(value), origin)


def _unknown(name: str, known: Mapping[str, Key]) -> str:
    table = name.removeprefix(PREFIX).split("__")[0].lower()
    if table in ("webhooks", "secrets"):
        return f'allowed: FEEDBELL_{table.upper()}__NAME, NAME of A-Z, 0-9 and "_"'
    if table in _NOT_SCALAR:
        return f"only single values come from the environment; write {table} into config.toml"
    base = name.removesuffix("_FILE")
    if base != name and base in known:
        return f"{base} is no secret and can't come from a file; set {base} itself"
    files = [f"{known_name}_FILE" for known_name, key in known.items() if key.from_file]
    candidates = [candidate.removeprefix(PREFIX) for candidate in (*known, *files, _OTHER_NAMES[0])]
    return f"unknown name{did_you_mean(name.upper().removeprefix(PREFIX), candidates, prefix=PREFIX)}"


def _put_text(overlay: Overlay, key: Key, text: str, origin: tuple[str, str]) -> None:
    value: object = text
    if key.kind is bool:
        if text.lower() not in (*_TRUE, *_FALSE):
            overlay.refuse(key, "must be true or false", origin=origin)
            return
        value = text.lower() in _TRUE
    elif key.kind is int:
        if not re.fullmatch(r"[0-9]{1,15}", text):
            overlay.refuse(key, "must be a whole number", origin=origin)
            return
        value = int(text)
    elif key.from_file:
        if fault := _fault_of_secret(key, text):
            overlay.refuse(key, fault, origin=origin)
            return
        value = SecretStr(text) if key.kind is SecretStr else text
    overlay.put(key.path, value, origin=origin)


def _fault_of_secret(key: Key, text: str) -> str | None:
    """Return what is wrong with a secret, never the secret."""
    if not text.isprintable():
        return "holds a line break or another control character"
    if key.path in _TOKENS and (slip := _slip_of_token(key.path, text)):
        return slip
    if key.path[0] == "webhooks" and not re.fullmatch(r"https?://[^\s/@]+(?:[/?#]\S*)?", text):
        return 'must be the webhook\'s whole address, "https://…"'
    if key.path[0] == "secrets" and text.startswith(SIGNING) and not _is_base64(text.removeprefix(SIGNING)):
        return f'begins with "{SIGNING}", and what follows is no base64; copy the key as the receiver shows it'
    return None


def _slip_of_token(path: KeyPath, text: str) -> str | None:
    """Return how a token was copied wrong, or that it is the other one."""
    if text[0] == text[-1] and text[0] in "\"'":
        return "stands in quotes that belong to it; leave them out"
    if text != text.strip() or not text.isascii():
        return "has a blank or a letter that no token has; copy it anew, whole"
    wrong, wanted = _TOKENS[path]
    return f'begins with "{wrong}"; {wanted}' if text.startswith(wrong) else None


def _is_base64(text: str) -> bool:
    try:
        return bool(base64.b64decode(text, validate=True))
    except ValueError:
        return False


def _files_in(directory: Path) -> Iterable[Path]:
    """Return the files that are meant for us; a directory that isn't there or can't be read has none."""
    try:
        entries = sorted(directory.iterdir())
    except OSError:
        return ()
    return (entry for entry in entries if entry.name.upper().startswith(PREFIX))


def _read_secret_file(overlay: Overlay, file: Path, known: Mapping[str, Key]) -> None:
    name = file.name.upper()
    key = key_of(name, known)
    origin = (str(file), "")
    if name in _OTHER_NAMES or _KUBERNETES.fullmatch(name):
        return
    if key is None or not key.from_file:
        why = "this is no secret; set it in config.toml or in the environment" if key else _unknown(name, known)
        overlay.problems.append(_problem(origin, f"not read: {why}", is_warning=True))
    elif key.path not in overlay.values:
        _put_file(overlay, key, file, origin)


def _put_file(overlay: Overlay, key: Key, file: Path, origin: tuple[str, str]) -> None:
    """Take a secret from a file; one last line end is cut, an empty file is no value."""
    try:
        text = _read_small(file)
    except ValueError as error:
        overlay.refuse(key, str(error), origin=origin)
        return
    text = text.removesuffix("\n").removesuffix("\r")
    if text:
        _put_text(overlay, key, text, origin)


def _read_small(file: Path) -> str:
    shown = mask(str(file))
    try:
        # Opened without waiting, for a pipe without a writer would hold the start for ever.
        with open(file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as stream:
            if not S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise ValueError(f"{shown} is not a file")
            content = stream.read(MAX_SECRET + 1)
    except OSError as error:
        raise ValueError(f"can't read {shown}: {(error.strerror or 'failed').lower()}") from error
    if len(content) > MAX_SECRET:
        raise ValueError(f"{shown} is too large for a secret")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{shown} is not UTF-8 text") from error


def _problem(origin: tuple[str, str], message: str, *, is_warning: bool = False) -> Problem:
    path, key = origin
    return Problem(path=path, key=key, message=message, severity="warning" if is_warning else "error")
