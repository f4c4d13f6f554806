"""Setting up: quick when nothing changed, and one clear line when something is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_architecture import ROOT


def bootstrap(directory: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the bootstrap.py of `directory` by the interpreter that runs the tests."""
    command = [sys.executable, str(directory / "bootstrap.py"), *arguments]
    return subprocess.run(
        command, cwd=directory, env={**os.environ, **more}, capture_output=True, text=True, check=False
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout that nothing has been set up in."""
    for name in ("bootstrap.py", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_unknown_command_names_the_known_ones_in_one_line(checkout: Path) -> None:
    done = bootstrap(checkout, "tset")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "bootstrap: error: unknown command 'tset'; known: setup, demo, run, test, lint, bench, chaos, fuzz"
    ]


def test_help_says_what_can_be_typed(checkout: Path) -> None:
    done = bootstrap(checkout, "--help")
    assert done.returncode == 0
    assert "setup|demo|run|test|lint|bench" in done.stdout


def test_missing_lock_is_one_line(checkout: Path) -> None:
    (checkout / "requirements.lock").unlink()
    done = bootstrap(checkout, "setup")
    assert done.returncode == 1
    assert done.stderr == "bootstrap: error: requirements.lock: No such file or directory; is this a whole checkout?\n"


def test_tampered_package_is_refused_and_leaves_no_finished_setup(checkout: Path) -> None:
    wheels = checkout / "wheels"
    wheels.mkdir()
    (wheels / "tampered-1-py3-none-any.whl").write_bytes(b"not what the lock says")
    lock = f"--no-index\n--find-links {wheels}\ntampered==1 --hash=sha256:{'0' * 64}\n"
    (checkout / "requirements.lock").write_text(lock, encoding="utf-8")
    done = bootstrap(checkout, "setup")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("bootstrap: error: cannot install requirements.lock: ERROR: THESE PACKAGES DO NOT MATCH")
    assert not (checkout / ".venv" / "feedbell-setup.json").exists()


def test_without_a_network_the_line_asks_for_it(checkout: Path) -> None:
    lock = f"--index-url http://127.0.0.1:9/simple\nabsent==1 --hash=sha256:{'0' * 64}\n"
    (checkout / "requirements.lock").write_text(lock, encoding="utf-8")
    done = bootstrap(checkout, "setup", PIP_RETRIES="0")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("; is the network there?")


def test_setup_makes_the_command_once_and_then_installs_nothing(checkout: Path) -> None:
    (checkout / "requirements.lock").write_text("--no-index\n", encoding="utf-8")
    first = bootstrap(checkout, "setup")
    assert first.returncode == 0, first.stderr
    assert (checkout / ".venv/bin/feedbell").stat().st_mode & 0o111
    (checkout / ".venv/bin/pip").unlink()  # nothing may want it
    second = bootstrap(checkout, "setup")
    assert (second.returncode, second.stderr) == (0, "")


def test_changed_lock_is_installed_again(checkout: Path) -> None:
    (checkout / "requirements.lock").write_text("--no-index\n", encoding="utf-8")
    assert bootstrap(checkout, "setup").returncode == 0
    (checkout / "requirements.lock").write_text("--no-index\n# another\n", encoding="utf-8")
    assert "installing" in bootstrap(checkout, "setup").stderr
