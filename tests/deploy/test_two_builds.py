"""The image can be made again: two builds without a cache hold the same packages, and the same files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.container import BASE, PLAIN, has_image, podman

ROOT = Path(__file__).parents[2]
OPTIONS = "--quiet --pull=never --format docker --no-cache --network host".split()
NAMES = ("localhost/feedbell:first", "localhost/feedbell:second")
# One line for each package of Python, each of the system, and each file of ours. Byte code holds the time of its
# source, and what pip records lists the byte code's.
CONTENT = """
import hashlib, importlib.metadata as m, os, subprocess
for d in m.distributions(): print("python", d.name, d.version)
system = subprocess.run(["dpkg-query", "-W"], capture_output=True, text=True).stdout
for line in system.splitlines(): print("system", line)
for folder, _, names in os.walk("/app"):
    for name in names:
        path = os.path.join(folder, name)
        if not name.endswith(".pyc"):
            print("file", path, hashlib.sha256(open(path, "rb").read()).hexdigest())
"""


@pytest.fixture
def builds() -> Iterator[tuple[str, str]]:
    for name in ("buildah", "podman"):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
    if not has_image(BASE):
        pytest.skip(f"there is no local image {BASE} to build on (name another in BASE)")
    for name in NAMES:
        command = ["buildah", "build", *OPTIONS, "--build-arg", f"BASE={BASE}", "--tag", name, str(ROOT)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    yield NAMES
    podman("rmi", *NAMES, check=False)


def content(image: str) -> list[str]:
    return sorted(podman("run", "--rm", *PLAIN, "--entrypoint", "python3", image, "-c", CONTENT).splitlines())


@pytest.mark.long
def test_two_builds_hold_the_same_packages_and_files(
    builds: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (content(name) for name in builds)
    kinds = [line.partition(" ")[0] for line in first]
    with capsys.disabled():
        print("\n" + ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("python", "system", "file")) + " in each")
    assert kinds.count("python") > 20
    assert set(first) ^ set(second) == set()
