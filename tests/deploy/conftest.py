"""What the tests of the image need: the image, and a container of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases.world import free_port
from tests.deploy.container import IMAGE, Container, has_image, podman


@pytest.fixture(scope="session")
def image() -> str:
    if shutil.which("podman") is None:
        pytest.skip("podman is not installed")
    if not has_image(IMAGE):
        pytest.skip(f"{IMAGE} was not built: buildah or a local base image is missing")
    return IMAGE


@pytest.fixture
def container(image: str, tmp_path: Path) -> Iterator[Container]:
    port = free_port()
    made = Container(name=f"feedbell-test-{port}", folder=tmp_path, port=port)
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)  # another user reads the configuration
    yield made
    podman("rm", "--force", made.name, check=False)
