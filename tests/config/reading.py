"""Reads configurations that tests write, without a file where none is needed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.config.load import parse
from bot.config.settings import Settings
from bot.core.errors import ConfigError

HERE = Path("/srv/bell/config.toml")


def read(text: str, environ: Mapping[str, str] | None = None, *, secret_dirs: Sequence[Path] = ()) -> Settings:
    """Return the settings of a file with this text, beside which no other file lies."""
    return parse(text, environ or {}, path=HERE, secret_dirs=secret_dirs)


def headlines(text: str, environ: Mapping[str, str] | None = None, *, secret_dirs: Sequence[Path] = ()) -> list[str]:
    """Return the first line of each problem, the folder cut off."""
    try:
        read(text, environ, secret_dirs=secret_dirs)
    except ConfigError as error:
        return [str(problem).split("\n")[0].replace("/srv/bell/", "") for problem in error.problems]
    return []
