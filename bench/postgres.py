"""A PostgreSQL of our own for a while, where its programs are found."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.contest import free_port


@contextmanager
def postgres() -> Iterator[str | None]:
    """Yield its URL; None: it is not installed, or there is nobody whom it would run as."""
    programs, user = _programs(), _user()
    if programs is None or user is None:
        yield None
        return
    folder, port = Path(tempfile.mkdtemp(prefix="bench-postgres-")), free_port()
    if user:
        os.chown(folder, user["user"], user["group"])

    def run(name: str, *arguments: str) -> None:
        silent = subprocess.DEVNULL
        command = [str(programs / name), *arguments]
        subprocess.run(command, check=True, stdin=silent, stdout=silent, stderr=silent, cwd="/", **user)  # type: ignore[call-overload]

    try:
        run("initdb", "-D", str(folder), "-U", "bell", "--auth=trust", "--encoding=UTF8", "--locale=C")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
        run("pg_ctl", "-w", "-D", str(folder), "-l", str(folder / "log"), "-o", options, "start")
        yield f"postgresql://bell@127.0.0.1:{port}/postgres"
        run("pg_ctl", "-w", "-D", str(folder), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    found = shutil.which("pg_ctl")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


def _user() -> dict[str, int] | None:
    """It refuses to run as root; None: there is nobody else to be."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid}
    return None
