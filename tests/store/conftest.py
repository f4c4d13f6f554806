"""A store on each engine; PostgreSQL is started for the session where its programs are found."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bot.store.store import Store, open_store
from tests.store.builders import NOW, OPS


def _program(name: str) -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(found[-1]) if found else None)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A PostgreSQL of our own, in a folder of its own."""

    def __init__(self, folder: Path, port: int, user: dict[str, int]) -> None:
        self.folder = folder
        self.url = f"postgresql://bell@127.0.0.1:{port}/postgres"
        self._port = port
        self._user = user

    def start(self) -> None:
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=60"
        self._run("pg_ctl", "-w", "-D", str(self.folder), "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-D", str(self.folder), "-m", "immediate", "stop")

    def init(self) -> None:
        self._run("initdb", "-D", str(self.folder), "-U", "bell", "--auth=trust", "--encoding=UTF8", "--locale=C")

    def _run(self, name: str, *arguments: str) -> None:
        program = _program(name)
        assert program is not None
        subprocess.run(
            [program, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **self._user,  # type: ignore[call-overload]
        )


def _unprivileged() -> dict[str, int] | None:
    """PostgreSQL refuses to run as root; None: there is nobody else to be."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid}
    return None


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    user = _unprivileged()
    if _program("initdb") is None or _program("pg_ctl") is None or user is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not to be had")
    # Not below pytest's own folder, which only we may enter.
    folder = Path(tempfile.mkdtemp(prefix="feedbell-postgres-"))
    if user:
        os.chown(folder, user["user"], user["group"])
    found = Server(folder, _free_port(), user)
    try:
        found.init()
        found.start()
        yield found
        found.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(server: Server) -> str:
    """An empty schema of its own for each test."""
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return server.url


@pytest.fixture(params=["sqlite", "postgres"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be opened, on each engine."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/bell.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def store(state: str) -> AsyncIterator[Store]:
    found = await open_store(state, exclusive=True, ops=OPS)
    yield found
    await found.close(now=NOW)
