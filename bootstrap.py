"""Set up and start feedbell on a machine that has Python 3.11 or newer, and nothing else.

    python3 bootstrap.py setup|demo|run|test|lint|bench|chaos|fuzz [arguments that are passed on]

Everything is installed into `.venv` beside this file, from the hash-pinned lock files; a second call
with unchanged locks installs nothing. `setup --dev` installs what tests and linters need, too.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "feedbell-setup.json"  # written last: its absence means that an installation was cut short
RUNTIME_LOCK = "requirements.lock"
DEV_LOCK = "requirements-dev.lock"
OLDEST = (3, 11)
OLDEST_PIP = (22, 3)  # the first that knows --python
LONGEST_SHEBANG = 127  # Linux cuts a longer "#!" line, and a space ends the path in it; /bin/sh helps then

# What each command starts, and whether it needs the development packages.
COMMANDS = {
    "demo": (["-m", "bot", "demo"], False),
    "run": (["-m", "bot", "run"], False),
    "test": (["-m", "tests.run_all"], True),
    "lint": (["-m", "tests.run_all", "--lint"], True),
    "bench": (["-m", "bench"], True),
    "chaos": (["-m", "tests.chaos"], True),
    "fuzz": (["-m", "tests.fuzz"], True),
}


def main(arguments: list[str]) -> int:
    """Run the command that `arguments` names; replaces this process by it after the set-up."""
    command, passed_on = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command in ("", "-h", "--help", "help"):
        print(__doc__)
        return 0 if command else 2
    if command != "setup" and command not in COMMANDS:
        fail(f"unknown command {command!r}; known: setup, {', '.join(COMMANDS)}")
    require_python()
    if command == "setup":
        set_up(dev="--dev" in passed_on)
        return 0
    started, dev = COMMANDS[command]
    set_up(dev=dev)
    os.chdir(ROOT)
    os.execv(PYTHON, [str(PYTHON), *started, *passed_on])  # noqa: S606 - no shell is wanted; signals reach the bot itself


def fail(why: str) -> NoReturn:
    """Leave with one line that says what to do."""
    sys.exit(f"bootstrap: error: {why}")


def require_python() -> None:
    """Go on under a newer Python if this one is too old, or say that there is none."""
    if sys.version_info >= OLDEST:
        return
    for name in ("python3.14", "python3.13", "python3.12", "python3.11"):
        found = shutil.which(name)
        if found and run_quietly([found, "--version"]).returncode == 0:
            os.execv(found, [found, __file__, *sys.argv[1:]])  # noqa: S606 - the same call, by another interpreter
    fail(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]} ({sys.executable})")


def set_up(*, dev: bool) -> None:
    """Make `.venv` hold what the locks say; nothing to do when it does already."""
    if is_current(dev=dev):
        return
    with alone():
        if is_current(dev=dev):  # another process has done it while this one waited
            return
        keep = read_stamp().get("root") == str(ROOT) and PYTHON.exists()
        dev = dev or (keep and "dev" in read_stamp())
        STAMP.unlink(missing_ok=True)
        pip = find_pip_for_venv() if keep else make_venv()
        install(pip, DEV_LOCK if dev else RUNTIME_LOCK)
        link_package()
        # So that a cold command is as fast as a warm one, whatever PYTHONDONTWRITEBYTECODE says.
        run_quietly([str(PYTHON), "-m", "compileall", "-q", str(ROOT / "bot")])
        STAMP.write_text(json.dumps(wanted_stamp(dev=dev)), encoding="utf-8")


def wanted_stamp(*, dev: bool) -> dict[str, str]:
    """Return what the stamp of a finished set-up says: where it is, and from which locks it was made."""
    stamp = {"root": str(ROOT), "project": digest("pyproject.toml", upto="\n[dependency-groups]")}
    stamp["runtime"] = digest(RUNTIME_LOCK)
    return {**stamp, "dev": digest(DEV_LOCK)} if dev else stamp


def digest(name: str, *, upto: str = "\0") -> str:
    """Return the SHA-256 of a file of the project, or of its part before `upto`."""
    try:
        part, _, _ = (ROOT / name).read_bytes().partition(upto.encode())
        return hashlib.sha256(part).hexdigest()
    except OSError as error:
        fail(f"{name}: {error.strerror}; is this a whole checkout?")


def read_stamp() -> dict[str, str]:
    """Return the stamp of the last finished set-up, empty when there is none."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def is_current(*, dev: bool) -> bool:
    """Say whether `.venv` was made here, from these very locks, by a Python that still exists."""
    return wanted_stamp(dev=dev).items() <= read_stamp().items() and PYTHON.exists()


