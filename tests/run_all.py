"""Everything the project checks, fast to slow, in one go: `make test`, or `make lint` for the first four.

A stage that fails stops none of the later ones; the exit code and the last line tell. Arguments that
are not `--lint` go to the last pytest: make test ARGS='-k replay'.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
EXAMPLE = ROOT / "config.example.toml"
BUDGET_S = 600  # what the whole may take on two cores
NOTHING_COLLECTED = 5  # pytest's exit code
FIRST = ("tests/core", "tests/test_architecture.py")  # the rooms that fail soonest
SHORT = ("-m", "not long")
MEASURED = ("--cov", "--cov-branch", "--cov-report=")

Stage = tuple[str, Callable[[], bool]]


def main(arguments: list[str]) -> int:
    """Run the stages that `arguments` ask for; 0 when all of them passed."""
    os.chdir(ROOT)
    pytest_arguments = [argument for argument in arguments if argument != "--lint"]
    stages = lint_stages()
    if "--lint" not in arguments:
        stages += test_stages(pytest_arguments)
    started = time.monotonic()
    failed = [name for name, stage in stages if not passes(name, stage)]
    took = time.monotonic() - started
    late = f", over the budget of {BUDGET_S} s" if took > BUDGET_S else ""
    say(f"{len(stages)} stages in {took:.0f} s{late}: " + (f"FAILED: {', '.join(failed)}" if failed else "all well"))
    return 1 if failed else 0


def lint_stages() -> list[Stage]:
    """Return the stages that read the source and run none of it."""
    return [
        ("format", lambda: run(tool("ruff"), "format", "--check", ".")),
        ("lint", lambda: run(tool("ruff"), "check", ".")),
        ("types", lambda: run(tool("mypy"), "--no-error-summary")),
        ("layers", lambda: run(tool("lint-imports"), "--no-logo")),
    ]


def test_stages(pytest_arguments: list[str]) -> list[Stage]:
    """Return the stages that run the product, the full test run last but for its coverage."""
    between: list[Stage] = [("example configuration", check_example), ("container", build_container)]
    if pytest_arguments:
        return [*between, ("tests", lambda: pytest(*SHORT, *pytest_arguments))]
    others = [f"--ignore={path}" for path in FIRST]
    return [
        ("core and architecture", lambda: pytest("-x", *SHORT, *MEASURED, *FIRST)),
        *between,
        ("tests", lambda: pytest(*SHORT, *MEASURED, "--cov-append", *others)),
        ("coverage", check_coverage),
    ]


def passes(name: str, stage: Callable[[], bool]) -> bool:
    """Run one stage and print its name, result and seconds."""
    say(name)
    started = time.monotonic()
    good = stage()
    say(f"{name}: {'ok' if good else 'FAILED'}, {time.monotonic() - started:.1f} s")
    return good


def say(what: str) -> None:
    """Print a line that stands out from what the stages print."""
    print(f"=== {what}", flush=True)


def tool(name: str) -> str:
    """Return the path of a program of this virtual environment."""
    return str(BIN / name)


def run(*command: str, env: dict[str, str] | None = None) -> bool:
    """Run `command` with its output shown; true when it ends with 0."""
    return subprocess.run(command, check=False, env={**os.environ, **(env or {})}).returncode == 0


def pytest(*arguments: str) -> bool:
    """Run pytest; that a room has no test yet is no failure."""
    command = [sys.executable, "-m", "pytest", "-q", *workers(), *arguments]
    return subprocess.run(command, check=False).returncode in (0, NOTHING_COLLECTED)


def workers() -> list[str]:
    """Return pytest's options that use up to four cores, each file's tests in one process, in conftest's order.

    Two processes more than cores: the long files wait for processes that they kill, more than they compute.
    """
    cores = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 4)
    return ["-n", str(cores + 2), "--dist", "loadfile", "--no-loadscope-reorder"] if cores > 1 else []


def check_coverage() -> bool:
    """Hold the measured coverage against the thresholds in pyproject.toml, room by room."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["feedbell"]["coverage"]
    enforce = rules.pop("enforce")
    good = True
    for room, percent in rules.items():
        say(f"coverage of {room}/, at least {percent} % wanted{'' if enforce else ' (not enforced yet)'}")
        reached = run(tool("coverage"), "report", f"--include={room}/*", f"--fail-under={percent}", "--precision=1")
        good = good and (reached or not enforce)
    return good


def check_example() -> bool:
    """Let the product check its own example configuration, with secrets made up for all it names."""
    if not (EXAMPLE.exists() and (ROOT / "bot" / "cli.py").exists() | (ROOT / "bot" / "cli").exists()):
        say("SKIPPED: there is no config.example.toml or no command line yet")
        return True
    return run(tool("feedbell"), "check", "--config", str(EXAMPLE), env=made_up_secrets(EXAMPLE.read_text("utf-8")))


def made_up_secrets(example: str) -> dict[str, str]:
    """Return an environment in which each destination and login of `example` has its secret."""
    secrets = {
        "FEEDBELL_SLACK__BOT_TOKEN": "xoxb-made-up",
        "FEEDBELL_SLACK__APP_TOKEN": "xapp-made-up",
        "FEEDBELL_DISCORD__BOT_TOKEN": "made.up.token",
        "FEEDBELL_EMAIL__PASSWORD": "made-up",
        "FEEDBELL_HTTP__POKE_TOKEN": "made-up-poke",
        "FEEDBELL_HTTP__TOKEN": "made-up-page",
    }
    for name in re.findall(r'"(?:slack-webhook|discord-webhook|webhook):(\w+)"', example):
        secrets[f"FEEDBELL_WEBHOOKS__{name.upper()}"] = "https://127.0.0.1:9/made-up"
        secrets[f"FEEDBELL_SECRETS__{name.upper()}"] = "whsec_bWFkZS11cA=="
    for name in re.findall(r'^\s*(?:password|bearer) = "(\w+)"', example, re.MULTILINE):
        secrets[f"FEEDBELL_SECRETS__{name.upper()}"] = "made-up"
    return secrets


def build_container() -> bool:
    """Build the image where that is possible without the network, and say aloud where it is not."""
    base = os.environ.get("BASE", "python:3.13-slim")
    if not shutil.which("buildah"):
        say("SKIPPED: buildah is not installed")
        return True
    if subprocess.run(["buildah", "inspect", "--type", "image", base], check=False, capture_output=True).returncode:
        say(f"SKIPPED: there is no local image {base} to build on (name another in BASE)")
        return True
    # OCI's format knows no HEALTHCHECK; layers make a second build a matter of seconds.
    options = "--quiet --pull=never --format docker --layers --network host --tag feedbell:test".split()
    return run("buildah", "build", *options, "--build-arg", f"BASE={base}", ".")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
