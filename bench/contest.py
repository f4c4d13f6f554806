"""Contenders take turns at one world, each pinned to the same core, the world to another."""

import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.measuring import median

ROOT = Path(__file__).resolve().parents[1]
Answer = Mapping[str, Any]


def say(words: str) -> None:
    print(f"bench: {words}", file=sys.stderr, flush=True)


def free_port() -> int:
    """A port with a free one above it."""
    for _ in range(50):
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
    raise OSError("no two free ports side by side")


class Outside:
    """The world's process, and what it can be told and asked."""

    def __init__(self, port: int, roots: Path) -> None:
        self.port = port
        self.roots = roots
        self.http = f"http://127.0.0.1:{port}"
        self.https = f"https://127.0.0.1:{port + 1}"

    def set_mode(self, mode: str) -> None:
        self._get(f"/__mode?{mode}")

    def set_link(self, address: str) -> None:
        """Where Slack's clients of Socket Mode are sent."""
        self._get(f"/__link?{address}")

    def facts(self) -> Answer:
        """What was seen since the last question."""
        return self._get("/__facts")

    def _get(self, path: str) -> Answer:
        with urllib.request.urlopen(self.http + path, timeout=60) as answer:
            found: Answer = json.load(answer)
        return found


@contextmanager
def outside() -> Iterator[Outside]:
    """Start the world on the last core, with certificates made for it."""
    import trustme

    with tempfile.TemporaryDirectory(prefix="bench-world-") as name:
        folder, authority = Path(name), trustme.CA()
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
        roots = folder / "roots.pem"
        authority.cert_pem.write_to_path(roots)
        system = ssl.get_default_verify_paths().cafile
        if system is not None:  # a bundle of the usual size, since some clients read theirs for every feed
            with roots.open("ab") as bundle:
                bundle.write(Path(system).read_bytes())
        port = free_port()
        command = [sys.executable, "-m", "bench.world", "--port", str(port), "--certificates", name]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        pin(process.pid, -1)
        try:
            if process.stdout is None or not process.stdout.readline():
                raise RuntimeError("the world did not start")
            yield Outside(port, roots)
        finally:
            process.kill()
            process.wait()


def pin(pid: int, core: int) -> None:
    """Keep a process on one of our cores, where there are several."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(pid, {cores[core]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """How a contender is started, and in which modes it plays."""

    name: str
    command: Sequence[str]
    feeds: int
    modes: Sequence[str]
    rounds: int


@dataclass(slots=True)
class Contender:
    """A running one, with the answers of its rounds by mode."""

    entrant: Entrant
    process: "subprocess.Popen[str]"
    rounds: dict[str, list[Answer]] = field(default_factory=dict)

    def play(self, **command: object) -> Answer:
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("it has no pipes")
        print(json.dumps({"op": "round", **command}), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.entrant.name} died")
        answer: Answer = json.loads(line)
        return answer

    def cpu_ms(self, mode: str) -> float:
        """Median CPU of a poll."""
        return median([answer["cpu"] for answer in self.rounds[mode]]) / self.entrant.feeds * 1000


@contextmanager
def contest(entrants: Sequence[Entrant], world: Outside, modes: Sequence[str]) -> Iterator[dict[str, Contender]]:
    """Let all see every feed once, then play the modes, taking turns; then give them to whoever wants more rounds."""
    with ExitStack() as stack:
        world.set_mode("etag")
        running = {entrant.name: stack.enter_context(_started(entrant, world)) for entrant in entrants}
        for name, contender in running.items():
            say(f"{name}: first round, {contender.entrant.feeds} feeds")
            contender.rounds["cold"] = [contender.play(probe=True)]
        for mode in modes:
            world.set_mode(mode)
            _play(running, mode)
        yield running


def _play(running: Mapping[str, Contender], mode: str) -> None:
    playing = [contender for contender in running.values() if mode in contender.entrant.modes]
    say(f"mode {mode}: {', '.join(contender.entrant.name for contender in playing)}")
    for number in range(max(contender.entrant.rounds for contender in playing) + 1):
        for contender in playing:
            if number <= contender.entrant.rounds:
                answer = contender.play()
                if number > 0:  # the first one brings the feeds into the mode
                    contender.rounds.setdefault(mode, []).append(answer)


@contextmanager
def _started(entrant: Entrant, world: Outside) -> Iterator[Contender]:
    environment = {**os.environ, "SSL_CERT_FILE": str(world.roots), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        list(entrant.command), cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    pin(process.pid, 0)
    try:
        if process.stdout is None or not process.stdout.readline():
            raise RuntimeError(f"{entrant.name} did not start")
        yield Contender(entrant, process)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def peer_python() -> str | None:
    """A Python that has the peer: BENCH_PEER_PYTHON, or an environment beside ours, made now if that is possible."""
    if named := os.environ.get("BENCH_PEER_PYTHON"):
        return named
    home = ROOT / ".venv-bench"
    python = home / "bin" / "python"
    if not python.exists():
        say("installing the peer into .venv-bench")
        made = _quietly([sys.executable, "-m", "venv", str(home)]) and _quietly(
            [str(python), "-m", "pip", "install", "-q", "reader", "sgmllib3k"]
        )
        if not made:
            shutil.rmtree(home, ignore_errors=True)
            return None
    return str(python)


def _quietly(command: Sequence[str]) -> bool:
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