@contextmanager
def alone() -> Iterator[None]:
    """Let one process at a time set up; the others wait."""
    with Path(__file__).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_venv() -> list[str]:
    """Make an empty `.venv` and return the command that is a pip for it.

    Debian ships Python without ensurepip. Then a pip from outside does the work (it may do so under
    PEP 668, since it writes into `.venv` only), or Debian's own package is installed.
    """
    say("making .venv")
    if importlib.util.find_spec("ensurepip") and venv_works():
        return [str(PYTHON), "-m", "pip"]
    outside = find_pip_outside()
    if outside and venv_works("--without-pip"):
        return [*outside, "--python", str(PYTHON)]
    line = "apt-get install -y --no-install-recommends python3-venv"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say("installing Debian's python3-venv")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for step in ("apt-get -qq update", line):
            run_quietly(step.split(), env=environment)
        importlib.invalidate_caches()
        if venv_works():
            return [str(PYTHON), "-m", "pip"]
    fail(f"this Python has neither ensurepip nor pip, so it cannot fill a virtual environment; type: sudo {line}")


def venv_works(*options: str) -> bool:
    """Make `.venv` anew by the standard library and say whether that went well."""
    return run_quietly([sys.executable, "-m", "venv", "--clear", *options, str(VENV)]).returncode == 0


def find_pip_for_venv() -> list[str]:
    """Return the command that is a pip for the `.venv` that exists."""
    if run_quietly([str(PYTHON), "-m", "pip", "--version"]).returncode == 0:
        return [str(PYTHON), "-m", "pip"]
    outside = find_pip_outside()
    return [*outside, "--python", str(PYTHON)] if outside else make_venv()


def find_pip_outside() -> list[str]:
    """Return the command of a pip outside of `.venv` that can fill it, empty when there is none."""
    for command in ([sys.executable, "-m", "pip"], ["pip3"], ["pip"]):
        if not shutil.which(command[0]):
            continue
        version = re.match(r"pip (\d+)\.(\d+)", run_quietly([*command, "--version"]).stdout)
        if version and (int(version[1]), int(version[2])) >= OLDEST_PIP:
            return command
    return []


def install(pip: list[str], lock: str) -> None:
    """Install what `lock` pins, each file checked against its hash, no code of a package run."""
    total = len(re.findall(r"^[\w.-]+==", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE))
    say(f"installing {total} packages from {lock}")
    options = "--require-hashes --only-binary :all: --no-input --disable-pip-version-check --progress-bar off"
    command = [*pip, "install", *options.split(), "--requirement", str(ROOT / lock)]
    output: list[str] = []
    environment = {**os.environ, "PIP_USER": "0"}  # a user-wide `user = true` has no place in a virtual environment
    pipe, both = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=both, text=True) as process:
        for line in process.stdout or ():
            output.append(line.strip())
            if line.startswith("Collecting ") and sys.stderr.isatty():
                seen = sum(one.startswith("Collecting ") for one in output)
                say(f"installing {seen} of {total}: {line.split()[1].split('==')[0]}")
    if process.returncode:
        errors = [line for line in output if line.startswith("ERROR:")] or output[-1:] or ["pip said nothing"]
        # What pip says of a package it finds nowhere is the same without a network.
        hint = "; is the network there?" if "from versions: none" in errors[0] else ""
        fail(f"cannot install {lock}: {errors[0]} (pip ended with {process.returncode}){hint}")
    say("ready", last=True)


def link_package() -> None:
    """Make `import bot` and the command `feedbell` of `.venv` use this very directory.

    What an editable install does, without a build backend to download for it.
    """
    import tomllib  # not in the older Pythons that must get as far as `require_python`

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (packages,) = VENV.glob("lib/python3.*/site-packages")
    (packages / "feedbell.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    for old in packages.glob("feedbell-*.dist-info"):
        shutil.rmtree(old)
    about = packages / f"feedbell-{project['version']}.dist-info"
    about.mkdir()
    name_and_version = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(name_and_version, encoding="utf-8")
    (about / "INSTALLER").write_text("bootstrap.py\n", encoding="utf-8")
    for script, target in project["scripts"].items():
        module, _, function = target.partition(":")
        path = VENV / "bin" / script
        start = f"#!{PYTHON}\n"
        if " " in start or len(start) > LONGEST_SHEBANG:
            start = f"#!/bin/sh\n'''exec' \"{PYTHON}\" \"$0\" \"$@\"\n' '''\n"
        body = f"import sys\n\nfrom {module} import {function}\n\nsys.exit({function}())\n"
        path.write_text(start + body, encoding="utf-8")
        path.chmod(0o755)


def run_quietly(command: list[str], *, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `command` to its end and keep what it prints."""
    return subprocess.run(command, check=False, capture_output=True, text=True, env=env)


def say(what: str, *, last: bool = False) -> None:
    """Show the one line of progress; on a terminal it overwrites itself."""
    if sys.stderr.isatty():
        print(f"\r\x1b[Kbootstrap: {what}", end="\n" if last else "", file=sys.stderr, flush=True)
    else:
        print(f"bootstrap: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
